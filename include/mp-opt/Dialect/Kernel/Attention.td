//===- Attention.td - Attention and its gradients ----------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_KERNEL_ATTENTION_TD
#define MPOPT_DIALECT_KERNEL_ATTENTION_TD

include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Ops whose maps have the dimensions (batches..., m, n, d, e): m counts
/// queries, n keys, d and e the elements of a head in keys and in values. The
/// results of a map are dimensions, or 0.
class Kernel_AttentionLikeOp<string mnemonic> : Kernel_Op<mnemonic, [
    AttrSizedOperandSegments, DestinationStyleOpInterface, SingleBlock,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<BufferizableOpInterface,
      ["bufferizesToMemoryRead", "bufferizesToMemoryWrite",
       "getAliasingValues", "bufferize"]>]> {
  let arguments = (ins Variadic<Kernel_Data>:$inputs,
                       Variadic<Kernel_Data>:$outputs,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)` $body (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  code commonDeclarations = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    /// The maps of the inputs and the outputs.
    ::llvm::SmallVector<::mlir::AffineMap> getMaps() {
      return ::llvm::to_vector(
          getIndexingMaps().getAsValueRange<::mlir::AffineMapAttr>());
    }
    unsigned getNumBatches() { return getMaps().front().getNumDims() - 4; }
    ::mlir::ValueRange getExtras() { return getInputs().drop_front(numFixed); }
    ::mlir::Value getQuery() { return getInputs()[0]; }
    ::mlir::Value getKey() { return getInputs()[1]; }
    ::mlir::Value getValue() { return getInputs()[2]; }
  }];
}

def Kernel_AttentionOp : Kernel_AttentionLikeOp<"attention"> {
  let summary = "softmax(query * key) * value, without its matrices in memory";
  let description = [{
    For all batches, queries m and keys n:

        s[m, n] = score(sum over d of query[m, d] * key[n, d])
        maximum[m] = the largest s[m, n] of all n
        sum[m] = the sum of exp(s[m, n] - maximum[m]) over n
        p[m, n] = exp(s[m, n] - maximum[m]) / sum[m]
        result[m, e] = finish(sum over n of weight(p[m, n]) * value[n, e])

    The inputs are `query`, `key`, `value`, and extra operands; the outputs are
    `result`, `maximum` and `sum`, of which the last two are f32. Each has a map
    of the dimensions (batches..., m, n, d, e), whose results are dimensions or
    0. Extra operands depend on batches, m and n.

    The region yields score (f32), weight (the type of `value`) and finish (that
    of `result`). Its arguments are s, p and the sum that `finish` gets (f32),
    one element of each extra operand, and the indices of batches, m and n.
    Each of the three depends on its own of the first arguments; `finish`
    depends on no others. Sums are f32.

    `weight` is linear in p, up to rounding: it may be applied before p is
    divided by the sum.

    ```mlir
    kernel.attention {indexing_maps = [...]}
        ins(%q, %k, %v, %mask : ...) outs(%o, %max, %sum : ...) {
    ^bb0(%s: f32, %p: f32, %x: f32, %mask: f32,
         %b: index, %m: index, %n: index):
      %0 = arith.mulf %s, %scale : f32
      %1 = arith.addf %0, %mask : f32
      %2 = arith.truncf %p : f32 to bf16
      %3 = arith.truncf %x : f32 to bf16
      kernel.yield %1, %2, %3 : f32, bf16, bf16
    }
    ```
  }];
  let extraClassDeclaration = commonDeclarations # [{
    /// The inputs before the extra operands.
    static constexpr unsigned numFixed = 3;
    /// The arguments of the region before elements of the extra operands, and
    /// what it yields.
    enum Argument : unsigned { Score, Probability, Sum, NumArguments };
    enum Function : unsigned { ScoreOf, Weight, Finish, NumFunctions };
  }];
}

def Kernel_AttentionGradientOp : Kernel_AttentionLikeOp<"attention_gradient"> {
  let summary = "the gradients of query, key and value";
  let description = [{
    With `score` and `weight` as in `kernel.attention`, and s and p computed
    again from its `maximum` and `sum`, for all batches, queries m and keys n:

        dp[m, n] = sum over e of gradient[m, e] * value[n, e]
        ds[m, n] = slope(dp[m, n], p[m, n], inner[m])
        dquery[m, d] = finish_query(sum over n of ds[m, n] * key[n, d])
        dkey[n, d] = finish_key(sum over m of ds[m, n] * query[m, d])
        dvalue[n, e] = finish_value(sum over m of weight(p[m, n]) *
                                    gradient[m, e])

    The inputs are `query`, `key`, `value`, `gradient`, `maximum`, `sum`,
    `inner`, and extra operands; the outputs are `dquery`, `dkey` and `dvalue`.
    `inner`, which is f32, has the sums of result times gradient over e.

    The region yields score, weight, slope, finish_query, finish_key and
    finish_value. Its arguments are s, p, dp, inner and the sum that is finished
    (f32), then those of `kernel.attention`.
  }];
  let extraClassDeclaration = commonDeclarations # [{
    /// The inputs before the extra operands.
    static constexpr unsigned numFixed = 7;
    /// The arguments of the region before elements of the extra operands, and
    /// what it yields.
    enum Argument : unsigned {
      Score, Probability, Gradient, Inner, Sum, NumArguments
    };
    enum Function : unsigned {
      ScoreOf, Weight, Slope, FinishQuery, FinishKey, FinishValue, NumFunctions
    };
  }];
}

#endif // MPOPT_DIALECT_KERNEL_ATTENTION_TD
