//===- InputAdapters.cpp - Attributes that became inputs ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adapters.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Numbers that get the data's type
//===----------------------------------------------------------------------===//

static std::string getScalarObstacle(Operation *node, StringRef name,
                                     int opset) {
  if (!node->hasAttr(name))
    return "";
  std::string reason = getConstantObstacle(node, name, opset);
  return reason.empty() ? getTypeObstacle(node->getOperand(0), opset) : reason;
}

static std::string getClipObstacle(Operation *node, int opset) {
  std::string reason = getScalarObstacle(node, "min", opset);
  return reason.empty() ? getScalarObstacle(node, "max", opset) : reason;
}

/// Without bounds, Clip-6 clips to those of fp32 for any type.
static void raiseClip(NodeEditor &editor) {
  const double fp32Max = 3.4028234663852886e+38;
  Operation *node = editor.getNode();
  Value data = editor.getOperand(0);
  Type element = getTensorElementType(data.getType());
  for (auto [index, name, byDefault] :
       {std::make_tuple(1u, StringRef("min"), -fp32Max),
        std::make_tuple(2u, StringRef("max"), fp32Max)}) {
    if (node->hasAttr(name))
      editor.setOperand(index, editor.takeConstantLike(name, data));
    else if (element && isa<FloatType>(element) && !element.isF32())
      editor.setOperand(index, editor.createScalarLike(byDefault, data, name));
  }
}

/// The pad value counts only in mode `constant`.
static bool usesPadValue(Operation *node) {
  if (getString(node, "mode", "constant") != "constant")
    return false;
  auto value = node->getAttrOfType<FloatAttr>("value");
  return value ? !value.getValue().isPosZero() : node->hasAttr("value");
}

static std::string getPadObstacle(Operation *node, int opset) {
  std::string reason = getConstantObstacle(node, "pads", opset);
  if (!reason.empty() || !usesPadValue(node))
    return reason;
  return getScalarObstacle(node, "value", opset);
}

static void raisePad(NodeEditor &editor) {
  Operation *node = editor.getNode();
  if (node->hasAttr("pads"))
    editor.setOperand(1, editor.takeConstant("pads"));
  if (usesPadValue(node))
    editor.setOperand(2,
                      editor.takeConstantLike("value", editor.getOperand(0)));
  node->removeAttr("value");
}

//===----------------------------------------------------------------------===//
// Numbers with a type of their own
//===----------------------------------------------------------------------===//

static std::string getTopKObstacle(Operation *node, int opset) {
  return getConstantObstacle(node, "k", opset);
}

static void raiseTopK(NodeEditor &editor) {
  Operation *node = editor.getNode();
  Value count;
  if (auto number = node->getAttrOfType<IntegerAttr>("k")) {
    node->removeAttr("k");
    count = editor.createInts(number.getInt(), "k");
  } else {
    Value scalar = editor.takeConstant("k");
    count = editor.create(
        "Reshape", {scalar, editor.createInts(1, "k_shape")},
        RankedTensorType::get({1}, editor.getBuilder().getI64Type()), "k");
  }
  editor.setOperand(1, count);
}

static std::string getDropoutObstacle(Operation *node, int opset) {
  return getConstantObstacle(node, "ratio", opset);
}

static void raiseDropout(NodeEditor &editor) {
  if (editor.getNode()->hasAttr("ratio"))
    editor.setOperand(1, editor.takeConstant("ratio"));
}

static std::string getDFTObstacle(Operation *node, int opset) {
  return getConstantObstacle(node, "axis", opset);
}

/// The axis becomes an input, which has another default.
static void raiseDFT(NodeEditor &editor) {
  editor.setOperand(2, editor.getNode()->hasAttr("axis")
                           ? editor.takeConstant("axis")
                           : editor.createScalar(1, "axis"));
}

static std::string getSplitObstacle(Operation *, int) { return ""; }

/// A split into equal parts needs the number of parts.
static void raiseSplit(NodeEditor &editor) {
  Operation *node = editor.getNode();
  if (hasOperand(node, 1))
    return;
  // Runtimes treat an omitted input as an input next to the number.
  if (node->getNumOperands() > 1)
    editor.eraseOperand(1);
  editor.setInt("num_outputs", node->getNumResults());
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static std::string getMaskObstacle(Operation *node, int opset) {
  return hasResult(node, 1) && !node->getResult(1).use_empty()
             ? getTypeObstacle(node->getResult(1), opset)
             : "";
}

/// The mask had the data's type, and now has booleans. Old versions do not
/// define its contents outside of training.
static void raiseDropoutMask(NodeEditor &editor) {
  Operation *node = editor.getNode();
  if (!hasResult(node, 1))
    return;
  OpResult mask = node->getResult(1);
  Type type = mask.getType();
  Type element = getTensorElementType(type);
  mask.setType(element ? withElementType(type, editor.getBuilder().getI1Type())
                       : type);
  if (mask.use_empty())
    return;
  editor.moveBehind();
  Value cast = element ? editor.createCast(mask, element, "mask")
                       : editor.create("CastLike", {mask, node->getOperand(0)},
                                       type, "mask");
  editor.replaceResult(1, cast, "kept");
}

static std::string getQuantizeObstacle(Operation *, int) { return ""; }

/// Data and scale must share a type: integers are cast to the type in which
/// they were divided.
static void raiseQuantize(NodeEditor &editor) {
  Value data = editor.getOperand(0), scale = editor.getOperand(1);
  Type from = getTensorElementType(data.getType());
  Type to = getTensorElementType(scale.getType());
  if (from && from == to)
    return;
  editor.setOperand(
      0, from && to
             ? editor.createCast(data, to, "data")
             : editor.create("CastLike", {data, scale},
                             UnknownType::get(editor.getNode()->getContext()),
                             "data"));
}

//===----------------------------------------------------------------------===//
// Names and defaults
//===----------------------------------------------------------------------===//

static std::string getScatterObstacle(Operation *, int) { return ""; }

static void raiseScatter(NodeEditor &editor) {
  editor.recreate("ScatterElements", editor.getNode()->getNumResults());
}

static std::string getRoiAlignObstacle(Operation *, int) { return ""; }

static void raiseRoiAlign(NodeEditor &editor) {
  editor.setString("coordinate_transformation_mode", "output_half_pixel");
}

static std::string getGridSampleObstacle(Operation *node, int) {
  return isReadable(node, "mode") ? "" : "attribute 'mode' has other values";
}

static void raiseGridSample(NodeEditor &editor) {
  StringRef mode = getString(editor.getNode(), "mode", "");
  if (mode == "bilinear" || mode == "bicubic")
    editor.setString("mode", mode.drop_front(2));
}

ArrayRef<OpsetAdapter> getInputAdapters() {
  static constexpr OpsetAdapter adapters[] = {
      {"Clip", 11, getClipObstacle, raiseClip},
      {"DFT", 20, getDFTObstacle, raiseDFT},
      {"Dropout", 10, getMaskObstacle, raiseDropoutMask},
      {"Dropout", 12, getDropoutObstacle, raiseDropout},
      {"GridSample", 20, getGridSampleObstacle, raiseGridSample},
      {"Pad", 11, getPadObstacle, raisePad},
      {"QuantizeLinear", 19, getQuantizeObstacle, raiseQuantize},
      {"RoiAlign", 16, getRoiAlignObstacle, raiseRoiAlign},
      {"Scatter", 11, getScatterObstacle, raiseScatter, "ScatterElements"},
      {"Split", 18, getSplitObstacle, raiseSplit},
      {"TopK", 10, getTopKObstacle, raiseTopK},
  };
  return adapters;
}

} // namespace mp
