//===- Kernel.td - The kernel dialect ----------------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_KERNEL_KERNEL_TD
#define MPOPT_DIALECT_KERNEL_KERNEL_TD

include "mp-opt/Dialect/Kernel/KernelAttributes.td"
include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kernel_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_Data : AnyTypeOf<[AnyRankedTensor, AnyMemRef], "tensor or memref">;

def Kernel_ContractOp : Kernel_Op<"contract", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    SingleBlock,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<BufferizableOpInterface,
      ["bufferizesToMemoryRead", "bufferizesToMemoryWrite",
       "bufferizesToElementwiseAccess", "getAliasingValues", "bufferize"]>]> {
  let summary = "a sum of products over an affine iteration space";
  let description = [{
    For all points of the iteration space, elements of `a` and `b` are
    multiplied; products that belong to one element of `c` are summed up, in f32
    (f64 where `a` and `b` are f64), whatever the element types are. Then the
    region computes the element of `c` from the sum and elements of the extra
    operands. Elements of `c` that its map reaches are overwritten; the others
    are kept.

    With `round_a`, the elements of `a`, which are f32, are rounded to this
    16-bit type first, to nearest, ties to even, as `arith.truncf` does; with
    `round_b`, those of `b`. A weight that is kept in f32 is thus multiplied as
    if it had been rounded before, without a rounded copy in memory:

    ```mlir
    kernel.contract {indexing_maps = [#a, #b, #c], round_b = bf16}
        ins(%x, %w : memref<?x64xbf16>, memref<64x32xf32>)
    ```

    `indexing_maps` has one map for each of `a`, `b`, the extra operands, `c`.
    Results are linear: sums of dimensions times constants, and a constant.
    Reads of `a` and `b` out of bounds give zero: padding. A dimension occurs
    at most once in the map of `c`; the sums run over the dimensions that do not
    occur there. Extra operands are read only at dimensions of `c`, within
    bounds. An extra operand with the map of `c` may be the same memory as `c`,
    since each of its elements is read when the same element of `c` is written,
    which happens once.

    The size of a dimension is the size of an operand's dimension whose map
    result is this dimension alone. Dimensions without such an operand have
    their sizes in `sizes`, in order.

    `kernel-select-strategy` sets `config`, which says how processors compute the
    contraction; `kernel-select-gpu-strategy` sets `tile`, which says how a GPU
    does.

    A dense layer with bias, activation and a cast, all in one loop nest:

    ```mlir
    kernel.contract {indexing_maps = [
        affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (m, n)>]}
        ins(%x, %w : memref<?x64xbf16>, memref<64x32xf32>)
        extra(%bias : memref<32xf32>) outs(%y : memref<?x32xbf16>) {
    ^bb0(%sum: f32, %b: f32):
      %0 = arith.addf %sum, %b : f32
      %1 = arith.maximumf %0, %zero : f32
      %2 = arith.truncf %1 : f32 to bf16
      kernel.yield %2 : bf16
    }
    ```

    A convolution with stride 2 and padding 1:
    `(n, f, i, j, c, k, l) -> (n, c, 2 * i + k - 1, 2 * j + l - 1)`,
    `-> (f, c, k, l)`, `-> (n, f, i, j)`.
  }];
  let arguments = (ins Kernel_Data:$a, Kernel_Data:$b,
                       Variadic<Kernel_Data>:$extras, Variadic<Index>:$sizes,
                       Kernel_Data:$c, AffineMapArrayAttr:$indexing_maps,
                       OptionalAttr<TypeAttr>:$round_a,
                       OptionalAttr<TypeAttr>:$round_b,
                       OptionalAttr<Kernel_ConfigAttr>:$config,
                       OptionalAttr<Kernel_TileAttr>:$tile);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let regions = (region SizedRegion<1>:$epilogue);
  let skipDefaultBuilders = 1;
  let assemblyFormat = [{
    attr-dict `ins` `(` $a `,` $b `:` type($a) `,` type($b) `)`
    (`extra` `(` $extras^ `:` type($extras) `)`)? (`sizes` `(` $sizes^ `)`)?
    `outs` `(` $c `:` type($c) `)` $epilogue (`->` type($result)^)?
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b,
                   "::mlir::ValueRange":$extras, "::mlir::ValueRange":$sizes,
                   "::mlir::Value":$c,
                   "::llvm::ArrayRef<::mlir::AffineMap>":$maps)>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getCMutable(); }
    ::llvm::SmallVector<::mlir::AffineMap> getMaps();
    /// f64 if `a` is f64, else f32.
    ::mlir::FloatType getAccumulatorType();
    /// The type to which elements of `a` (0) or `b` (1) are rounded, or null.
    ::mlir::Type getRounding(unsigned operand);
    /// The type in which elements of `a` (0) or `b` (1) are multiplied: the
    /// type that they are rounded to, or the operand's.
    ::mlir::Type getFactorType(unsigned operand);
    /// Rounds operands as `other` does, which has the same operands.
    void copyRounding(ContractOp other);
    /// Returns `a`, `b`, the extra operands and `c`, in the order of the maps.
    ::llvm::SmallVector<::mlir::Value> getMappedOperands();
    /// For each dimension: the operand (numbered like the maps) and the
    /// operand's dimension that has its size, or {-1, i} for `sizes`' i-th.
    ::llvm::SmallVector<std::pair<int, int>> getSizeSources();
    unsigned getNumLoops() { return getMaps().front().getNumDims(); }
  }];
}

