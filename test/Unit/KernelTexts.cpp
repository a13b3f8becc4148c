//===- KernelTexts.cpp - Kernels for the emulator -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTexts.h"

#include "llvm/ADT/Twine.h"

#include <initializer_list>
#include <utility>

using llvm::StringRef;
using llvm::Twine;

namespace mp {

/// `$NAME$` are replaced.
static std::string
fill(StringRef text,
     std::initializer_list<std::pair<StringRef, std::string>> values) {
  std::string result = text.str();
  for (const auto &[name, value] : values) {
    std::string key = ("$" + name + "$").str();
    for (size_t at; (at = result.find(key)) != std::string::npos;)
      result.replace(at, key.size(), value);
  }
  return result;
}

static std::string makeConstants(std::initializer_list<int> values) {
  std::string text;
  for (int value : values)
    text += ("  %c" + Twine(value) + " = llvm.mlir.constant(" + Twine(value) +
             " : i32) : i32\n")
                .str();
  return text;
}

std::string makeMap() {
  return R"(
llvm.func @map(%x: !llvm.ptr, %y: !llvm.ptr, %n: i32) attributes {nvvm.kernel} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %size = nvvm.read.ptx.sreg.ntid.x : i32
  %first = llvm.mul %block, %size : i32
  %i = llvm.add %first, %tid : i32
  %inside = llvm.icmp "ult" %i, %n : i32
  llvm.cond_br %inside, ^compute, ^end
^compute:
  %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %to = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %a = llvm.load %from : !llvm.ptr -> f32
  %b = llvm.fmul %a, %a : f32
  llvm.store %b, %to : f32, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}
)";
}

