//===- KernelAttributes.td - Attributes of contractions ----*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_KERNEL_KERNELATTRIBUTES_TD
#define MPOPT_DIALECT_KERNEL_KERNELATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::mp::kernel";
  let summary = "contractions and convolutions for generated kernels";
  let description = [{
    The ops describe a computation, with all that is fused into it.
    `kernel-select-strategy` decides how it is computed (blocks, packing,
    registers), and writes this on each contraction for the stage that makes
    code.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

class Kernel_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mp::kernel";
  let genSpecializedAttr = 0;
}

def Kernel_Order : Kernel_Enum<"Order", "when an element is the better one", [
    I32EnumAttrCase<"GT", 0, "gt">,
    I32EnumAttrCase<"GE", 1, "ge">,
    I32EnumAttrCase<"LT", 2, "lt">,
    I32EnumAttrCase<"LE", 3, "le">,
  ]>;
def Kernel_OrderAttr : EnumAttr<Kernel_Dialect, Kernel_Order, "order">;

def Kernel_Strategy : Kernel_Enum<"Strategy", "how a contraction is computed", [
    I32EnumAttrCase<"Blocked", 0, "blocked">,
    I32EnumAttrCase<"Winograd", 1, "winograd">,
    I32EnumAttrCase<"WinogradWeights", 2, "winograd_weights">,
    I32EnumAttrCase<"Depthwise", 3, "depthwise">,
  ]>;

def Kernel_Packing : Kernel_Enum<"Packing", "how an operand is read by tiles", [
    I32EnumAttrCase<"InPlace", 0, "in_place">,
    I32EnumAttrCase<"MNMajor", 1, "mn_major">,
    I32EnumAttrCase<"KMajor", 2, "k_major">,
  ]>;

def Kernel_Cached : Kernel_Enum<"Cached",
    "the packed operand that is kept between calls", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"LHS", 1, "lhs">,
    I32EnumAttrCase<"RHS", 2, "rhs">,
  ]>;

def Kernel_Store : Kernel_Enum<"Store",
    "source from which results are stored", [
    I32EnumAttrCase<"Memory", 0, "memory">,
    I32EnumAttrCase<"Registers", 1, "registers">,
  ]>;

