//===- DevicePlan.cpp - Plans, whole and damaged --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests of the text of a module's plan, of packing it, and of damaged bytes,
// which must be errors.
//
//===----------------------------------------------------------------------===//

#include "Expect.h"

#include "mp-opt/Execution/DevicePlan.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"
#include "mp-opt/Runtime/PlanView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <functional>

using namespace mlir;

/// `main`, for which the module has inputs x and w, outputs y and w_new, which
/// is w's next value, and a constant: each of 64 floats.
static std::string makeModule(StringRef body) {
  return (R"(module attributes {
  mp.inputs = [{mp.name = "x", mp.element = f32, type = tensor<64xf32>},
               {mp.name = "w", mp.element = f32, type = tensor<64xf32>}],
  mp.outputs = [{mp.name = "y", mp.element = f32, type = tensor<64xf32>},
                {mp.name = "w_new", mp.element = f32, mp.state = 1 : i64,
                 type = tensor<64xf32>}],
  mp.constants = [{mp.element = f32, type = tensor<64xf32>}],
  device.errors = ["node 'a' (Gather-13): index %0, size %1"]} {
  gpu.module @kernels {
    gpu.func @add(%a: memref<64xf32>, %b: memref<64xf32>) kernel {
      gpu.return
    }
    gpu.func @seed(%a: memref<64xf32>, %c: memref<8xi64>) kernel {
      gpu.return
    }
  }
  func.func @main(%in: !llvm.ptr, %out: !llvm.ptr) -> i32 {
    %c0 = arith.constant 0 : index
    %c100 = arith.constant 100 : index
    %c256 = arith.constant 256 : index
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0 : i64
    %x = runtime.input %in[0] : memref<64xf32>
    %w = runtime.input %in[1] : memref<64xf32>
)" + body +
          R"(
    %ok = arith.constant 0 : i32
    return %ok : i32
  }
})")
      .str();
}

static const char *const goodBody = R"mlir(
    runtime.check_inputs %in ["x", "w"] [memref<64xf32>, memref<64xf32>]
    %k = runtime.constant @mp_constant_0 : memref<64xf32>
    %y = runtime.output %out[0] () : memref<64xf32>
    %arena = memref.alloc() : memref<512xi8>
    %a = memref.view %arena[%c0][] : memref<512xi8> to memref<64xf32>
    %b = memref.view %arena[%c256][] : memref<512xi8> to memref<8x8xf32>
    %flat = memref.collapse_shape %b [[0, 1]] : memref<8x8xf32> into memref<64xf32>
    %half = memref.subview %a[32] [32] [1] : memref<64xf32> to memref<32xf32, strided<[1], offset: 32>>
    %other = memref.subview %y[0] [32] [1] : memref<64xf32> to memref<32xf32, strided<[1]>>
    %wide = memref.view %arena[%c0][] : memref<512xi8> to memref<64xi64>
    %control = device.control : memref<8xi64>
    linalg.fill ins(%one : f32) outs(%a : memref<64xf32>)
    linalg.fill ins(%zero : i64) outs(%wide : memref<64xi64>)
    device.launch @kernels::@add grid [4, 1, 1] block [32, 2, 1] (%x, %flat) : memref<64xf32>, memref<64xf32> loc("node 'n' (Add-13)")
    device.launch @kernels::@add grid [1, 1, 1] block [128, 1, 1] shared 1024 (%k, %w) : memref<64xf32>, memref<64xf32>
    device.launch @kernels::@seed grid [1, 1, 1] block [1, 1, 1] (%y, %control) {work = [#device.work<kind = map, read = 256, operations = 64>, #device.work<kind = product, written = 256, tensor = 1, fma = 2, doubles = 3>]} : memref<64xf32>, memref<8xi64>
    memref.copy %half, %other : memref<32xf32, strided<[1], offset: 32>> to memref<32xf32, strided<[1]>>
    %truth = memref.view %arena[%c0][] : memref<512xi8> to memref<1xi1>
    %yes = memref.load %truth[%c0] : memref<1xi1>
    runtime.collective_start %flat, %half if %yes bucket 3 {kind = 2 : i32} : memref<64xf32>, memref<32xf32, strided<[1], offset: 32>>
    runtime.collective_start %w bucket 4 : memref<64xf32>
    runtime.collective_wait %w bucket 4 : memref<64xf32>
    runtime.collective_wait %flat, %half if %yes bucket 3 : memref<64xf32>, memref<32xf32, strided<[1], offset: 32>>
    memref.dealloc %arena : memref<512xi8>
)mlir";

static const char *const goodText =
    R"(input 0 'x': 256 bytes
input 1 'w': 256 bytes
output 0 'y': 256 bytes
output 1 'w_new': 256 bytes, written over input 1
constant 0: 256 bytes
error 0: node 'a' (Gather-13): index %0, size %1
image 0: emulated
kernel add in image 0: 2 parameters, 128 threads, 1024 bytes of shared memory
kernel seed in image 0: 2 parameters, 1 threads
kernel mp_copy_f32_f32 in image 0: 1 parameters, 256 threads
kernel mp_copy_f32_bf16 in image 0: 1 parameters, 256 threads
kernel mp_copy_bf16_f32 in image 0: 1 parameters, 256 threads
kernel mp_copy_f64_f64 in image 0: 1 parameters, 256 threads
kernel mp_copy_i8_i8 in image 0: 1 parameters, 256 threads
kernel mp_add_f32_f32 in image 0: 1 parameters, 256 threads
kernel mp_add_bf16_bf16 in image 0: 1 parameters, 256 threads
kernel mp_add_bf16_f32 in image 0: 1 parameters, 256 threads
kernel mp_add_f64_f64 in image 0: 1 parameters, 256 threads
kernel mp_add_i8_i8 in image 0: 1 parameters, 256 threads
fill 0x3f800000:4 (arena[0, 256 bytes])
fill 0x0:4 (arena[0, 512 bytes])
launch add grid 4x1x1 block 32x2x1 (input 0[0, 256 bytes], arena[256, 256 bytes]) of node 'n' (Add-13)
launch add grid 1x1x1 block 128x1x1 shared 1024 (constant 0[0, 256 bytes], input 1[0, 256 bytes])
launch seed grid 1x1x1 block 1x1x1 (output 0[0, 256 bytes], control[0, 64 bytes]); map: reads 256 bytes, writes 0, 64 operations; product: reads 0 bytes, writes 256, 1 multiply-adds by tensor cores, 2 multiply-adds, 3 operations on f64
copy (arena[128, 128 bytes], output 0[0, 128 bytes])
start reduction 0, bucket 3: scatter of arena[256, 256 bytes], arena[128, 128 bytes] if arena[0, 1 bytes]
start reduction 1, bucket 4: mean of input 1[0, 256 bytes]
wait for reduction 1
wait for reduction 0
total: 3 launches of 12 kernels, 1 copies, 2 fills, 2 reductions, 512 bytes of arena
)";

