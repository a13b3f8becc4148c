//===- MP.td - The mp dialect ------------------------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_MP_MP_TD
#define MPOPT_DIALECT_MP_MP_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def MP_Dialect : Dialect {
  let name = "mp";
  let cppNamespace = "::mp";
  let summary = "decisions about a graph, and the ops of a training step";
  let description = [{
    The dialect adds two things to a graph of the onnx dialect.

    Attributes hold the decisions about precision: one pass writes them, and
    later passes obey them (Attributes.h has their accessors). The module has
    the policy (`#mp.policy`, written by `mp-set-policy`). Nodes have the
    results of the safety analyses (`#mp.hazard`, `#mp.composite`,
    `mp.shape_arithmetic`), the class (`#mp.class`, `mp-classify`) and the
    precision (`#mp.precision`, `mp-assign`); casts that passes insert have
    `mp.inserted`. `mp-verify-precision` removes all of them except
    `mp.summary`. The dialect verifies where each attribute may stand, and its
    content.

    Ops describe a training step: the start of the backward pass, the gradients
    of parameters at its end, and the value that replaces each state. Loss
    scaling is written in these ops. All of them become standard ONNX ops
    (`mp-expand-loss-scaling`) before a model is written, except
    `mp.all_reduce`, for which ONNX has no op.

    A step with dynamic loss scaling:

    ```mlir
    %seed = mp.loss_seed %loss : tensor<f32>
    %scaled_seed = mp.scale_loss %seed by %scale : tensor<f32>
    // ... the backward pass, from %scaled_seed to %d ...
    %unscaled = mp.unscale %d by %scale : tensor<8xf32>
    %finite = mp.all_finite %d, %unscaled : tensor<8xf32>, tensor<8xf32>
    %g = mp.gradient %unscaled of %w : tensor<8xf32>, tensor<8xf32>
    // ... the optimizer, from %g to %w_new ...
    %w_next = mp.update %w to %w_new if %finite : tensor<8xf32>
    ```

    All values here are fp32: the precision passes insert casts before operands
    that were computed in 16 bit.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

class MP_Op<string mnemonic, list<Trait> traits = []>
    : Op<MP_Dialect, mnemonic, traits>;

/// A scalar tensor of one type, which need not be written.
class MP_Scalar<string builderMethod, string description>
    : Type<CPred<"$_self == ::mlir::RankedTensorType::get({}, "
                 "::mlir::Builder($_self.getContext())." # builderMethod # "())">,
           description>,
      BuildableType<"::mlir::RankedTensorType::get({}, $_builder."
                    # builderMethod # "())">;

def MP_F32Tensor : TensorOf<[F32, F64]>;
def MP_Scale : MP_Scalar<"getF32Type", "tensor<f32>">;
def MP_Count : 0DTensorOf<[I32, I64]>;
def MP_Indices : TensorOf<[I64]>;
def MP_Flag : MP_Scalar<"getI1Type", "tensor<i1>">;

def MP_LossSeedOp : MP_Op<"loss_seed", [Pure, AllTypesMatch<["loss", "result"]>]> {
  let summary = "the gradient of a loss with respect to itself";
  let description = [{
    The value is one, in the loss's type. The backward pass starts here. The
    loss is a scalar, or a tensor of one element.
  }];
  let arguments = (ins AnyRankedTensor:$loss);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$loss attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MP_ScaleLossOp : MP_Op<"scale_loss", [Pure, AllTypesMatch<["seed", "result"]>]> {
  let summary = "multiplies the start of the backward pass by the loss scale";
  let description = [{
    Only the seed is scaled, in fp32; the loss that the user reads is not
    scaled.
  }];
  let arguments = (ins MP_F32Tensor:$seed, MP_Scale:$scale);
  let results = (outs MP_F32Tensor:$result);
  let assemblyFormat = "$seed `by` $scale attr-dict `:` type($seed)";
}

def MP_UnscaleOp : MP_Op<"unscale", [Pure, AllTypesMatch<["gradient", "result"]>]> {
  let summary = "divides a gradient by the loss scale, in fp32";
  let arguments = (ins MP_F32Tensor:$gradient, MP_Scale:$scale);
  let results = (outs MP_F32Tensor:$result);
  let assemblyFormat = "$gradient `by` $scale attr-dict `:` type($gradient)";
}

def MP_AllFiniteOp : MP_Op<"all_finite", [Pure]> {
  let summary = "true if no element of any operand is infinite or NaN";
  let description = [{
    All gradients are tested at once, before the first update. Operands that
    occur twice are tested once.
  }];
  let arguments = (ins Variadic<MP_F32Tensor>:$values);
  let results = (outs MP_Flag:$result);
  let assemblyFormat = [{
    ($values^)? attr-dict (`:` type($values)^)?
  }];
}

def MP_UpdateScaleOp : MP_Op<"update_scale", [Pure]> {
  let summary = "the loss scale and its counters after a step";
  let description = [{
    After a finite step, `clean` grows by one, and `tolerance` is `hysteresis`;
    when `clean` reaches `growth_interval`, the scale is multiplied by
    `growth_factor` and `clean` starts again. After a step that is not finite,
    `clean` is zero, `skipped` grows by one and `tolerance` falls by one, to no
    less than zero; if it is zero, the scale is multiplied by `backoff_factor`.
    The scale stays within `floor` and `cap`, which are positive and finite:
    growth stops at the cap, and backoff at the floor.
  }];
  let arguments = (ins MP_Scale:$scale, MP_Count:$clean, MP_Count:$tolerance,
                       MP_Count:$skipped, MP_Flag:$finite,
                       F64Attr:$growth_factor, F64Attr:$backoff_factor,
                       I64Attr:$growth_interval, I64Attr:$hysteresis,
                       F64Attr:$floor, F64Attr:$cap);
  let results = (outs MP_Scale:$new_scale, MP_Count:$new_clean,
                      MP_Count:$new_tolerance, MP_Count:$new_skipped);
  let assemblyFormat = [{
    $scale `,` $clean `,` $tolerance `,` $skipped `after` $finite attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def MP_GradientOp : MP_Op<"gradient", [Pure, AllTypesMatch<["gradient", "result"]>]> {
  let summary = "the end of the backward pass for one parameter's gradient";
  let description = [{
    The gradient is unscaled, in fp32. Data-parallel training reduces this value
    over all machines. The optimizer reads the result.
  }];
  let arguments = (ins MP_F32Tensor:$gradient, AnyType:$parameter);
  let results = (outs MP_F32Tensor:$result);
  let assemblyFormat = [{
    $gradient `of` $parameter attr-dict `:` type($gradient) `,` type($parameter)
  }];
}

def MP_UpdateOp : MP_Op<"update", [Pure, AllTypesMatch<["state", "value", "result"]>]> {
  let summary = "the value that a state has in the next step";
  let description = [{
    `state` is an input of the graph, the result one of its outputs. If
    `condition` is false, the state keeps its value, bit by bit. With `always`
    the state changes in skipped steps, too: it counts steps, or holds sums that
    are reset. A step is skipped either for all updates of one `group` or for
    none: a group is one optimizer.
  }];
  let arguments = (ins AnyType:$state, AnyType:$value,
                       Optional<MP_Flag>:$condition, UnitAttr:$always,
                       OptionalAttr<I64Attr>:$group);
  let results = (outs AnyType:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$state, "::mlir::Value":$value,
                   CArg<"::mlir::Value", "{}">:$condition,
                   CArg<"bool", "false">:$always), [{
      build($_builder, $_state, value.getType(), state, value, condition, always,
            ::mlir::IntegerAttr());
    }]>];
  let assemblyFormat = [{
    $state `to` $value (`if` $condition^)? (`always` $always^)? attr-dict `:`
    type($result)
  }];
}

/// Numbered as mp_operation of Runtime/Runtime.h.
def MP_Reduction : I32EnumAttr<"RankReduction",
    "how ranks' values are combined", [
  I32EnumAttrCase<"mean", 0>, I32EnumAttrCase<"sum", 1>,
  I32EnumAttrCase<"scatter", 2>, I32EnumAttrCase<"gather", 3>,
  I32EnumAttrCase<"gather_bf16", 4>
]> {
  let cppNamespace = "::mp";
  let genSpecializedAttr = 0;
}
def MP_ReductionAttr : EnumAttr<MP_Dialect, MP_Reduction, "reduction">;

def MP_AllReduceOp : MP_Op<"all_reduce", [AttrSizedOperandSegments]> {
  let summary = "combines the values of all ranks into one";
  let description = [{
    In data-parallel training, each rank runs the step on a batch of its own.
    The result is the mean of gradients and losses, summed up in the order of
    the ranks; for a flag, it says whether the flag is true on all ranks. The
    reductions of one `bucket` are sent together; the bucket has `members` of
    them. All ranks execute the same reductions in the same order. The result is
    the value itself if there is one rank, or if `condition`, which is the same
    on all ranks, is false. The result's type may state more sizes than the
    value's.

    If each rank owns a range of the elements (`mp.take_range`), `as scatter`
    gives the mean in that range, and undefined values elsewhere; `as gather`
    takes each element from its owner; `as gather_bf16` does the same, rounded
    to bf16 except for the rank's own elements. `as sum` gives the sum instead
    of the mean.

    If `rows` are given, all rows of a rank's value that these indices do not
    name are zero, as in the gradient of a table for lookups. If that takes
    fewer bytes, only the other rows are sent, with their indices. Negative
    indices count from the end.

    ```mlir
    %mean = mp.all_reduce %g bucket 0 of 3 : tensor<?xf32> to tensor<8xf32>
    %sum = mp.all_reduce %s if %applies bucket 1 of 1
        : tensor<8xf32> to tensor<8xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[MP_F32Tensor, MP_Flag]>:$value,
                       Optional<MP_Flag>:$condition,
                       Optional<MP_Indices>:$rows,
                       I64Attr:$bucket, I64Attr:$members,
                       DefaultValuedAttr<MP_ReductionAttr,
                                         "::mp::RankReduction::mean">:$reduction);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $value (`as` $reduction^)? (`if` $condition^)?
    (`rows` $rows^ `:` type($rows) `,`)? `bucket` $bucket `of` $members
    attr-dict `:` type($value) `to` type($result)
  }];
}

def MP_TakeRangeOp : MP_Op<"take_range", [Pure]> {
  let summary = "a range of elements, in row-major order";
  let description = [{
    If ranks share the update of a value of n elements, rank r of N owns the
    elements with indices from r n / N up to, but not including, (r + 1) n / N.

    `%1 = mp.take_range %0 from 16 : tensor<4x8xf32> to tensor<16xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, I64Attr:$first);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $value `from` $first attr-dict `:` type($value) `to` type($result)
  }];
  let hasVerifier = 1;
}

def MP_PutRangeOp
    : MP_Op<"put_range", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "a value with a range of elements replaced";
  let description = [{
    `%2 = mp.put_range %1 into %0 from 16 : tensor<16xf32> into tensor<4x8xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$range, AnyStaticShapeTensor:$value,
                       I64Attr:$first);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $range `into` $value `from` $first attr-dict `:` type($range) `into`
    type($value)
  }];
  let hasVerifier = 1;
}

#endif // MPOPT_DIALECT_MP_MP_TD