def Kernel_ConfigAttr : AttrDef<Kernel_Dialect, "Config"> {
  let mnemonic = "config";
  let summary = "the strategy of a contraction on a processor";
  let description = [{
    The contraction is a product of matrices, C (M x N) += A (M x K) * B (K x
    N), for each batch. Its right-hand side (`rhs`), which is read by vectors,
    is the operand with the last axis of the result; `lhs` is the other operand.
    The parameters have the names that BLIS uses:

    * `strategy`: `blocked` products of packed micro-panels; `winograd`, a
      convolution of 3 x 3 filters by F(f x f, 3 x 3), or `winograd_weights`, the
      gradient of such filters by F(3 x 3, f x f), whose places are such products;
      `depthwise`, a convolution of single channels, or the gradient of its
      image, one filter position after the other.
    * `products`: how 16-bit factors are multiplied (`#mp.target`).
    * `mr`, `nr`: rows and columns of the register tile; `lanes`: elements of its
      vectors.
    * `lhs`, `rhs`: whether an operand is read directly (`in_place`) or
      packed, from memory that is contiguous along K (`k_major`) or is not
      (`mn_major`).
    * `mc`, `nc`: the maximum rows and columns of a block of the result; `kc`:
      elements of K in a step; `deep_mc`, `deep_nc`, `deep_kc`: the same for AMX
      products whose K turns out to be larger than `kc`, and that have `deep_mc`
      rows.
    * `cached`: the operand that the first call packs for all later calls.
    * `store`: results are stored from `registers` if sums take one step and
      stores are cheap, else from the thread's `memory`.
    * `tail`: the number of columns left over by whole panels, if it is known to
      be small: their sums use vectors along K.
    * `rhs_ahead`: all of `rhs` is packed before the tasks start, and the tasks
      are for rows. This is for few columns.

    ```mlir
    #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48,
                   lanes = 16, lhs = k_major, rhs = mn_major, mc = 1024,
                   nc = 512, kc = 512, cached = rhs>
    #kernel.config<strategy = winograd, products = widen, mr = 8, nr = 48,
                   lanes = 16, f = 2>
    ```
  }];
  let parameters = (ins
    EnumParameter<Kernel_Strategy>:$strategy,
    "::mp::Products":$products,
    "int64_t":$mr, "int64_t":$nr, "int64_t":$lanes,
    DefaultValuedParameter<"int64_t", "0">:$f,
    DefaultValuedParameter<"Packing", "Packing::MNMajor">:$lhs,
    DefaultValuedParameter<"Packing", "Packing::MNMajor">:$rhs,
    DefaultValuedParameter<"int64_t", "0">:$mc,
    DefaultValuedParameter<"int64_t", "0">:$nc,
    DefaultValuedParameter<"int64_t", "0">:$kc,
    DefaultValuedParameter<"int64_t", "0">:$deep_mc,
    DefaultValuedParameter<"int64_t", "0">:$deep_nc,
    DefaultValuedParameter<"int64_t", "0">:$deep_kc,
    DefaultValuedParameter<"Cached", "Cached::None">:$cached,
    DefaultValuedParameter<"Store", "Store::Memory">:$store,
    DefaultValuedParameter<"int64_t", "0">:$tail,
    DefaultValuedParameter<"bool", "false">:$rhs_ahead);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Kernel_Multiplier : Kernel_Enum<"Multiplier",
    "instructions that multiply on a GPU", [
    I32EnumAttrCase<"FMA", 0, "fma">,
    I32EnumAttrCase<"MMA", 1, "mma">,
    I32EnumAttrCase<"MFMA", 2, "mfma">,
    I32EnumAttrCase<"WMMA", 3, "wmma">,
  ]>;

def Kernel_TileAttr : AttrDef<Kernel_Dialect, "Tile"> {
  let mnemonic = "tile";
  let summary = "the strategy of a contraction on a GPU";
  let description = [{
    The contraction is a product of matrices, C (M x N) += A (M x K) * B (K x
    N), for each batch; N has the last axis of the result.

    * `by`: the instruction. The threads of a warp compute `mma` together
      (products of 16 x 8 x 16 by NVIDIA's tensor cores), or AMD's products of
      16 x 16 x 16: `mfma` with 64 lanes, `wmma` with 32. A single thread
      computes `fma`.
    * `m`, `n`: rows and columns of the result that a block of threads computes;
      `k`: elements of the summed dimension in a step.
    * `part_m`, `part_n`: rows and columns of a warp, or of a thread (`fma`).
    * `stages`: the number of steps whose operands are in shared memory at the
      same time.
    * `slices`: the number of warps that compute a part together (`mma`): each
      multiplies its share of `k`, and their sums are added at the end.

    `k` is a power of two; `m`, `n`, `part_m` and `part_n` are that or three
    times as many. There are two stages or more, and one or two slices.

    ```mlir
    #kernel.tile<by = mma, m = 128, n = 128, k = 32, part_m = 64, part_n = 64,
                 stages = 4>
    ```
  }];
  let parameters = (ins
    EnumParameter<Kernel_Multiplier>:$by,
    "int64_t":$m, "int64_t":$n, "int64_t":$k,
    "int64_t":$part_m, "int64_t":$part_n, "int64_t":$stages,
    DefaultValuedParameter<"int64_t", "1">:$slices);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumParts() const {
      return (getM() / getPartM()) * (getN() / getPartN());
    }
    /// The threads of a block.
    int64_t getNumThreads() const {
      return getNumParts() * getSlices() * getLanes(getBy());
    }
    /// Threads that multiply together.
    static int64_t getLanes(Multiplier by) {
      if (by == Multiplier::FMA)
        return 1;
      return by == Multiplier::MFMA ? 64 : 32;
    }
  }];
}

#endif // MPOPT_DIALECT_KERNEL_KERNELATTRIBUTES_TD