include "mp-opt/Dialect/Kernel/Attention.td"

def Kernel_YieldOp : Kernel_Op<"yield", [
    Pure, ReturnLike, Terminator,
    ParentOneOf<["ContractOp", "AttentionOp", "AttentionGradientOp"]>]> {
  let summary = "the elements that a region computes";
  let description = [{
    The region of a contraction yields one element, which is stored; that of
    attention yields one for each of the functions that it stands for.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let extraClassDeclaration = [{
    /// The element that a contraction stores.
    ::mlir::Value getValue() { return getValues().front(); }
  }];
}

def Kernel_Element : AnyTypeOf<[AnyFloat, AnySignlessInteger]>;

def Kernel_ArgSelectOp : Kernel_Op<"arg_select", [
    Pure, AllTypesMatch<["element", "best", "selected"]>,
    AllTypesMatch<["number", "best_number", "selected_number"]>]> {
  let summary = "the better of two elements, and its number";
  let description = [{
    A step of ArgMax or ArgMin, in the body of a reduction with two results:
    `element` and its `number` if the element is better than `best`, which comes
    before it; else `best` and its number. Greater elements are better with `gt`
    and `ge`, lesser ones with `lt` and `le`; `ge` and `le` select the last of
    equal elements, the others the first. A NaN is better than all numbers.
    Integers are signed unless `unsigned` is given.

    Fusion sees scalar arithmetic; code for GPUs sees that the points of the
    reduction can be divided among threads.

    ```mlir
    %1:2 = kernel.arg_select gt %x, %i over %best, %place : f32, i64
    ```
  }];
  let arguments = (ins Kernel_Element:$element, AnySignlessInteger:$number,
                       Kernel_Element:$best, AnySignlessInteger:$best_number,
                       Kernel_OrderAttr:$order, UnitAttr:$is_unsigned);
  let results = (outs Kernel_Element:$selected,
                      AnySignlessInteger:$selected_number);
  let assemblyFormat = [{
    $order (`unsigned` $is_unsigned^)? $element `,` $number `over` $best `,`
    $best_number attr-dict `:` type($element) `,` type($number)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if the last of equal elements is selected.
    bool takesLast() {
      return getOrder() == Order::GE || getOrder() == Order::LE;
    }
    /// Emits the test if `x`, which comes after `y`, is better.
    ::mlir::Value isBetter(::mlir::OpBuilder &b, ::mlir::Value x,
                           ::mlir::Value y);
  }];
}

#endif // MPOPT_DIALECT_KERNEL_KERNEL_TD
