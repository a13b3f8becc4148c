//===- ONNXDialect.cpp - The onnx dialect ---------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "mp-opt/Dialect/ONNX/ONNXDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "mp-opt/Dialect/ONNX/ONNXTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mp-opt/Dialect/ONNX/ONNXAttrs.cpp.inc"

namespace mp::onnxir {

void ONNXDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "mp-opt/Dialect/ONNX/ONNXTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mp-opt/Dialect/ONNX/ONNXAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "mp-opt/Dialect/ONNX/ONNXOps.cpp.inc"
      >();
  addBytecode();
  useSchemas(std::shared_ptr<const SchemaRegistry>(
      &SchemaRegistry::builtin(), [](const SchemaRegistry *) {}));
}

void ONNXDialect::useSchemas(std::shared_ptr<const SchemaRegistry> registry) {
  schemas = std::move(registry);
  registerOperators();
}

} // namespace mp::onnxir