static std::string print(const mp::DevicePlan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  plan.print(os);
  return text;
}

/// The plan of a module; `error` is the text of the diagnostic.
static FailureOr<mp::DevicePlan> make(MLIRContext &context, StringRef text,
                                      std::string &error) {
  ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return failure();
  return mp::makePlan(*module);
}

static void checkRefusals(MLIRContext &context) {
  struct {
    const char *body, *error;
  } cases[] = {
      {"%y = runtime.output %out[0] () : memref<63xf32>",
       "expected the size of number 0 of 2"},
      {"", "output 'y' has no memory"},
      {"%k = runtime.constant @other : memref<64xf32>",
       "found 'other', expected 'mp_constant_' and a number"},
      {"%k = runtime.constant @mp_constant_1 : memref<64xf32>",
       "expected the size of number 1 of 1"},
      {"%a = memref.alloc() : memref<64xf32>\n"
       "%b = memref.alloc() : memref<64xf32>",
       "expected one arena"},
      {"%a = memref.alloc(%c0) : memref<?xf32>", "unknown size"},
      {"%a = memref.alloc() : memref<512xi8>\n"
       "%v = memref.view %a[%c100][] : memref<512xi8> to memref<4xf32>",
       "found the place 100, expected a multiple of 256"},
      {"%a = memref.alloc() : memref<512xi8>\n"
       "%v = memref.view %a[%c256][] : memref<512xi8> to memref<65xf32>",
       "found 260 bytes at 256, expected them within 512"},
      {"%s = memref.subview %x[0] [32] [2] : memref<64xf32> to memref<32xf32, "
       "strided<[2]>>\n"
       "%t = memref.subview %w[0] [32] [2] : memref<64xf32> to memref<32xf32, "
       "strided<[2]>>\n"
       "memref.copy %s, %t : memref<32xf32, strided<[2]>> to memref<32xf32, "
       "strided<[2]>>",
       "expected memory of `main` without gaps"},
      {"%v = memref.load %x[%c0] : memref<64xf32>",
       "no device does this: expected launches and copies"},
      {"%v = memref.alloca() : memref<64xf32>\n"
       "device.launch @kernels::@add grid [1, 1, 1] block [1, 1, 1] (%x, %v) : "
       "memref<64xf32>, memref<64xf32>",
       "no device does this"},
      {"runtime.collective_wait %x bucket 0 : memref<64xf32>",
       "expected a start of bucket 0 before it"},
      {"runtime.collective_start %x bucket 0 : memref<64xf32>\n"
       "runtime.collective_start %w bucket 0 : memref<64xf32>",
       "expected a wait for bucket 0 before its next start"},
      {"%b = memref.alloc() : memref<4xi32>\n"
       "runtime.collective_start %b bucket 0 : memref<4xi32>",
       "found 'memref<4xi32>', expected f32, f64 or i1"},
      {"%v = arith.constant true\n"
       "runtime.collective_start %x if %v bucket 0 : memref<64xf32>",
       "expected a condition that is loaded"},
      {"device.launch @kernels::@add grid [1, 65536, 1] block [1, 1, 1] (%x, "
       "%w) : memref<64xf32>, memref<64xf32>",
       "at most 65535 blocks"},
      {"%y = runtime.output %out[0] () : memref<64xf32>\n"
       "memref.copy %x, %x : memref<64xf32> to memref<64xf32>",
       "a copy is over itself"},
  };
  for (auto &[body, expected] : cases) {
    std::string error;
    auto plan = make(context, makeModule(body), error);
    expect(failed(plan) && StringRef(error).contains(expected),
           Twine(body) + ": found '" + error + "', expected '" + expected +
               "'");
  }
  std::string error;
  expect(failed(make(context, "module {}", error)), "no `main`");
  expect(StringRef(error).contains("expected a function `main`"), error);
  error.clear();
  expect(failed(make(context, R"(module attributes {
    mp.inputs = [{mp.name = "x", mp.element = f32, type = tensor<?xf32>}],
    mp.outputs = [], mp.constants = []} { func.func @main() { return } })",
                     error)),
         "an unknown size");
  expect(StringRef(error).contains("input 'x': found 'tensor<?xf32>', expected "
                                   "known sizes"),
         error);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