std::string makeUpdate() {
  return R"(
llvm.func @update(%w: !llvm.ptr<1>, %m: !llvm.ptr<1>, %g: !llvm.ptr<1>, %low: !llvm.ptr<1>, %finite: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 2, 1>} {
  %x = nvvm.read.ptx.sreg.tid.x : i32
  %y = nvvm.read.ptx.sreg.tid.y : i32
  %block = nvvm.read.ptx.sreg.ctaid.y : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %row = llvm.mul %y, %c32 : i32
  %first = llvm.mul %block, %c64 : i32
  %inner = llvm.add %row, %x : i32
  %i = llvm.add %first, %inner : i32
  %word = llvm.load %finite : !llvm.ptr<1> -> i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %good = llvm.icmp "ne" %word, %zero : i32
  llvm.cond_br %good, ^compute, ^end
^compute:
  %pw = llvm.getelementptr %w[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %pm = llvm.getelementptr %m[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %pg = llvm.getelementptr %g[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %pl = llvm.getelementptr %low[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
  %w0 = llvm.load %pw : !llvm.ptr<1> -> f32
  %m0 = llvm.load %pm : !llvm.ptr<1> -> f32
  %g0 = llvm.load %pg : !llvm.ptr<1> -> f32
  %beta = llvm.mlir.constant(0.875 : f32) : f32
  %rate = llvm.mlir.constant(0.125 : f32) : f32
  %m1 = llvm.fmul %m0, %beta : f32
  %m2 = llvm.fadd %m1, %g0 : f32
  %step = llvm.fmul %m2, %rate : f32
  %w1 = llvm.fsub %w0, %step : f32
  %half = llvm.fptrunc %w1 : f32 to bf16
  llvm.store %m2, %pm : f32, !llvm.ptr<1>
  llvm.store %w1, %pw : f32, !llvm.ptr<1>
  llvm.store %half, %pl : bf16, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}
)";
}

/// Each lane's value of type f32 combined with those of all others.
static std::string combine(StringRef from, StringRef to, StringRef op,
                           StringRef mask = "%all") {
  std::string text, value = from.str();
  for (int by : {16, 8, 4, 2, 1}) {
    std::string next = by == 1 ? to.str() : (to + Twine(by)).str();
    text += fill(
        R"(  $N$s = nvvm.shfl.sync bfly $MASK$, $V$, %c$BY$, %c31 : f32 -> f32
  $N$ = $OP$
)",
        {{"OP", op == "add" ? "llvm.fadd $V$, $N$s : f32"
                            : "llvm.intr.maximum($V$, $N$s) : (f32, "
                              "f32) -> f32"},
         {"N", next},
         {"MASK", mask.str()},
         {"V", value},
         {"BY", std::to_string(by)}});
    value = next;
  }
  return text;
}

/// Four words of shared memory combined.
static std::string combineWarps(StringRef memory, StringRef to, StringRef op) {
  std::string text;
  for (int index = 0; index < 4; ++index)
    text += fill(
        R"(  %$T$p$I$ = llvm.getelementptr %$M$[%c$I$] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %$T$v$I$ = llvm.load %$T$p$I$ : !llvm.ptr<3> -> f32
)",
        {{"T", to.str()}, {"M", memory.str()}, {"I", std::to_string(index)}});
  std::string value = ("%" + to + "v0").str();
  for (int index = 1; index < 4; ++index) {
    std::string next =
        index == 3 ? ("%" + to).str() : ("%" + to + "s" + Twine(index)).str();
    std::string other = ("%" + to + "v" + Twine(index)).str();
    text += op == "add" ? "  " + next + " = llvm.fadd " + value + ", " + other +
                              " : f32\n"
                        : "  " + next + " = llvm.intr.maximum(" + value + ", " +
                              other + ") : (f32, f32) -> f32\n";
    value = next;
  }
  return text;
}

std::string makeSoftmax(StringRef name, StringRef fault) {
  // The parts of the text that a fault changes.
  std::string barrier = "  nvvm.barrier0\n", begin, mask = "%all";
  std::string place = "%warp";
  if (fault == "no barrier")
    barrier = "";
  if (fault == "divergent barrier")
    barrier = "  llvm.cond_br %leads, ^own, ^both\n^own:\n  nvvm.barrier0\n"
              "  llvm.br ^both\n^both:\n";
  if (fault == "two barriers")
    barrier = "  %zeroth = llvm.icmp \"eq\" %warp, %c0 : i32\n"
              "  llvm.cond_br %zeroth, ^one, ^two\n"
              "^one:\n  nvvm.barrier0\n  llvm.br ^both\n"
              "^two:\n  nvvm.barrier0\n  llvm.br ^both\n^both:\n";
  if (fault == "early end")
    begin = "  %five = llvm.icmp \"eq\" %tid, %c5 : i32\n"
            "  llvm.cond_br %five, ^early, ^begin\n^early:\n  llvm.return\n"
            "^begin:\n";
  if (fault == "masks") {
    begin = "  %upper = llvm.icmp \"ugt\" %lane, %c16 : i32\n"
            "  %mask = llvm.select %upper, %some, %all : i1, i32\n";
    mask = "%mask";
  }
  if (fault == "row too far")
    place = "%far";
  return fill(R"(
llvm.mlir.global internal @$NAME$_maxima() {addr_space = 3 : i32} : !llvm.array<4 x f32>
llvm.mlir.global internal @$NAME$_totals() {addr_space = 3 : i32} : !llvm.array<4 x f32>
llvm.func @$NAME$(%x: !llvm.ptr, %y: !llvm.ptr) attributes {nvvm.kernel} {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %some = llvm.mlir.constant(-2 : i32) : i32
$CONSTANTS$
  %maxima = llvm.mlir.addressof @$NAME$_maxima : !llvm.ptr<3>
  %totals = llvm.mlir.addressof @$NAME$_totals : !llvm.ptr<3>
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %warp = nvvm.read.ptx.sreg.warpid : i32
  %row = nvvm.read.ptx.sreg.ctaid.x : i32
  %far = llvm.add %warp, %c1 : i32
  %leads = llvm.icmp "eq" %lane, %c0 : i32
$BEGIN$
  %first = llvm.mul %row, %c128 : i32
  %i = llvm.add %first, %tid : i32
  %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %to = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %v = llvm.load %from : !llvm.ptr -> f32
$MAX$
  llvm.cond_br %leads, ^put, ^after
^put:
  %pm = llvm.getelementptr %maxima[$PLACE$] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  llvm.store %wmax, %pm : f32, !llvm.ptr<3>
  llvm.br ^after
^after:
$BARRIER$
$BLOCKMAX$
  %d = llvm.fsub %v, %max : f32
  %e = llvm.intr.exp2(%d) : (f32) -> f32
$SUM$
  llvm.cond_br %leads, ^putsum, ^aftersum
^putsum:
  %pt = llvm.getelementptr %totals[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  llvm.store %wsum, %pt : f32, !llvm.ptr<3>
  llvm.br ^aftersum
^aftersum:
  nvvm.barrier0
$BLOCKSUM$
  %q = llvm.fdiv %e, %sum : f32
  llvm.store %q, %to : f32, !llvm.ptr
  llvm.return
}
)",
              {{"CONSTANTS", makeConstants({0, 1, 2, 3, 4, 5, 8, 16, 31, 128})},
               {"BEGIN", begin},
               {"MAX", combine("%v", "%wmax", "max", mask)},
               {"BARRIER", barrier},
               {"BLOCKMAX", combineWarps("maxima", "max", "max")},
               {"SUM", combine("%e", "%wsum", "add")},
               {"BLOCKSUM", combineWarps("totals", "sum", "add")},
               {"PLACE", place},
               {"NAME", name.str()}});
}

/// A chunk of 16 bytes of step `k` into slot `slot`.
static std::string makeCopy(StringRef id, StringRef k, StringRef slot) {
  return fill(
      R"(  %$I$ks = llvm.mul $K$, %stepk : i32
  %$I$e = llvm.add %source, %$I$ks : i32
  %$I$from = llvm.getelementptr %base[%$I$e] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
  %$I$so = llvm.mul $SLOT$, %c2048 : i32
  %$I$o = llvm.add %target, %$I$so : i32
  %$I$to = llvm.getelementptr %shared[%$I$o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  nvvm.cp.async.shared.global %$I$to, %$I$from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
)",
      {{"I", id.str()}, {"K", k.str()}, {"SLOT", slot.str()}});
}

static std::string makeMatrices() {
  std::string text;
  for (StringRef which : {"a", "b"})
    text += fill(
        R"(  %l$W$o = llvm.add %$W$place, %slotbytes : i32
  %l$W$p = llvm.getelementptr %shared[%l$W$o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %l$W$ = nvvm.ldmatrix %l$W$p {num = 4 : i32, layout = #nvvm.mma_layout<$L$>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
)",
        {{"W", which.str()}, {"L", which == "a" ? "row" : "col"}});
  for (StringRef which : {"a", "b"})
    for (int index = 0; index < 4; ++index)
      text += fill("  %$W$$I$ = llvm.extractvalue %l$W$[$I$] : "
                   "!llvm.struct<(i32, i32, i32, i32)>\n",
                   {{"W", which.str()}, {"I", std::to_string(index)}});
  for (int tile = 0; tile < 2; ++tile) {
    text += fill(
        R"(  %d$T$ = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b$B0$, %b$B1$] C[%s$T$0, %s$T$1, %s$T$2, %s$T$3]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
      : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
)",
        {{"T", std::to_string(tile)},
         {"B0", std::to_string(2 * tile)},
         {"B1", std::to_string(2 * tile + 1)}});
    for (int index = 0; index < 4; ++index)
      text += fill("  %n$T$$I$ = llvm.extractvalue %d$T$[$I$] : "
                   "!llvm.struct<(f32, f32, f32, f32)>\n",
                   {{"T", std::to_string(tile)}, {"I", std::to_string(index)}});
  }
  return text;
}

/// The eight sums of a lane, called `name`, with their types.
static std::string listSums(StringRef name, bool asArguments) {
  std::string names, types;
  for (int tile = 0; tile < 2; ++tile)
    for (int index = 0; index < 4; ++index) {
      names += (", %" + name + Twine(tile) + Twine(index) +
                (asArguments ? ": f32" : ""))
                   .str();
      types += ", f32";
    }
  return asArguments ? names : names + " : i32, i32" + types;
}

static std::string makeStores() {
  std::string text;
  for (int tile = 0; tile < 2; ++tile)
    for (int index = 0; index < 4; ++index)
      text += fill(
          R"(  %r$T$$I$ = llvm.add %crow, %c$ROW$ : i32
  %rn$T$$I$ = llvm.mul %r$T$$I$, %n : i32
  %q$T$$I$ = llvm.add %ccolumn, %c$COLUMN$ : i32
  %e$T$$I$ = llvm.add %rn$T$$I$, %q$T$$I$ : i32
  %p$T$$I$ = llvm.getelementptr %c[%e$T$$I$] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  llvm.store %s$T$$I$, %p$T$$I$ : f32, !llvm.ptr
)",
          {{"T", std::to_string(tile)},
           {"I", std::to_string(index)},
           {"ROW", std::to_string(index / 2 * 8)},
           {"COLUMN", std::to_string(tile * 8 + index % 2)}});
  return text;
}

