//===- ValueRules.cpp - Valid values of attributes ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Operators/ValueRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mp {

using Rule = ValueRule;

static constexpr StringLiteral autoPad = "NOTSET|SAME_UPPER|SAME_LOWER|VALID";
static constexpr StringLiteral directions = "forward|reverse|bidirectional";
static constexpr StringLiteral activations =
    "Relu|Tanh|Sigmoid|Affine|LeakyRelu|ThresholdedRelu|ScaledTanh|"
    "HardSigmoid|Elu|Softsign|Softplus";
static constexpr StringLiteral losses = "none|sum|mean";
static constexpr StringLiteral transformations =
    "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|"
    "asymmetric|tf_half_pixel_for_nn|tf_crop_and_resize";
static constexpr StringLiteral transforms =
    "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT";
static constexpr StringLiteral kernels = "LINEAR|POLY|RBF|SIGMOID";
static constexpr StringLiteral labelKeys =
    "keys_tensor|keys_strings|keys_int64s|keys_floats";
static constexpr StringLiteral constants =
    "value|sparse_value|value_float|value_floats|value_int|value_ints|"
    "value_string|value_strings";

static constexpr Rule flag(StringLiteral op, StringLiteral attribute) {
  return {op, attribute, Rule::Number, 0, 0, 1};
}
static constexpr Rule words(StringLiteral op, StringLiteral attribute,
                            StringLiteral words, int since = 1,
                            int until = INT_MAX) {
  return {op, attribute, Rule::Words, 0, 0, 0, words, since, until};
}
static constexpr Rule axis(StringLiteral op, int until = INT_MAX) {
  return {op, "axis", Rule::Axis, 0, 0, 0, "", 1, until};
}
/// The axis of the scale, operand 1; applies only if that is not a scalar.
static constexpr Rule axisOfScale(StringLiteral op) {
  return {op, "axis", Rule::Axis, 0, 1};
}
static constexpr Rule axes(StringLiteral op) {
  return {op, "axes", Rule::Axes, 0};
}
static constexpr Rule elementType(StringLiteral op, StringLiteral attribute) {
  return {op, attribute, Rule::ElementType};
}
static constexpr Rule spatial(StringLiteral op, StringLiteral attribute,
                              int factor = 1) {
  return {op, attribute, Rule::PerSpatialAxis, 0, factor};
}
static constexpr Rule perDirection(StringLiteral op, int count) {
  return {op, "activations", Rule::PerDirection, 0, count};
}

