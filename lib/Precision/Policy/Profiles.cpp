//===- Profiles.cpp - Built-in operator lists -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bf16 has the range of fp32 and 8 bits of precision; fp16 has more precision
// and less range. exp, log, reciprocal and softplus need the range, so they are
// denied in fp16 only. Names without a domain are those of the default domain,
// and of com.microsoft ops that older graphs keep in the default domain.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/Policy.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mp {

/// The reason for a class that a built-in list gives; denied operators have
/// their own reasons.
static constexpr StringLiteral builtin = "built-in list";

namespace {
struct DeniedOperator {
  StringLiteral name, reason;
};
} // namespace

static constexpr StringLiteral comparisons =
    "built-in list: chooses elements by comparing, and rounding makes equals";
static constexpr StringLiteral exchanged =
    "built-in list: values that machines exchange keep their type";
static constexpr StringLiteral exponentials =
    "built-in list: sums of exponentials, of which 16 bit loses small terms";
static constexpr StringLiteral losses =
    "built-in list: losses are sums of logarithms, where small errors tell";
static constexpr StringLiteral narrowRange =
    "built-in list: its results leave the range of fp16";
static constexpr StringLiteral positions =
    "built-in list: positions need more digits than 16 bit has";
static constexpr StringLiteral products =
    "built-in list: the errors of 16 bit grow with every factor of a product";
static constexpr StringLiteral quantized =
    "built-in list: scales of quantized values keep their type";
static constexpr StringLiteral random =
    "built-in list: random numbers are drawn in fp32, alike in every precision";
static constexpr StringLiteral statistics =
    "built-in list: means and spreads of many elements need digits of fp32";
static constexpr StringLiteral steep =
    "built-in list: a steep function makes small errors of operands great";
static constexpr StringLiteral subgraphs =
    "built-in list: runs whole models as subgraphs, whose types are fixed";
static constexpr StringLiteral sums =
    "built-in list: sums of many terms, of which 16 bit loses small ones";
static constexpr StringLiteral tables =
    "built-in list: makes a table, which is rounded where it is used";
static constexpr StringLiteral tied =
    "built-in list: more than its schema ties its element types";
static constexpr StringLiteral unknownCode =
    "built-in list: runs code of which nothing is known";
static constexpr StringLiteral updates =
    "built-in list: updates of weights are too small for 16 bit";

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