std::string makeProduct(StringRef name, int m, int n, int k, StringRef fault) {
  std::string zeros = ", %zero, %zero, %zero, %zero, %zero, %zero, %zero, "
                      "%zero : i32, i32, f32, f32, f32, f32, f32, f32, f32, "
                      "f32";
  return fill(
      R"(
llvm.func @$NAME$(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
$CONSTANTS$
  %n = llvm.mlir.constant($N$ : i32) : i32
  %kk = llvm.mlir.constant($K$ : i32) : i32
  %c2048 = llvm.mlir.constant(2048 : i32) : i32
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %shared = llvm.mlir.addressof @mp_shared : !llvm.ptr<3>
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %warp = nvvm.read.ptx.sreg.warpid : i32
  %bx = nvvm.read.ptx.sreg.ctaid.x : i32
  %by = nvvm.read.ptx.sreg.ctaid.y : i32
  %row0 = llvm.mul %by, %c32 : i32
  %column0 = llvm.mul %bx, %c32 : i32
  // Threads 0 to 63 copy a, the others b.
  %isb = llvm.icmp "uge" %tid, %c64 : i32
  %t = llvm.and %tid, %c63 : i32
  %arow = llvm.lshr %t, %c1 : i32
  %aq = llvm.and %t, %c1 : i32
  %aq8 = llvm.mul %aq, %c8 : i32
  %ai = llvm.add %row0, %arow : i32
  %aik = llvm.mul %ai, %kk : i32
  %asource = llvm.add %aik, %aq8 : i32
  %brow = llvm.lshr %t, %c2 : i32
  %bq = llvm.and %t, %c3 : i32
  %bq8 = llvm.mul %bq, %c8 : i32
  %bj = llvm.add %column0, %bq8 : i32
  %brn = llvm.mul %brow, %n : i32
  %bsource = llvm.add %brn, %bj : i32
  %t16 = llvm.mul %t, %c16 : i32
  %btarget = llvm.add %t16, %c1024 : i32
  %base = llvm.select %isb, %b, %a : i1, !llvm.ptr<1>
  %source = llvm.select %isb, %bsource, %asource : i1, i32
  %target = llvm.select %isb, %btarget, %t16 : i1, i32
  %stepk = llvm.select %isb, %n, %c1 : i1, i32
  // Rows that ldmatrix reads.
  %wm = llvm.lshr %warp, %c1 : i32
  %wn = llvm.and %warp, %c1 : i32
  %lrow = llvm.and %lane, %c15 : i32
  %lhalf = llvm.lshr %lane, %c4 : i32
  %lhalf16 = llvm.mul %lhalf, %c16 : i32
  %wm16 = llvm.mul %wm, %c16 : i32
  %am = llvm.add %wm16, %lrow : i32
  %am32 = llvm.mul %am, %c32 : i32
  %aplace = llvm.add %am32, %lhalf16 : i32
  %brow64 = llvm.mul %lrow, %c64 : i32
  %wn32 = llvm.mul %wn, %c32 : i32
  %bp0 = llvm.add %brow64, %wn32 : i32
  %bp1 = llvm.add %bp0, %lhalf16 : i32
  %bplace = llvm.add %bp1, %c$BOFFSET$ : i32
$FIRST$
  nvvm.cp.async.commit.group
  llvm.br ^loop(%c0, %c0$ZEROS$)
^loop(%k: i32, %slot: i32$SUMS$):
  %ends = llvm.icmp "uge" %k, %kk : i32
  llvm.cond_br %ends, ^end, ^body
^body:
  %next = llvm.add %k, %c16 : i32
  %other = llvm.xor %slot, %c1 : i32
  %more = llvm.icmp "ult" %next, %kk : i32
  llvm.cond_br %more, ^copy, ^wait
^copy:
$NEXT$
  llvm.br ^wait
^wait:
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group $GROUPS$
$BARRIER0$
  %slotbytes = llvm.mul %slot, %c2048 : i32
$MATRICES$
$BARRIER1$
  llvm.br ^loop(%next, %other$NEWSUMS$)
^end:
  %group = llvm.lshr %lane, %c2 : i32
  %pair0 = llvm.and %lane, %c3 : i32
  %pair = llvm.mul %pair0, %c2 : i32
  %cr0 = llvm.add %row0, %wm16 : i32
  %crow = llvm.add %cr0, %group : i32
  %wn16 = llvm.mul %wn, %c16 : i32
  %cc0 = llvm.add %column0, %wn16 : i32
  %ccolumn = llvm.add %cc0, %pair : i32
$STORES$
  llvm.return
}
)",
      {{"CONSTANTS", makeConstants({0, 1, 2, 3, 4, 8, 9, 15, 16, 32, 63, 64,
                                    1024, 1032, 1088})},
       {"FIRST", makeCopy("first", "%c0", "%c0")},
       {"NEXT", makeCopy("next", "%next", "%other")},
       {"ZEROS", zeros},
       {"SUMS", listSums("s", true)},
       {"NEWSUMS", listSums("n", false)},
       {"MATRICES", makeMatrices()},
       {"STORES", makeStores()},
       {"GROUPS", fault == "wait too few" ? "2" : "1"},
       {"BARRIER0", fault == "no barrier" ? "" : "  nvvm.barrier0"},
       {"BARRIER1", fault == "no second barrier" ? "" : "  nvvm.barrier0"},
       {"BOFFSET", fault == "misaligned"    ? "1032"
                   : fault == "row too far" ? "1088"
                                            : "1024"},
       {"NAME", name.str()},
       {"N", std::to_string(n)},
       {"K", std::to_string(k)}});
}

