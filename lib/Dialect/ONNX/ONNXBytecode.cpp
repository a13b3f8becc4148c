//===- ONNXBytecode.cpp - Attributes that hold resources, in bytecode -----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attribute without an encoding of its own goes into bytecode as text, and
// the data of a resource that only such text names is lost. Attributes that may
// hold big constants therefore write their parts one by one.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mp::onnxir {

namespace {

enum Code : uint64_t { castElements = 0, tensor = 1, clampElements = 2 };

struct ONNXBytecode : public BytecodeDialectInterface {
  ONNXBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  LogicalResult writeAttribute(Attribute attribute,
                               DialectBytecodeWriter &writer) const override {
    return llvm::TypeSwitch<Attribute, LogicalResult>(attribute)
        .Case([&](CastElementsAttr cast) {
          writer.writeVarInt(cast.getClamp() ? clampElements : castElements);
          writer.writeAttribute(cast.getSource());
          writer.writeType(cast.getType());
          if (cast.getClamp())
            writer.writeAttribute(cast.getClamp());
          return success();
        })
        .Case([&](TensorAttr value) {
          writer.writeVarInt(tensor);
          writer.writeAttribute(value.getFields());
          writer.writeOptionalAttribute(value.getValue());
          return success();
        })
        .Default([](Attribute) { return failure(); });
  }

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    uint64_t code;
    if (failed(reader.readVarInt(code)))
      return {};
    if (code == castElements || code == clampElements) {
      TypedAttr source;
      Type type;
      FloatAttr clamp;
      if (failed(reader.readAttribute(source)) ||
          failed(reader.readType(type)) ||
          (code == clampElements && failed(reader.readAttribute(clamp))))
        return {};
      return CastElementsAttr::get(getContext(), source, clamp, type);
    }
    if (code == tensor) {
      DictionaryAttr fields;
      TypedAttr value;
      if (failed(reader.readAttribute(fields)) ||
          failed(reader.readOptionalAttribute(value)))
        return {};
      return TensorAttr::get(getContext(), fields, value);
    }
    reader.emitError() << "unknown attribute " << code << " of dialect onnx";
    return {};
  }
};

} // namespace

void ONNXDialect::addBytecode() { addInterfaces<ONNXBytecode>(); }

} // namespace mp::onnxir
