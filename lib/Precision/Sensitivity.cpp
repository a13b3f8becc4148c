//===- Sensitivity.cpp - What a rounded operand does to a result ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An fp32 operand may be rounded to 16 bit only where the result moves no
// more than rounding would move it. That holds for four kinds of ops:
//   - those that move or select values,
//   - those that are linear in each operand, or linear in pieces that meet
//     (Relu, Clip, Max), and contractions,
//   - those that keep the relative error (Mul, Div, Sqrt, Reciprocal),
//   - those of bounded slope that go to a constant or to a line away from
//     zero (Sigmoid, Tanh, Gelu), and the means that these make (Softmax).
// It does not hold where a small difference decides something (comparisons,
// Floor, Sign, ArgMax, TopK, an index, a random draw), where the result's
// relative error grows with the operand (Exp, Pow, Sin) or with the length of
// a product, where its leading digits cancel (Log near one, Det, what is
// divided by the spread of the data itself), where a state is rounded again
// on every turn of a loop, and where bits are reinterpreted. Operands that
// never change type (coordinates, scales, statistics) are not asked about.
//
// The table has the ops that are safe; all others are not.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mp {

/// Sorted, as both lists are searched by halves.
static constexpr StringLiteral safeOps[] = {
    "Abs",
    "Add",
    "Atan",
    "Attention",
    "AveragePool",
    "AveragePoolGrad",
    "BatchNormalization",
    "CausalConvWithState",
    "Celu",
    "CenterCropPad",
    "Clip",
    "Col2Im",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Conv",
    "ConvGrad",
    "ConvTranspose",
    "CumSum",
    "DFT",
    "DeformConv",
    "DepthToSpace",
    "DequantizeLinear",
    "Div",
    "Dropout",
    "Einsum",
    "Elu",
    "Erf",
    "Expand",
    "EyeLike",
    "Flatten",
    "GRU",
    "Gather",
    "GatherElements",
    "GatherND",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "GridSample",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "If",
    "LRN",
    "LSTM",
    "LeakyRelu",
    "LinearAttention",
    "LogSoftmax",
    "LpNormalization",
    "LpPool",
    "MatMul",
    "Max",
    // Its index names an element that is the greatest but for rounding.
    "MaxPool",
    "MaxPoolGrad",
    "MaxRoiPool",
    "MaxUnpool",
    "Mean",
    "Min",
    "Mish",
    "Mul",
    "Neg",
    "NegativeLogLikelihoodLoss",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "PRelu",
    "Pad",
    "RMSNormalization",
    "RNN",
    // Reads a shape only.
    "RandomNormalLike",
    "RandomUniformLike",
    "Reciprocal",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Reshape",
    "Resize",
    "ReverseSequence",
    "RoiAlign",
    "RotaryEmbedding",
    "STFT",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Selu",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "Shape",
    "Sigmoid",
    "Size",
    "Slice",
    "Softmax",
    "SoftmaxCrossEntropyLoss",
    "Softsign",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "SwiGLU",
    "Swish",
    "Tanh",
    "TensorScatter",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Upsample",
    "Where",
};

