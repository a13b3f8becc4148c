//===- Profiles.cpp - Built-in operator lists -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bf16 has the range of fp32 and 8 bits of precision, fp16 the reverse: so
// exp, log, reciprocal and softplus, which a small range breaks, are denied
// in fp16 only. Names without a domain are those of the default domain, and
// of com.microsoft ops that older graphs keep in the default domain.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/Policy.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mp {

/// Contractions, convolutions, recurrent cells, attention.
static constexpr StringLiteral allowList[] = {
    "Attention",
    "CausalConvWithState",
    "Conv",
    "ConvGrad",
    "ConvTranspose",
    "DeformConv",
    "Einsum",
    "GRU",
    "Gemm",
    "LSTM",
    "LinearAttention",
    "MatMul",
    "RNN",
};
static constexpr StringLiteral allowMicrosoft[] = {
    "Attention",
    "CausalConvWithState",
    "ConvGrad",
    "ConvTransposeGrad",
    "ConvTransposeWithDynamicPads",
    "DecoderAttention",
    "DecoderMaskedMultiHeadAttention",
    "DecoderMaskedSelfAttention",
    "DistributedMatMul",
    "DynamicSparseAttention",
    "FusedConv",
    "FusedGemm",
    "FusedMatMul",
    "FusedMatMulActivation",
    "GatedDeltaNet",
    "GemmFastGelu",
    "GroupQueryAttention",
    "LinearAttention",
    "LongformerAttention",
    "MatMulBlockQuantizedFp4Weight",
    "MatMulBlockQuantizedFp8Weight",
    "MatMulBnb4",
    "MatMulNBits",
    "MatMulNBitsMlp",
    "MatMulNBitsQkv",
    "MoE",
    "MultiHeadAttention",
    "NhwcConv",
    "NhwcFusedConv",
    "PackedAttention",
    "PackedMultiHeadAttention",
    "PagedAttention",
    "SparseAttention",
    "SparsePagedAttention",
    "TransposeMatMul",
    "VarlenCausalConvWithState",
};

static constexpr StringLiteral allowPreview[] = {"FlexAttention"};

/// Reductions, normalizations, losses, functions with steep derivatives,
/// random sources (drawn in fp32 in both modes), and ops whose element types
/// are tied by more than their schemas say (BitCast: to one of the same size).
static constexpr StringLiteral denyList[] = {
    "Acos",
    "Acosh",
    "AffineGrid",
    "Asin",
    "Asinh",
    "Atanh",
    "Bernoulli",
    "BitCast",
    "BlackmanWindow",
    "Cast",
    "CastLike",
    "Celu",
    "Cos",
    "Cosh",
    "CumProd",
    "CumSum",
    "DFT",
    "DequantizeLinear",
    "Det",
    "DynamicQuantizeLinear",
    "EyeLike",
    "GlobalLpPool",
    "GroupNormalization",
    "HammingWindow",
    "HannWindow",
    "ImageDecoder",
    "InstanceNormalization",
    "LRN",
    "LayerNormalization",
    "LogSoftmax",
    "LpNormalization",
    "LpPool",
    "MaxPoolGrad",
    "MeanVarianceNormalization",
    "MelWeightMatrix",
    "Multinomial",
    "NegativeLogLikelihoodLoss",
    "NonMaxSuppression",
    "Pow",
    "QLinearConv",
    "QLinearMatMul",
    "QuantizeLinear",
    "RMSNormalization",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Range",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "STFT",
    "Sin",
    "Sinh",
    "Softmax",
    "SoftmaxCrossEntropyLoss",
    "SparseSoftmaxCrossEntropy",
    "SparseSoftmaxCrossEntropyGrad",
    "Tan",
    "TfIdfVectorizer",
    "Upsample",
};
/// Denied in fp16; in bf16 they follow.
static constexpr StringLiteral denyHalf[] = {"Exp", "Log", "Reciprocal",
                                             "Softplus"};