std::string makeWarp() {
  std::string text = R"(
llvm.func @warp(%x: !llvm.ptr, %y: !llvm.ptr) attributes {nvvm.kernel} {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %from = llvm.getelementptr %x[%lane] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  %v = llvm.load %from : !llvm.ptr -> i32
  %segments = llvm.mlir.constant(0x181f : i32) : i32
  %upclamp = llvm.mlir.constant(0x1800 : i32) : i32
)";
  text += makeConstants({0, 1, 2, 3, 5, 16, 31});
  text += R"(  %odd0 = llvm.and %v, %c1 : i32
  %odd = llvm.icmp "ne" %odd0, %c0 : i32
  %lower = llvm.icmp "ult" %lane, %c16 : i32
  %lowmask = llvm.mlir.constant(0xffff : i32) : i32
  %upmask = llvm.mlir.constant(-65536 : i32) : i32
  %half = llvm.select %lower, %lowmask, %upmask : i1, i32
  %r0 = nvvm.shfl.sync bfly %all, %v, %c5, %c31 : i32 -> i32
  %s1 = nvvm.shfl.sync up %all, %v, %c3, %upclamp {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  %r1 = llvm.extractvalue %s1[0] : !llvm.struct<(i32, i1)>
  %p1 = llvm.extractvalue %s1[1] : !llvm.struct<(i32, i1)>
  %r2 = llvm.zext %p1 : i1 to i32
  %r3 = nvvm.shfl.sync down %all, %v, %c2, %c31 : i32 -> i32
  %r4 = nvvm.shfl.sync idx %all, %v, %c5, %segments : i32 -> i32
  %v5 = nvvm.vote.sync any %half, %odd -> i1
  %r5 = llvm.zext %v5 : i1 to i32
  %v6 = nvvm.vote.sync all %half, %odd -> i1
  %r6 = llvm.zext %v6 : i1 to i32
  %r7 = nvvm.vote.sync ballot %all, %odd -> i32
  %r8 = nvvm.redux.sync add %v, %half : i32 -> i32
  %r9 = nvvm.redux.sync umax %v, %all : i32 -> i32
  %r10 = nvvm.redux.sync min %v, %all : i32 -> i32
  %r11 = nvvm.redux.sync xor %v, %all : i32 -> i32
  %r12 = nvvm.match.sync any %all, %odd0 : i32 -> i32
  %s13 = nvvm.match.sync all %all, %c5 : i32 -> !llvm.struct<(i32, i1)>
  %r13 = llvm.extractvalue %s13[0] : !llvm.struct<(i32, i1)>
  %s14 = nvvm.match.sync all %all, %odd0 : i32 -> !llvm.struct<(i32, i1)>
  %p14 = llvm.extractvalue %s14[1] : !llvm.struct<(i32, i1)>
  %r14 = llvm.zext %p14 : i1 to i32
  %v15 = nvvm.elect.sync %half -> i1
  %r15 = llvm.zext %v15 : i1 to i32
)";
  for (int index = 0; index < 16; ++index)
    text += fill(
        R"(  %o$I$ = llvm.mlir.constant($O$ : i32) : i32
  %i$I$ = llvm.add %lane, %o$I$ : i32
  %p$I$to = llvm.getelementptr %y[%i$I$] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  llvm.store %r$I$, %p$I$to : i32, !llvm.ptr
)",
        {{"I", std::to_string(index)}, {"O", std::to_string(32 * index)}});
  return text + "  llvm.return\n}\n";
}