static constexpr StringLiteral safeMicrosoft[] = {
    "AllGather",
    "AllReduce",
    "AllToAll",
    "Attention",
    "BatchNormInternal",
    "BatchScale",
    "BiasAdd",
    "BiasDropout",
    "BiasFastGeluGrad_dX",
    "BiasGelu",
    "BiasGeluGrad_dX",
    "BiasSoftmax",
    "BiasSoftmaxDropout",
    "BiasSplitGelu",
    "BitmaskBiasDropout",
    "BitmaskDropout",
    "BitmaskDropoutGrad",
    "BranchwiseRMSNorm",
    "CausalConvWithState",
    "ComplexMul",
    "ComplexMulConj",
    "ConcatTraining",
    "ConvGrad",
    "ConvTransposeGrad",
    "ConvTransposeWithDynamicPads",
    "CropAndResize",
    "DecoderAttention",
    "DecoderMaskedMultiHeadAttention",
    "DecoderMaskedSelfAttention",
    "DequantizeLinear",
    "DistributedExpand",
    "DistributedMatMul",
    "DistributedReduceMax",
    "DistributedReduceMean",
    "DistributedReduceSum",
    "DistributedReshape",
    "DistributedSlice",
    "DistributedSqueeze",
    "DistributedUnsqueeze",
    "DivGrad",
    "DropoutGrad",
    "DynamicSparseAttention",
    "EngramGate",
    "ExpandDims",
    "FastGelu",
    "FastGeluGrad",
    "FlattenAndUnpad",
    "FusedConv",
    "FusedGemm",
    "FusedMatMul",
    "FusedMatMulActivation",
    "GatedAdd",
    "GatedRMSNorm",
    "GatedRelativePositionBias",
    "GatherBlockQuantized",
    "GatherElementsGrad",
    "GatherGrad",
    "GatherND",
    "GatherNDGrad",
    "Gelu",
    "GeluGrad",
    "GemmFastGelu",
    "GemmaRotaryEmbedding",
    "GridSample",
    "Group",
    "GroupQueryAttention",
    "HyperConnectionPostMix",
    "HyperConnectionPreMix",
    "Irfft",
    "LeakyReluGrad",
    "LinearAttention",
    "LogSoftmaxGrad",
    "LogSoftmaxGrad_13",
    "LongformerAttention",
    "MRotaryEmbedding",
    "MatMulBlockQuantizedFp4Weight",
    "MatMulBlockQuantizedFp8Weight",
    "MatMulBnb4",
    "MatMulIntegerToFloat",
    "MatMulNBits",
    "MatMulNBitsMlp",
    "MatMulNBitsQkv",
    "MaxPoolGrad",
    "MegatronF",
    "MegatronG",
    "MultiHeadAttention",
    "NcclAllGather",
    "NcclAllReduce",
    "NcclReduceScatter",
    "NegativeLogLikelihoodLossInternal",
    "NegativeLogLikelihoodLossInternal2",
    "NhwcConv",
    "NhwcFusedConv",
    "PackedAttention",
    "PackedMultiHeadAttention",
    "Pad",
    "PadAndUnflatten",
    "PagedAttention",
    "PassThrough",
    "QuickGelu",
    "QuickGeluGrad",
    "ReduceAllL2",
    "ReduceSumTraining",
    "RelativePositionBias",
    "ReluGrad",
    "RemovePadding",
    "ResizeGrad",
    "RestorePadding",
    "Rfft",
    "RotaryEmbedding",
    "Scale",
    "ScaledSiLU",
    "ScaledSum",
    "ShrunkenGather",
    "SigmoidGrad",
    "SliceGrad",
    "SoftmaxDropoutGrad",
    "SoftmaxGrad",
    "SoftmaxGrad_13",
    "SparseAttention",
    "SparsePagedAttention",
    "SplitTraining",
    "TanhGrad",
    "TorchEmbedding",
    "TransposeMatMul",
    "Trilu",
    "UnfoldTensor",
    "VarlenCausalConvWithState",
    "View",
    "YieldOp",
};

template <size_t N>
static constexpr bool isSorted(const StringLiteral (&names)[N]) {
  for (size_t i = 1; i < N; ++i) {
    const char *a = names[i - 1].data(), *b = names[i].data();
    while (*a && *a == *b)
      ++a, ++b;
    if (*a >= *b)
      return false;
  }
  return true;
}
static_assert(isSorted(safeOps) && isSorted(safeMicrosoft));

static bool contains(ArrayRef<StringLiteral> names, StringRef name) {
  auto it = lower_bound(names, name);
  return it != names.end() && *it == name;
}

bool isSafeToNarrow(StringRef domain, StringRef opType) {
  if (domain.empty())
    return contains(safeOps, opType);
  return domain == "com.microsoft" && contains(safeMicrosoft, opType);
}

} // namespace mp