static constexpr StringLiteral denyMicrosoft[] = {
    "AdamOptimizer",
    "AdamWOptimizer",
    "AdasumAllReduce",
    "AllGather",
    "AllReduce",
    "BatchNormalizationGrad",
    "BeamSearch",
    "BiasSoftmax",
    "BiasSoftmaxDropout",
    "BranchwiseRMSNorm",
    "DequantizeBFP",
    "DequantizeLinear",
    "DequantizeWithOrder",
    "DistributedReduceMean",
    "DistributedReduceSum",
    "EPContext",
    "EmbedLayerNormalization",
    "GatedRMSNorm",
    "GatherElementsGrad",
    "GatherGrad",
    "GatherNDGrad",
    "GemmFloat8",
    "GistBinarizeDecoder",
    "GistBinarizeEncoder",
    "GistPack16Decoder",
    "GistPack16Encoder",
    "GistPack8Decoder",
    "GistPack8Encoder",
    "GreedySearch",
    "GroupNorm",
    "InPlaceAccumulator",
    "InPlaceAccumulatorV2",
    "InplaceClipGradNorm",
    "Inverse",
    "InvertibleLayerNormalizationGrad",
    "Irfft",
    "LambOptimizer",
    "LayerNormalizationGrad",
    "LinearAttentionGate",
    "LogSoftmaxGrad",
    "LogSoftmaxGrad_13",
    "MaxPoolGrad",
    "MegatronF",
    "MegatronG",
    "MixedPrecisionScale",
    "NcclAllGather",
    "NcclAllReduce",
    "NcclReduceScatter",
    "NegativeLogLikelihoodLossInternal",
    "NegativeLogLikelihoodLossInternal2",
    "PackedSparseAttentionIndexer",
    "PythonOp",
    "PythonOpGrad",
    "QAttention",
    "QOrderedLayerNormalization",
    "QuantizeBFP",
    "QuantizeLinear",
    "QuantizeWithOrder",
    "Range",
    "ReduceAllL2",
    "ReduceSumTraining",
    "ResizeGrad",
    "Rfft",
    "SGDOptimizer",
    "SGDOptimizerV2",
    "Sampling",
    "SimplifiedLayerNormalizationGrad",
    "SkipGroupNorm",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
    "SoftmaxCrossEntropy",
    "SoftmaxCrossEntropyGrad",
    "SoftmaxCrossEntropyLossGrad",
    "SoftmaxCrossEntropyLossInternal",
    "SoftmaxCrossEntropyLossInternalGrad",
    "SoftmaxDropoutGrad",
    "SoftmaxGrad",
    "SoftmaxGrad_13",
    "SparseAttentionIndexer",
    "SparseSoftmaxCrossEntropy",
    "SparseSoftmaxCrossEntropyGrad",
    "TritonOp",
    "WhisperBeamSearch",
    "ZeroGradient",
};

/// Ops that join values of equal standing.
static constexpr StringLiteral promoteList[] = {
    "Add",           "Concat",
    "Div",           "Equal",
    "Greater",       "GreaterOrEqual",
    "Less",          "LessOrEqual",
    "Max",           "MaxUnpool",
    "Mean",          "Min",
    "Mod",           "Mul",
    "PRelu",         "RotaryEmbedding",
    "Scatter",       "ScatterElements",
    "ScatterND",     "Sub",
    "Sum",           "SwiGLU",
    "TensorScatter", "Where",
};
static constexpr StringLiteral promoteMicrosoft[] = {
    "BiasAdd",
    "BiasDropout",
    "BiasFastGeluGrad_dX",
    "BiasGelu",
    "BiasGeluGrad_dX",
    "BiasSplitGelu",
    "BitmaskBiasDropout",
    "ComplexMul",
    "ComplexMulConj",
    "ConcatTraining",
    "DivGrad",
    "FastGelu",
    "FastGeluGrad",
    "GatedAdd",
    "GeluGrad",
    "GemmaRotaryEmbedding",
    "LeakyReluGrad",
    "MRotaryEmbedding",
    "QuickGeluGrad",
    "ReluGrad",
    "RotaryEmbedding",
    "ScaledSum",
    "SigmoidGrad",
    "TanhGrad",
};

/// Domains of which every op is denied.
static constexpr StringLiteral denyDomains[] = {"ai.onnx.ml",
                                                "ai.onnx.preview.training"};

namespace {
/// One of the lists above.
struct ProfileList {
  StringLiteral domain;
  OpClass opClass;
  ArrayRef<StringLiteral> names;
  bool onlyHalf = false;
};
} // namespace

static constexpr StringLiteral ms = "com.microsoft";
static const ProfileList profileLists[] = {
    {"", OpClass::Allow, allowList},
    {"", OpClass::Deny, denyList},
    {"", OpClass::Deny, denyHalf, /*onlyHalf=*/true},
    {"", OpClass::Promote, promoteList},
    {"ai.onnx.preview", OpClass::Allow, allowPreview},
    {ms, OpClass::Allow, allowMicrosoft},
    {ms, OpClass::Deny, denyMicrosoft},
    {ms, OpClass::Promote, promoteMicrosoft},
};

std::optional<OpClass> getProfileClass(ElementKind low, StringRef domain,
                                       StringRef opType) {
  if (is_contained(denyDomains, domain))
    return OpClass::Deny;
  for (const ProfileList &list : profileLists)
    if (list.domain == domain &&
        (!list.onlyHalf || low == ElementKind::Float16) &&
        is_contained(list.names, opType))
      return list.opClass;
  return std::nullopt;
}

OperatorLists getProfileLists(ElementKind low) {
  OperatorLists lists;
  for (const ProfileList &list : profileLists) {
    if (list.onlyHalf && low != ElementKind::Float16)
      continue;
    StringRef domain = list.domain.empty() ? "ai.onnx" : StringRef(list.domain);
    for (StringRef name : list.names)
      lists[list.opClass].push_back({(domain + "." + name).str(), "built-in"});
  }
  for (StringRef domain : denyDomains)
    lists[OpClass::Deny].push_back({(domain + ".*").str(), "built-in"});
  return lists;
}

} // namespace mp
