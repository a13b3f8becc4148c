//===- ResizeAdapters.cpp - Upsample and Resize ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adapters.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Upsample
//===----------------------------------------------------------------------===//

static std::string getScalesObstacle(Operation *node, int opset) {
  return getConstantObstacle(node, "scales", opset);
}

static void raiseScales(NodeEditor &editor) {
  editor.setOperand(1, editor.takeConstant("scales"));
}

static std::string getModeObstacle(Operation *node, int) {
  return isReadable(node, "mode") ? "" : "attribute 'mode' decides about more";
}

/// Sets the coordinates of older versions: they are multiplied by the scale,
/// and rounded as `rounding` says.
static void setOldCoordinates(NodeEditor &editor, StringRef rounding) {
  editor.setString("coordinate_transformation_mode", "asymmetric");
  if (getString(editor.getNode(), "mode", "nearest") == "nearest")
    editor.setString("nearest_mode", rounding);
}

static void raiseUpsample(NodeEditor &editor) {
  editor.recreate("Resize", 1);
  if (editor.getOpset() >= 11)
    setOldCoordinates(editor, "floor");
}

//===----------------------------------------------------------------------===//
// Resize
//===----------------------------------------------------------------------===//

/// The elements of a small constant of fp32.
static std::optional<SmallVector<float>> readFloats(Value value) {
  Operation *definition = value.getDefiningOp();
  Attribute held;
  if (auto initializer = dyn_cast_or_null<InitializerOp>(definition))
    held = initializer.getValueAttr();
  else if (definition && isStandardOp(definition, "Constant"))
    held = definition->getAttr("value");
  if (auto tensor = dyn_cast_or_null<TensorAttr>(held))
    held = tensor.getValue();
  auto elements = dyn_cast_or_null<DenseElementsAttr>(held);
  if (!elements || !elements.getElementType().isF32() ||
      elements.getNumElements() > 64)
    return std::nullopt;
  return llvm::to_vector(elements.getValues<float>());
}

/// The input for no region: an empty vector before opset 13, absent later.
static Value createNoRegion(NodeEditor &editor) {
  OpBuilder &builder = editor.getBuilder();
  if (editor.getOpset() >= 13)
    return AbsentOp::create(builder, editor.getNode()->getLoc(),
                            builder.getNoneType());
  auto type = RankedTensorType::get({0}, builder.getF32Type());
  return editor.createConstant(DenseElementsAttr::get(type, ArrayRef<float>()),
                               "roi");
}

/// The nearest element was found by rounding up along an axis that shrinks, and
/// by rounding down along one that grows. Each direction gets a node.
static void splitByDirection(NodeEditor &editor) {
  Operation *node = editor.getNode();
  OpBuilder &builder = editor.getBuilder();
  Value scales = editor.getOperand(2);
  auto scalar = DenseElementsAttr::get(
      RankedTensorType::get({1}, builder.getF32Type()), 1.0f);
  Value one = editor.createConstant(scalar, "one");
  Value up = editor.create("Max", {scales, one}, scales.getType(), "up");
  Value down = editor.create("Min", {scales, one}, scales.getType(), "down");
  editor.setOperand(2, up);
  OpResult result = node->getResult(0);
  Type type = result.getType();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    result.setType(RankedTensorType::get(
        SmallVector<int64_t>(tensor.getRank(), ShapedType::kDynamic),
        tensor.getElementType()));
  editor.moveBehind();
  Value shrunk = editor.create("Resize", {result, editor.getOperand(1), down},
                               type, "down");
  Operation *second = shrunk.getDefiningOp();
  for (StringRef name : {StringRef("mode"), StringRef(mark::opClass),
                         StringRef("coordinate_transformation_mode")})
    if (Attribute value = node->getAttr(name))
      second->setAttr(name, value);
  second->setAttr("nearest_mode", builder.getStringAttr("ceil"));
  editor.replaceResult(0, shrunk, "up");
}

/// Resize-10 has no such attributes; runtimes and ONNX's own tests agree on
/// these values.
static void raiseResize(NodeEditor &editor) {
  Operation *node = editor.getNode();
  Value scales = editor.getOperand(1);
  editor.setOperand(1, createNoRegion(editor));
  editor.setOperand(2, scales);
  if (node->hasAttr("coordinate_transformation_mode"))
    return;
  setOldCoordinates(editor, "floor");
  if (!node->hasAttr("nearest_mode"))
    return;
  std::optional<SmallVector<float>> known = readFloats(scales);
  if (known && llvm::all_of(*known, [](float scale) { return scale >= 1; }))
    return;
  if (known && llvm::all_of(*known, [](float scale) { return scale <= 1; }))
    return editor.setString("nearest_mode", "ceil");
  splitByDirection(editor);
}

/// The rounding mode with the result of tf_half_pixel_for_nn, which Resize-13
/// has removed; empty if there is none. Its coordinates are those of half_pixel
/// plus a half.
static StringRef getHalfPixelRounding(Operation *node) {
  if (getString(node, "mode", "nearest") != "nearest")
    return "";
  StringRef rounding = getString(node, "nearest_mode", "round_prefer_floor");
  return rounding == "floor"                ? "round_prefer_ceil"
         : rounding == "round_prefer_floor" ? "ceil"
                                            : "";
}

static bool usesGoneMode(Operation *node) {
  return getString(node, "coordinate_transformation_mode", "") ==
         "tf_half_pixel_for_nn";
}

static std::string getOptionalObstacle(Operation *node, int) {
  return usesGoneMode(node) && getHalfPixelRounding(node).empty()
             ? "coordinate_transformation_mode 'tf_half_pixel_for_nn' is gone"
             : "";
}

static bool isEmptyVector(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && llvm::is_contained(type.getShape(), 0);
}

/// Sizes and scales are exclusive: an empty vector becomes absent.
static void raiseOptional(NodeEditor &editor) {
  Operation *node = editor.getNode();
  if (hasOperand(node, 3) && hasOperand(node, 2)) {
    OpBuilder &builder = editor.getBuilder();
    editor.setOperand(
        isEmptyVector(node->getOperand(3)) ? 3 : 2,
        AbsentOp::create(builder, node->getLoc(), builder.getNoneType()));
  }
  if (!usesGoneMode(node))
    return;
  StringRef rounding = getHalfPixelRounding(node);
  editor.setString("coordinate_transformation_mode", "half_pixel");
  editor.setString("nearest_mode", rounding);
}

ArrayRef<OpsetAdapter> getResizeAdapters() {
  static constexpr OpsetAdapter adapters[] = {
      {"Resize", 11, getModeObstacle, raiseResize},
      {"Resize", 13, getOptionalObstacle, raiseOptional},
      {"Upsample", 9, getScalesObstacle, raiseScales},
      {"Upsample", 10, getModeObstacle, raiseUpsample, "Resize"},
  };
  return adapters;
}

} // namespace mp