/// Sorted by operator.
static constexpr Rule valueRows[] = {
    axis("ArgMax"),
    flag("ArgMax", "keepdims"),
    flag("ArgMax", "select_last_index"),
    axis("ArgMin"),
    flag("ArgMin", "keepdims"),
    flag("ArgMin", "select_last_index"),
    words("AveragePool", "auto_pad", autoPad),
    flag("AveragePool", "ceil_mode"),
    flag("AveragePool", "count_include_pad"),
    spatial("AveragePool", "dilations"),
    spatial("AveragePool", "kernel_shape"),
    spatial("AveragePool", "pads", 2),
    spatial("AveragePool", "strides"),
    elementType("Bernoulli", "dtype"),
    words("BitShift", "direction", "LEFT|RIGHT"),
    elementType("BlackmanWindow", "output_datatype"),
    words("Cast", "round_mode", "up|down|nearest"),
    flag("Cast", "saturate"),
    elementType("Cast", "to"),
    flag("CastLike", "saturate"),
    words("CastMap", "cast_to", "TO_FLOAT|TO_STRING|TO_INT64"),
    words("CastMap", "map_form", "DENSE|SPARSE"),
    axis("Compress"),
    axis("Concat"),
    flag("ConcatFromSequence", "new_axis"),
    {"Constant", "", Rule::OneOf, 0, 0, 0, constants},
    words("Conv", "auto_pad", autoPad),
    spatial("Conv", "dilations"),
    {"Conv", "group", Rule::Divides, 1, 0},
    spatial("Conv", "kernel_shape"),
    {"Conv", "kernel_shape", Rule::Kernel, 1},
    spatial("Conv", "pads", 2),
    spatial("Conv", "strides"),
    words("ConvInteger", "auto_pad", autoPad),
    spatial("ConvInteger", "dilations"),
    {"ConvInteger", "group", Rule::Divides, 1, 0},
    spatial("ConvInteger", "kernel_shape"),
    {"ConvInteger", "kernel_shape", Rule::Kernel, 1},
    spatial("ConvInteger", "pads", 2),
    spatial("ConvInteger", "strides"),
    words("ConvTranspose", "auto_pad", autoPad),
    spatial("ConvTranspose", "dilations"),
    {"ConvTranspose", "group", Rule::Divides, 1, 0},
    spatial("ConvTranspose", "kernel_shape"),
    {"ConvTranspose", "kernel_shape", Rule::Kernel, 1},
    spatial("ConvTranspose", "output_padding"),
    spatial("ConvTranspose", "output_shape"),
    spatial("ConvTranspose", "pads", 2),
    spatial("ConvTranspose", "strides"),
    flag("CumSum", "exclusive"),
    flag("CumSum", "reverse"),
    {"DepthToSpace", "blocksize", Rule::Divides, 0, 1, 2},
    words("DepthToSpace", "mode", "DCR|CRD"),
    axisOfScale("DequantizeLinear"),
    {"Einsum", "equation", Rule::Equation},
    elementType("EyeLike", "dtype"),
    {"Flatten", "axis", Rule::Axis, 0, 0, 1},
    words("GRU", "activations", activations),
    perDirection("GRU", 2),
    words("GRU", "direction", directions),
    flag("GRU", "layout"),
    axis("Gather"),
    axis("GatherElements"),
    words("Gelu", "approximate", "none|tanh"),
    flag("Gemm", "transA"),
    flag("Gemm", "transB"),
    flag("GridSample", "align_corners"),
    words("GridSample", "mode", "linear|nearest|cubic|bilinear|bicubic"),
    words("GridSample", "padding_mode", "zeros|border|reflection"),
    {"GroupNormalization", "num_groups", Rule::Divides, 0, 1},
    elementType("HammingWindow", "output_datatype"),
    elementType("HannWindow", "output_datatype"),
    axis("Hardmax"),
    {"LRN", "size", Rule::Number, 0, 1, INT_MAX},
    words("LSTM", "activations", activations),
    perDirection("LSTM", 3),
    words("LSTM", "direction", directions),
    flag("LSTM", "input_forget"),
    flag("LSTM", "layout"),
    {"LabelEncoder", "", Rule::OneOf, 0, 0, 0, labelKeys, 2},
    axis("LayerNormalization"),
    words("LinearClassifier", "post_transform", transforms),
    words("LinearRegressor", "post_transform", transforms),
    axis("LogSoftmax"),
    axis("LpNormalization"),
    {"LpNormalization", "p", Rule::Number, 0, 1, 2},
    words("LpPool", "auto_pad", autoPad),
    spatial("LpPool", "dilations"),
    spatial("LpPool", "kernel_shape"),
    {"LpPool", "p", Rule::Number, 0, 1, INT_MAX},
    spatial("LpPool", "pads", 2),
    spatial("LpPool", "strides"),
    words("MaxPool", "auto_pad", autoPad),
    flag("MaxPool", "ceil_mode"),
    spatial("MaxPool", "dilations"),
    spatial("MaxPool", "kernel_shape"),
    spatial("MaxPool", "pads", 2),
    flag("MaxPool", "storage_order"),
    spatial("MaxPool", "strides"),
    axes("MeanVarianceNormalization"),
    elementType("MelWeightMatrix", "output_datatype"),
    words("Momentum", "mode", "standard|nesterov"),
    elementType("Multinomial", "dtype"),
    words("NegativeLogLikelihoodLoss", "reduction", losses),
    flag("NonMaxSuppression", "center_point_box"),
    words("Normalizer", "norm", "MAX|L1|L2"),
    words("Pad", "mode", "constant|reflect|edge", 1, 18),
    words("Pad", "mode", "constant|reflect|edge|wrap", 19),
    words("QLinearConv", "auto_pad", autoPad),
    spatial("QLinearConv", "dilations"),
    {"QLinearConv", "group", Rule::Divides, 3, 0},
    spatial("QLinearConv", "kernel_shape"),
    {"QLinearConv", "kernel_shape", Rule::Kernel, 3},
    spatial("QLinearConv", "pads", 2),
    spatial("QLinearConv", "strides"),
    axisOfScale("QuantizeLinear"),
    words("RNN", "activations", activations),
    perDirection("RNN", 1),
    words("RNN", "direction", directions),
    flag("RNN", "layout"),
    elementType("RandomNormal", "dtype"),
    elementType("RandomNormalLike", "dtype"),
    elementType("RandomUniform", "dtype"),
    elementType("RandomUniformLike", "dtype"),
    axes("ReduceL1"),
    flag("ReduceL1", "keepdims"),
    flag("ReduceL1", "noop_with_empty_axes"),
    axes("ReduceL2"),
    flag("ReduceL2", "keepdims"),
    flag("ReduceL2", "noop_with_empty_axes"),
    axes("ReduceLogSum"),
    flag("ReduceLogSum", "keepdims"),
    flag("ReduceLogSum", "noop_with_empty_axes"),
    axes("ReduceLogSumExp"),
    flag("ReduceLogSumExp", "keepdims"),
    flag("ReduceLogSumExp", "noop_with_empty_axes"),
    axes("ReduceMax"),
    flag("ReduceMax", "keepdims"),
    flag("ReduceMax", "noop_with_empty_axes"),
    axes("ReduceMean"),
    flag("ReduceMean", "keepdims"),
    flag("ReduceMean", "noop_with_empty_axes"),
    axes("ReduceMin"),
    flag("ReduceMin", "keepdims"),
    flag("ReduceMin", "noop_with_empty_axes"),
    axes("ReduceProd"),
    flag("ReduceProd", "keepdims"),
    flag("ReduceProd", "noop_with_empty_axes"),
    axes("ReduceSum"),
    flag("ReduceSum", "keepdims"),
    flag("ReduceSum", "noop_with_empty_axes"),
    axes("ReduceSumSquare"),
    flag("ReduceSumSquare", "keepdims"),
    flag("ReduceSumSquare", "noop_with_empty_axes"),
    flag("Reshape", "allowzero"),
    words("Resize", "coordinate_transformation_mode", transformations),
    words("Resize", "keep_aspect_ratio_policy",
          "stretch|not_larger|not_smaller"),
    words("Resize", "mode", "nearest|linear|cubic"),
    words("Resize", "nearest_mode",
          "round_prefer_floor|round_prefer_ceil|floor|ceil"),
    {"ReverseSequence", "batch_axis", Rule::Number, 0, 0, 1},
    {"ReverseSequence", "time_axis", Rule::Number, 0, 0, 1},
    words("RoiAlign", "coordinate_transformation_mode",
          "half_pixel|output_half_pixel"),
    words("RoiAlign", "mode", "avg|max"),
    words("SVMClassifier", "kernel_type", kernels),
    words("SVMClassifier", "post_transform", transforms),
    words("SVMRegressor", "kernel_type", kernels),
    words("SVMRegressor", "post_transform", transforms),
    axis("Scatter"),
    axis("ScatterElements"),
    words("ScatterElements", "reduction", "none|add|mul|max|min"),
    words("ScatterND", "reduction", "none|add|mul|max|min"),
    elementType("SequenceEmpty", "dtype"),
    {"Slice", "ends", Rule::AsMany, 0, 0, 0, "starts"},
    axis("Softmax"),
    words("SoftmaxCrossEntropyLoss", "reduction", losses),
    {"SpaceToDepth", "blocksize", Rule::Divides, 0, 2},
    {"SpaceToDepth", "blocksize", Rule::Divides, 0, 3},
    words("SpaceToDepth", "mode", "DCR|CRD"),
    axis("Split"),
    {"Split", "num_outputs", Rule::CountsResults},
    axis("SplitToSequence"),
    axes("Squeeze"),
    words("StringNormalizer", "case_change_action", "NONE|LOWER|UPPER"),
    words("TensorScatter", "mode", "linear|circular"),
    words("TfIdfVectorizer", "mode", "TF|IDF|TFIDF"),
    axis("TopK"),
    {"Transpose", "perm", Rule::Permutation},
    words("TreeEnsembleClassifier", "post_transform", transforms),
    words("TreeEnsembleRegressor", "aggregate_function", "SUM|AVERAGE|MIN|MAX"),
    words("TreeEnsembleRegressor", "post_transform", transforms),
    flag("Trilu", "upper"),
    axis("Unique"),
    flag("Unique", "sorted"),
    words("Upsample", "mode", "nearest|linear|bilinear"),
};

