//===- NodeOrder.h - Definitions before uses --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_NODEORDER_H
#define MPOPT_LIB_TARGET_ONNX_NODEORDER_H

#include "onnx/onnx_pb.h"

#include <vector>

namespace mp {

/// Computes the order of `nodes` in which every name is defined before it is
/// used, also in subgraphs. If the given order is valid, it is kept; otherwise
/// the result is the nearest valid one. Returns a node that is part of a cycle
/// or depends on one if there is no valid order.
const ::onnx::NodeProto *getTopologicalOrder(
    const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes,
    std::vector<int> &order);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_NODEORDER_H