namespace {
/// Bytes in memory of just their size, which sanitizers guard.
struct Packed {
  explicit Packed(StringRef bytes)
      : room((bytes.size() + 7) / 8), size(bytes.size()) {
    std::memcpy(room.data(), bytes.data(), size);
  }
  const char *check() const { return mp_check_plan(room.data(), size); }
  mp::runtime::PlanView view() const {
    return {reinterpret_cast<const mp_plan *>(room.data())};
  }

  std::vector<uint64_t> room;
  size_t size;
};
} // namespace

static std::string printPlace(const mp_plan_place &place) {
  return (" " + Twine(place.space) + ":" + Twine(place.index) + ":" +
          Twine(place.offset) + ":" + Twine(place.bytes))
      .str();
}

/// All that the run time reads of a valid plan; spaces stand before numbers.
static std::string read(const mp::runtime::PlanView &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const mp_plan &head = *plan.head;
  auto list = [&](const mp_plan_buffer *buffers, uint64_t count) {
    for (const mp_plan_buffer &one : ArrayRef(buffers, count))
      os << plan.getText(one.name) << " " << one.bytes << " " << one.state
         << "\n";
  };
  os << head.arena_bytes << "\n";
  list(plan.getInputs(), head.inputs.count);
  list(plan.getOutputs(), head.outputs.count);
  list(plan.getConstants(), head.constants.count);
  for (const mp_plan_image &one : ArrayRef(plan.getImages(), head.images.count))
    os << one.kind << " " << one.architecture << " " << one.is_specific << " "
       << one.ptx_version << " " << one.instead_of
       << StringRef(plan.getContent(one), one.bytes) << "\n";
  for (const mp_plan_kernel &one :
       ArrayRef(plan.getKernels(), head.kernels.count))
    os << plan.getText(one.name) << " " << one.image << " " << one.threads
       << " " << one.shared << " " << one.parameters << "\n";
  for (const mp_plan_record &one :
       ArrayRef(plan.getRecords(), head.records.count)) {
    os << one.kind << " " << one.kernel << " " << one.shared << " " << one.value
       << " " << one.value_bytes << " " << one.when_set;
    for (int axis = 0; axis < 3; ++axis)
      os << " " << one.grid[axis] << "x" << one.block[axis];
    for (uint32_t index = 0; index < one.num_places; ++index)
      os << printPlace(plan.getPlaces()[one.first_place + index]);
    StringRef node = plan.getText(one.node);
    os << (node.empty() ? "" : " ") << node << "\n";
  }
  for (const mp_plan_reduction &one :
       ArrayRef(plan.getReductions(), head.reductions.count)) {
    os << one.bucket << " " << one.operation << " " << one.type;
    for (uint32_t index = 0; index < one.num_members; ++index)
      os << printPlace(plan.getMembers(one)[index]);
    if (one.condition != -1)
      os << " if" << printPlace(plan.getPlaces()[one.condition]);
    os << "\n";
  }
  for (uint64_t index = 0; index < head.errors.count; ++index)
    os << plan.getText(plan.getErrors()[index]) << "\n";
  return text;
}