/// The initial state of a recurrent operator, operand `operand`: as wide as the
/// recurrence weights, operand 2, and unless batches come first, with a part
/// for each of their directions and the batch of operand 0.
static constexpr SizeRule widthOf(StringLiteral op, uint8_t operand) {
  return {op, operand, 2, 2, 2};
}
static constexpr SizeRule directionsOf(StringLiteral op, uint8_t operand) {
  return {op, operand, 0, 2, 0, "", 1, 1, "layout"};
}
static constexpr SizeRule batchOf(StringLiteral op, uint8_t operand) {
  return {op, operand, 1, 0, 1, "", 1, 1, "layout"};
}

/// Sorted by operator.
static constexpr SizeRule sizes[] = {
    {"BatchNormalization", 0, 1, 1, 0},
    {"BatchNormalization", 0, 1, 2, 0},
    {"BatchNormalization", 0, 1, 3, 0},
    {"BatchNormalization", 0, 1, 4, 0},
    {"Conv", 0, 1, 1, 1, "group"},
    {"Conv", 1, 0, 2, 0},
    {"ConvInteger", 0, 1, 1, 1, "group"},
    {"ConvTranspose", 0, 1, 1, 0},
    {"ConvTranspose", 2, 0, 1, 1, "group"},
    {"GRU", 0, 2, 1, 2},
    {"GRU", 2, 0, 1, 0},
    {"GRU", 2, 1, 1, 1},
    {"GRU", 2, 1, 2, 2, "", 1, 3},
    {"GRU", 3, 1, 2, 1, "", 1, 2},
    {"GRU", 3, 0, 2, 0},
    {"GRU", 4, 0, 0, 1, "", 1, 1, "layout"},
    widthOf("GRU", 5),
    directionsOf("GRU", 5),
    batchOf("GRU", 5),
    {"GroupNormalization", 0, 1, 1, 0, "", 21},
    {"GroupNormalization", 0, 1, 2, 0, "", 21},
    {"InstanceNormalization", 0, 1, 1, 0},
    {"InstanceNormalization", 0, 1, 2, 0},
    {"LSTM", 0, 2, 1, 2},
    {"LSTM", 2, 0, 1, 0},
    {"LSTM", 2, 1, 1, 1},
    {"LSTM", 2, 1, 2, 2, "", 1, 4},
    {"LSTM", 3, 1, 2, 1, "", 1, 2},
    {"LSTM", 3, 0, 2, 0},
    {"LSTM", 4, 0, 0, 1, "", 1, 1, "layout"},
    widthOf("LSTM", 5),
    directionsOf("LSTM", 5),
    batchOf("LSTM", 5),
    widthOf("LSTM", 6),
    directionsOf("LSTM", 6),
    batchOf("LSTM", 6),
    {"LSTM", 7, 0, 2, 0},
    {"LSTM", 7, 1, 2, 2, "", 1, 3},
    {"QLinearConv", 0, 1, 3, 1, "group"},
    {"QLinearConv", 3, 0, 8, 0},
    {"RNN", 0, 2, 1, 2},
    {"RNN", 2, 0, 1, 0},
    {"RNN", 2, 1, 1, 1},
    {"RNN", 2, 1, 2, 2, "", 1, 1},
    {"RNN", 3, 1, 2, 1, "", 1, 2},
    {"RNN", 3, 0, 2, 0},
    {"RNN", 4, 0, 0, 1, "", 1, 1, "layout"},
    widthOf("RNN", 5),
    directionsOf("RNN", 5),
    batchOf("RNN", 5),
};