std::string makeSingleProduct(StringRef type) {
  std::string text = fill(R"(
llvm.func @single_$TYPE$(%x: !llvm.ptr, %y: !llvm.ptr) attributes {nvvm.kernel} {
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %c10 = llvm.mlir.constant(10 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %i = llvm.mul %lane, %c10 : i32
  %o = llvm.mul %lane, %c4 : i32
  %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  %to = llvm.getelementptr %y[%o] : (!llvm.ptr, i32) -> !llvm.ptr, i32
)",
                          {{"TYPE", type.str()}});
  std::string word = type == "f16" ? "vector<2xf16>" : "i32";
  for (int index = 0; index < 10; ++index)
    text +=
        fill("  %p$I$ = llvm.getelementptr %from[$I$] : (!llvm.ptr) -> "
             "!llvm.ptr, i32\n  %w$I$ = llvm.load %p$I$ : !llvm.ptr -> "
             "$T$\n",
             {{"I", std::to_string(index)}, {"T", index < 6 ? word : "f32"}});
  text += fill(
      R"(  %d = nvvm.mma.sync A[%w0, %w1, %w2, %w3] B[%w4, %w5] C[%w6, %w7, %w8, %w9]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<$TYPE$>, multiplicandBPtxType = #nvvm.mma_type<$TYPE$>, shape = #nvvm.shape<m = 16, n = 8, k = $K$>}
      : ($T$, $T$, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.store %d, %to : !llvm.struct<(f32, f32, f32, f32)>, !llvm.ptr
  llvm.return
}
)",
      {{"TYPE", type.str()}, {"K", type == "f16" ? "16" : "8"}, {"T", word}});
  return text;
}