static const char *const goodContent = R"(512
x 256 -1
w 256 -1
y 256 -1
w_new 256 1
 256 -1
2 0 0 0 -1
add 0 128 1024 2
seed 0 1 0 2
mp_copy_f32_f32 0 256 0 1
mp_copy_f32_bf16 0 256 0 1
mp_copy_bf16_f32 0 256 0 1
mp_copy_f64_f64 0 256 0 1
mp_copy_i8_i8 0 256 0 1
mp_add_f32_f32 0 256 0 1
mp_add_bf16_bf16 0 256 0 1
mp_add_bf16_f32 0 256 0 1
mp_add_f64_f64 0 256 0 1
mp_add_i8_i8 0 256 0 1
2 0 0 1065353216 4 0 0x0 0x0 0x0 0:0:0:256
2 0 0 0 4 0 0x0 0x0 0x0 0:0:0:512
0 0 0 0 0 1 4x32 1x2 1x1 1:0:0:256 0:0:256:256 node 'n' (Add-13)
0 0 1024 0 0 0 1x128 1x1 1x1 3:0:0:256 1:1:0:256
0 1 0 0 0 0 1x1 1x1 1x1 2:0:0:256 4:0:0:64
1 0 0 0 0 0 0x0 0x0 0x0 0:0:128:128 2:0:0:128
3 0 0 0 0 0 0x0 0x0 0x0
3 1 0 0 0 0 0x0 0x0 0x0
4 1 0 0 0 0 0x0 0x0 0x0
4 0 0 0 0 0 0x0 0x0 0x0
3 2 1 0:0:256:256 0:0:128:128 if 0:0:0:1
4 0 1 1:1:0:256
node 'a' (Gather-13): index %0, size %1
)";

/// Changes every bit, and cuts at every length: an accepted plan can be read.
static void checkDamage(const std::string &good) {
  for (size_t size = 0; size < good.size(); ++size)
    expect(Packed(good.substr(0, size)).check(),
           "a plan without its end is accepted");
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] ^= char(1 << bit % 8);
    Packed packed(bad);
    if (!packed.check())
      read(packed.view());
  }
}

/// Adds an image that replaces another one; returns its number.
static unsigned addImage(mp::DevicePlan &plan, int insteadOf) {
  plan.images.emplace_back().insteadOf = insteadOf;
  return unsigned(plan.images.size() - 1);
}