using Operand = OperandRule;

static constexpr Operand reducedAxes(StringLiteral op, int since = 18) {
  return {op, 1, Operand::Axes, 0, 0, since};
}
static constexpr Operand rank(StringLiteral op, uint8_t operand, int least,
                              int most = INT_MAX) {
  return {op, operand, Operand::Rank, least, most};
}

/// Sorted by operator.
static constexpr Operand operandRows[] = {
    {"AffineGrid", 1, Operand::Shape, 1},
    rank("AveragePool", 0, 3),
    {"BlackmanWindow", 0, Operand::Integers, 1},
    {"CenterCropPad", 1, Operand::Shape},
    {"Col2Im", 1, Operand::Shape, 1},
    {"Col2Im", 2, Operand::Shape, 1},
    {"ConstantOfShape", 0, Operand::Shape},
    {"CumSum", 1, Operand::OneElement},
    {"CumSum", 1, Operand::Axes},
    {"DFT", 1, Operand::Integers, 1},
    rank("Expand", 1, 1, 1),
    {"Expand", 1, Operand::Shape},
    rank("GRU", 0, 3, 3),
    rank("GRU", 1, 3, 3),
    rank("GRU", 2, 3, 3),
    rank("GlobalAveragePool", 0, 2),
    rank("GlobalLpPool", 0, 2),
    rank("GlobalMaxPool", 0, 2),
    {"HammingWindow", 0, Operand::Integers, 1},
    {"HannWindow", 0, Operand::Integers, 1},
    rank("LSTM", 0, 3, 3),
    rank("LSTM", 1, 3, 3),
    rank("LSTM", 2, 3, 3),
    rank("LpPool", 0, 3),
    rank("MaxPool", 0, 3),
    {"MaxUnpool", 2, Operand::Shape, 1},
    {"OneHot", 1, Operand::Integers},
    {"Pad", 1, Operand::Pads, INT_MIN},
    rank("RNN", 0, 3, 3),
    rank("RNN", 1, 3, 3),
    rank("RNN", 2, 3, 3),
    {"Range", 0, Operand::OneElement},
    {"Range", 1, Operand::OneElement},
    {"Range", 2, Operand::OneElement},
    {"Range", 2, Operand::Steps},
    reducedAxes("ReduceL1"),
    reducedAxes("ReduceL2"),
    reducedAxes("ReduceLogSum"),
    reducedAxes("ReduceLogSumExp"),
    reducedAxes("ReduceMax"),
    reducedAxes("ReduceMean"),
    reducedAxes("ReduceMin"),
    reducedAxes("ReduceProd"),
    reducedAxes("ReduceSum", 13),
    reducedAxes("ReduceSumSquare"),
    rank("Reshape", 1, 1, 1),
    {"Reshape", 1, Operand::Sizes},
    {"Reshape", 1, Operand::Shape, -1},
    {"Resize", 1, Operand::Scales},
    {"Resize", 2, Operand::Scales},
    {"Resize", 3, Operand::Shape, 0, INT_MAX, 11},
    {"Slice", 4, Operand::NotZero},
    {"Split", 1, Operand::Integers},
    reducedAxes("Squeeze", 13),
    rank("Tile", 1, 1, 1),
    {"Tile", 1, Operand::Repeats, 0, INT_MAX, 6},
    {"TopK", 1, Operand::Integers},
    {"Upsample", 1, Operand::Scales},
};

template <typename Row, size_t N>
static constexpr bool isSorted(const Row (&table)[N]) {
  for (size_t i = 1; i < N; ++i) {
    const char *a = table[i - 1].op.data(), *b = table[i].op.data();
    while (*a && *a == *b)
      ++a, ++b;
    if (*a > *b)
      return false;
  }
  return true;
}
static_assert(isSorted(valueRows) && isSorted(sizes) && isSorted(operandRows));

template <typename Row>
static ArrayRef<Row> findRows(ArrayRef<Row> table, StringRef op) {
  auto begin = llvm::partition_point(
      table, [&](const Row &row) { return StringRef(row.op) < op; });
  auto end = begin;
  while (end != table.end() && end->op == op)
    ++end;
  return ArrayRef<Row>(begin, end);
}

ArrayRef<ValueRule> getValueRules(StringRef op) {
  return findRows(ArrayRef<ValueRule>(valueRows), op);
}

ArrayRef<SizeRule> getSizeRules(StringRef op) {
  return findRows(ArrayRef<SizeRule>(sizes), op);
}

ArrayRef<OperandRule> getOperandRules(StringRef op) {
  return findRows(ArrayRef<OperandRule>(operandRows), op);
}

} // namespace mp
