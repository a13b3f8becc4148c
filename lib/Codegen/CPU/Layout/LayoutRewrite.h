//===- LayoutRewrite.h - Ops in another layout ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_LAYOUT_LAYOUTREWRITE_H
#define MPOPT_LIB_CODEGEN_CPU_LAYOUT_LAYOUTREWRITE_H

#include "ChannelAxes.h"

namespace mp {

/// Rewrites these ops, which are flexible and in the order of their block, for
/// channels that are last. Values are transposed if ops of both kinds use them.
void rewriteChannelsLast(llvm::ArrayRef<mlir::Operation *> ops,
                         const ChannelAxes &axes);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_CPU_LAYOUT_LAYOUTREWRITE_H