/// Checks the messages for damaged plans.
static void checkFindings(const mp::DevicePlan &good) {
  using Plan = mp::DevicePlan;
  struct {
    const char *expected;
    std::function<void(Plan &)> damage;
  } cases[] = {
      {"a launch is of no kernel", [](Plan &p) { p.records[2].kernel = 12; }},
      {"has not the parameters",
       [](Plan &p) { p.records[2].places.pop_back(); }},
      {"a size of grid", [](Plan &p) { p.records[2].grid[1] = 70000; }},
      {"a size of grid", [](Plan &p) { p.records[2].block[2] = 0; }},
      {"more threads", [](Plan &p) { p.records[2].block = {129, 1, 1}; }},
      {"or shared memory", [](Plan &p) { p.kernels[0].shared = 0; }},
      {"too many threads", [](Plan &p) { p.kernels[0].threads = 1025; }},
      {"leaves the memory",
       [](Plan &p) { p.records[2].places[0].bytes = 257; }},
      {"leaves the memory",
       [](Plan &p) { p.records[2].places[0].offset = UINT64_MAX; }},
      {"leaves the memory", [](Plan &p) { p.records[2].places[0].index = 2; }},
      {"is over itself",
       [](Plan &p) {
         // The output is the state.
         p.records[5].places = {{Plan::Space::Input, 1, 0, 8},
                                {Plan::Space::Output, 1, 4, 8}};
       }},
      {"two sizes", [](Plan &p) { p.records[5].places[0].bytes = 4; }},
      {"no two places", [](Plan &p) { p.records[5].places.pop_back(); }},
      {"no target or value", [](Plan &p) { p.records[0].valueBytes = 3; }},
      {"that are set is not a launch",
       [](Plan &p) { p.records[0].whenSet = true; }},
      {"does not fit its target",
       [](Plan &p) { p.records[0].places[0].bytes = 2; }},
      {"a start or wait is of no reduction",
       [](Plan &p) { p.records[6].kernel = 2; }},
      {"a start or wait is of no reduction",
       [](Plan &p) { p.records[8].places = p.records[5].places; }},
      {"a reduction starts twice", [](Plan &p) { p.records[7].kernel = 0; }},
      {"a reduction starts twice", [](Plan &p) { p.records[6].kernel = 1; }},
      {"a wait is before its start",
       [](Plan &p) { std::swap(p.records[7], p.records[8]); }},
      {"of no known kind", [](Plan &p) { p.reductions[0].type = 10; }},
      {"of no known kind", [](Plan &p) { p.reductions[0].operation = 5; }},
      {"of no known kind", [](Plan &p) { p.reductions[1].members.clear(); }},
      {"leaves the memory",
       [](Plan &p) { p.reductions[0].members[1].offset = 512; }},
      {"does not fit its memory",
       [](Plan &p) { p.reductions[1].members[0].bytes = 255; }},
      {"does not fit its memory",
       [](Plan &p) { p.reductions[0].condition->bytes = 2; }},
      {"in no image", [](Plan &p) { p.images.clear(); }},
      {"in no image", [](Plan &p) { p.kernels[0].image = addImage(p, 0); }},
      {"stands for none", [](Plan &p) { addImage(p, 1); }},
      {"stands for none", [](Plan &p) { addImage(p, -2); }},
      {"stands for none", [](Plan &p) { addImage(p, int(addImage(p, 0))); }},
      {"does not fit", [](Plan &p) { p.outputs[1].bytes = 8; }},
      {"does not fit", [](Plan &p) { p.outputs[1].state = 2; }},
      {"too big", [](Plan &p) { p.arenaBytes = UINT64_MAX; }},
      {"too big", [](Plan &p) { p.inputs[0].bytes = UINT64_MAX; }},
      {"empty", [](Plan &p) { p.images[0].kind = Plan::ImageKind::Cubin; }},
  };
  for (auto &[expected, damage] : cases) {
    Plan bad = good;
    damage(bad);
    const char *found = Packed(bad.pack()).check();
    expect(found && StringRef(found).contains(expected),
           Twine("found '") + (found ? found : "") + "', expected '" +
               expected + "'");
  }
}

static void checkImages(mp::DevicePlan plan) {
  plan.images = {
      {mp::DevicePlan::ImageKind::PTX, 90, true, 80, ".version 8.0"},
      {mp::DevicePlan::ImageKind::Cubin, 80, false, 0, std::string("\0x", 2)},
      {mp::DevicePlan::ImageKind::Cubin, 86, false, 0, "y", 1}};
  plan.kernels[1].image = 1;
  Packed packed(plan.pack());
  expect(!packed.check(), "images are refused");
  StringRef cubin(packed.view().getContent(packed.view().getImages()[1]), 2);
  expect(cubin == plan.images[1].content, "an image has other content");
  std::string text = print(plan);
  expect(StringRef(text).contains("image 0: PTX 8.0 for sm_90a, 12 bytes\n"
                                  "image 1: cubin for sm_80, 2 bytes\n"
                                  "image 2: cubin for sm_86, 1 bytes, instead "
                                  "of image 1\n"),
         text);
}

int main() {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect,
                      linalg::LinalgDialect, LLVM::LLVMDialect,
                      memref::MemRefDialect, mp::MPDialect,
                      mp::runtime::RuntimeDialect, mp::device::DeviceDialect>();
  std::string error;
  auto plan = make(context, makeModule(goodBody), error);
  if (failed(plan)) {
    llvm::errs() << error << "\n";
    return 1;
  }
  std::string found = print(*plan);
  expect(found == goodText, "found\n" + found + "expected\n" + goodText);
  plan->records[2].whenSet = true;
  expect(StringRef(print(*plan)).contains(" when states are set ("),
         "a launch for states is printed as another");
  std::string bytes = plan->pack();
  Packed packed(bytes);
  expect(!packed.check(), "a good plan is refused");
  found = read(packed.view());
  expect(found == goodContent, "found\n" + found + "expected\n" + goodContent);
  checkRefusals(context);
  checkDamage(bytes);
  checkFindings(*plan);
  checkImages(*plan);
  return isGood ? 0 : 1;
}