std::string makeConversions() {
  return R"(
llvm.func @conversions(%x: !llvm.ptr, %y: !llvm.ptr) attributes {nvvm.kernel} {
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %o = llvm.mul %lane, %c4 : i32
  %from = llvm.getelementptr %x[%lane] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %v = llvm.load %from : !llvm.ptr -> f32
  %r0 = nvvm.convert.float.to.tf32 %v {rnd = #nvvm.fp_rnd_mode<rna>}
  %r1 = nvvm.convert.float.to.tf32 %v {rnd = #nvvm.fp_rnd_mode<rn>}
  %r2 = nvvm.convert.float.to.tf32 %v {rnd = #nvvm.fp_rnd_mode<rz>}
  %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f"(%v) : (f32) -> f32
  %r3 = llvm.bitcast %e : f32 to i32
  %p0 = llvm.getelementptr %y[%o] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  %p1 = llvm.getelementptr %p0[1] : (!llvm.ptr) -> !llvm.ptr, i32
  %p2 = llvm.getelementptr %p0[2] : (!llvm.ptr) -> !llvm.ptr, i32
  %p3 = llvm.getelementptr %p0[3] : (!llvm.ptr) -> !llvm.ptr, i32
  llvm.store %r0, %p0 : i32, !llvm.ptr
  llvm.store %r1, %p1 : i32, !llvm.ptr
  llvm.store %r2, %p2 : i32, !llvm.ptr
  llvm.store %r3, %p3 : i32, !llvm.ptr
  llvm.return
}
)";
}

std::string makeExchange(StringRef name, int by, StringRef between) {
  return fill(R"(
llvm.mlir.global internal @$NAME$_words() {addr_space = 3 : i32} : !llvm.array<64 x i32>
llvm.func @$NAME$(%y: !llvm.ptr) attributes {nvvm.kernel} {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %by = llvm.mlir.constant($BY$ : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %words = llvm.mlir.addressof @$NAME$_words : !llvm.ptr<3>
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %mine = llvm.getelementptr %words[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %index = llvm.xor %tid, %by : i32
  %other = llvm.getelementptr %words[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %tid, %mine : i32, !llvm.ptr<3>
  $BETWEEN$
  %v = llvm.load %other : !llvm.ptr<3> -> i32
  %to = llvm.getelementptr %y[%tid] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  llvm.store %v, %to : i32, !llvm.ptr
  llvm.return
}
)",
              {{"NAME", name.str()},
               {"BY", std::to_string(by)},
               {"BETWEEN", between.str()}});
}

std::string makeBarriers(int count) {
  std::string text =
      ("llvm.func @barriers" + Twine(count) + "() attributes {nvvm.kernel} {\n")
          .str();
  for (int index = 0; index < count; ++index)
    text += "  nvvm.barrier0\n";
  return text + "  llvm.return\n}\n";
}

} // namespace mp