/// Reductions, normalizations, losses, functions with steep derivatives, random
/// sources (drawn in fp32 in both modes), and ops whose element types depend on
/// more than their schemas say (BitCast: to one of the same size).
static constexpr DeniedOperator denyList[] = {
    {"Acos", steep},
    {"Acosh", steep},
    {"AffineGrid", positions},
    {"Asin", steep},
    {"Asinh", steep},
    {"Atanh", steep},
    {"Bernoulli", random},
    {"BitCast", tied},
    {"BlackmanWindow", tables},
    {"Cast", tied},
    {"CastLike", tied},
    {"Celu", steep},
    {"Cos", steep},
    {"Cosh", steep},
    {"CumProd", products},
    {"CumSum", sums},
    {"DFT", sums},
    {"Det", products},
    {"DynamicQuantizeLinear", quantized},
    {"EyeLike", tables},
    {"GlobalLpPool", sums},
    {"GroupNormalization", statistics},
    {"HammingWindow", tables},
    {"HannWindow", tables},
    {"ImageDecoder", tied},
    {"InstanceNormalization", statistics},
    {"LRN", statistics},
    {"LayerNormalization", statistics},
    {"LogSoftmax", exponentials},
    {"LpNormalization", statistics},
    {"LpPool", sums},
    {"MaxPoolGrad", comparisons},
    {"MeanVarianceNormalization", statistics},
    {"MelWeightMatrix", tables},
    {"Multinomial", random},
    {"NegativeLogLikelihoodLoss", losses},
    {"NonMaxSuppression", positions},
    {"Pow", steep},
    {"QLinearConv", quantized},
    {"QLinearMatMul", quantized},
    {"RMSNormalization", statistics},
    {"RandomNormal", random},
    {"RandomNormalLike", random},
    {"RandomUniform", random},
    {"RandomUniformLike", random},
    {"Range", positions},
    {"ReduceL1", sums},
    {"ReduceL2", sums},
    {"ReduceLogSum", sums},
    {"ReduceLogSumExp", exponentials},
    {"ReduceMean", sums},
    {"ReduceProd", products},
    {"ReduceSum", sums},
    {"ReduceSumSquare", sums},
    {"STFT", sums},
    {"Sin", steep},
    {"Sinh", steep},
    {"Softmax", exponentials},
    {"SoftmaxCrossEntropyLoss", losses},
    {"SparseSoftmaxCrossEntropy", losses},
    {"SparseSoftmaxCrossEntropyGrad", losses},
    {"Tan", steep},
    {"TfIdfVectorizer", tied},
    {"Upsample", positions},
};
/// Denied in fp16; in bf16 they follow.
static constexpr DeniedOperator denyHalf[] = {
    {"Exp", narrowRange},
    {"Log", narrowRange},
    {"Reciprocal", narrowRange},
    {"Softplus", narrowRange},
};
static constexpr DeniedOperator denyMicrosoft[] = {
    {"AdamOptimizer", updates},
    {"AdamWOptimizer", updates},
    {"AdasumAllReduce", exchanged},
    {"AllGather", exchanged},
    {"AllReduce", exchanged},
    {"BatchNormalizationGrad", statistics},
    {"BeamSearch", subgraphs},
    {"BiasSoftmax", exponentials},
    {"BiasSoftmaxDropout", exponentials},
    {"BranchwiseRMSNorm", statistics},
    {"DequantizeBFP", quantized},
    {"DequantizeWithOrder", quantized},
    {"DistributedReduceMean", sums},
    {"DistributedReduceSum", sums},
    {"EPContext", unknownCode},
    {"EmbedLayerNormalization", statistics},
    {"GatedRMSNorm", statistics},
    {"GatherElementsGrad", sums},
    {"GatherGrad", sums},
    {"GatherNDGrad", sums},
    {"GemmFloat8", quantized},
    {"GistBinarizeDecoder", quantized},
    {"GistBinarizeEncoder", quantized},
    {"GistPack16Decoder", quantized},
    {"GistPack16Encoder", quantized},
    {"GistPack8Decoder", quantized},
    {"GistPack8Encoder", quantized},
    {"GreedySearch", subgraphs},
    {"GroupNorm", statistics},
    {"InPlaceAccumulator", updates},
    {"InPlaceAccumulatorV2", updates},
    {"InplaceClipGradNorm", updates},
    {"Inverse", products},
    {"InvertibleLayerNormalizationGrad", statistics},
    {"Irfft", sums},
    {"LambOptimizer", updates},
    {"LayerNormalizationGrad", statistics},
    {"LinearAttentionGate", exponentials},
    {"LogSoftmaxGrad", exponentials},
    {"LogSoftmaxGrad_13", exponentials},
    {"MaxPoolGrad", comparisons},
    {"MegatronF", exchanged},
    {"MegatronG", exchanged},
    {"MixedPrecisionScale", updates},
    {"NcclAllGather", exchanged},
    {"NcclAllReduce", exchanged},
    {"NcclReduceScatter", exchanged},
    {"NegativeLogLikelihoodLossInternal", losses},
    {"NegativeLogLikelihoodLossInternal2", losses},
    {"PackedSparseAttentionIndexer", comparisons},
    {"PythonOp", unknownCode},
    {"PythonOpGrad", unknownCode},
    {"QOrderedLayerNormalization", statistics},
    {"QuantizeBFP", quantized},
    {"QuantizeWithOrder", quantized},
    {"Range", positions},
    {"ReduceAllL2", sums},
    {"ReduceSumTraining", sums},
    {"ResizeGrad", sums},
    {"Rfft", sums},
    {"SGDOptimizer", updates},
    {"SGDOptimizerV2", updates},
    {"Sampling", subgraphs},
    {"SimplifiedLayerNormalizationGrad", statistics},
    {"SkipGroupNorm", statistics},
    {"SkipLayerNormalization", statistics},
    {"SkipSimplifiedLayerNormalization", statistics},
    {"SoftmaxCrossEntropy", losses},
    {"SoftmaxCrossEntropyGrad", losses},
    {"SoftmaxCrossEntropyLossGrad", losses},
    {"SoftmaxCrossEntropyLossInternal", losses},
    {"SoftmaxCrossEntropyLossInternalGrad", losses},
    {"SoftmaxDropoutGrad", exponentials},
    {"SoftmaxGrad", exponentials},
    {"SoftmaxGrad_13", exponentials},
    {"SparseAttentionIndexer", comparisons},
    {"SparseSoftmaxCrossEntropy", losses},
    {"SparseSoftmaxCrossEntropyGrad", losses},
    {"TritonOp", unknownCode},
    {"WhisperBeamSearch", subgraphs},
    {"ZeroGradient", updates},
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

/// Domains whose ops are all denied.
static constexpr DeniedOperator denyDomains[] = {
    {"ai.onnx.ml",
     "built-in list: classical models decide by thresholds, which are fp32"},
    {"ai.onnx.preview.training", updates},
};

namespace {
/// One of the lists above: either names, or denied operators with reasons.
struct ProfileList {
  StringLiteral domain;
  OpClass opClass;
  ArrayRef<StringLiteral> names;
  ArrayRef<DeniedOperator> denied = {};
  bool onlyHalf = false;

  bool isFor(ElementKind low) const {
    return !onlyHalf || low == ElementKind::Float16;
  }
};
} // namespace

static constexpr StringLiteral ms = "com.microsoft";
static const ProfileList profileLists[] = {
    {"", OpClass::Allow, allowList},
    {"", OpClass::Deny, {}, denyList},
    {"", OpClass::Deny, {}, denyHalf, /*onlyHalf=*/true},
    {"", OpClass::Promote, promoteList},
    {"ai.onnx.preview", OpClass::Allow, allowPreview},
    {ms, OpClass::Allow, allowMicrosoft},
    {ms, OpClass::Deny, {}, denyMicrosoft},
    {ms, OpClass::Promote, promoteMicrosoft},
};

static const DeniedOperator *findDenied(ArrayRef<DeniedOperator> list,
                                        StringRef name) {
  const auto *found = find_if(
      list, [&](const DeniedOperator &entry) { return entry.name == name; });
  return found == list.end() ? nullptr : found;
}

std::optional<ProfileClass> getProfileClass(ElementKind low, StringRef domain,
                                            StringRef opType) {
  if (const DeniedOperator *denied = findDenied(denyDomains, domain))
    return ProfileClass{OpClass::Deny, denied->reason};
  for (const ProfileList &list : profileLists) {
    if (list.domain != domain || !list.isFor(low))
      continue;
    if (const DeniedOperator *denied = findDenied(list.denied, opType))
      return ProfileClass{OpClass::Deny, denied->reason};
    if (is_contained(list.names, opType))
      return ProfileClass{list.opClass, builtin};
  }
  return std::nullopt;
}

OperatorLists getProfileLists(ElementKind low) {
  OperatorLists lists;
  for (const ProfileList &list : profileLists) {
    if (!list.isFor(low))
      continue;
    StringRef domain = list.domain.empty() ? "ai.onnx" : StringRef(list.domain);
    auto add = [&](StringRef name) {
      lists[list.opClass].push_back({(domain + "." + name).str(), "built-in"});
    };
    for_each(list.names, add);
    for (const DeniedOperator &denied : list.denied)
      add(denied.name);
  }
  for (const DeniedOperator &domain : denyDomains)
    lists[OpClass::Deny].push_back({(domain.name + ".*").str(), "built-in"});
  return lists;
}

} // namespace mp
