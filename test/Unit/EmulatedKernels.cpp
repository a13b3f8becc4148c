//===- EmulatedKernels.cpp - Kernels of a GPU run here --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels give the results of plain loops, and each fault is reported with a
// message that names the kernel. `emulated-kernels --speed` measures.
//
//===----------------------------------------------------------------------===//

#include "CompiledKernels.h"
#include "Findings.h"
#include "KernelData.h"
#include "KernelTexts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <tuple>

using namespace mlir;
using namespace mp;

namespace {

/// The size of the measured product.
constexpr int largeSize = 256;

/// Sizes of a launch.
struct Sizes {
  uint32_t grid[3], block[3], shared = 0;
};

struct Tests {
  explicit Tests(bool checkRaces) : checkRaces(checkRaces) {}

  void run();
  void measure();

  bool build();
  /// Returns true if the kernel has run.
  bool launch(StringRef name, const Sizes &sizes, ArrayRef<void *> pointers,
              std::optional<int32_t> number = std::nullopt);
  void expectError(StringRef name, const Sizes &sizes,
                   ArrayRef<void *> pointers, ArrayRef<StringRef> texts);

  void runMap();
  void runUpdate();
  void runSoftmax();
  void runProduct();
  void runWarp();
  void runSingleProducts();
  void runConversions();
  void runExchanges();
  void findFaults();
  void findRaces();
  void refuseLaunches();
  void count();

  const bool checkRaces;
  CompiledKernels kernels;
  Findings findings;
};

} // namespace

/// The name of a kernel with a fault.
static std::string name(StringRef kernel, StringRef fault) {
  std::string words = (kernel + "_" + fault).str();
  std::replace(words.begin(), words.end(), ' ', '_');
  return words;
}

bool Tests::build() {
  std::string text = R"(
gpu.module @kernels {
llvm.mlir.global external @mp_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
)";
  text += makeMap() + makeUpdate() + makeWarp() + makeSingleProduct("f16") +
          makeSingleProduct("tf32") + makeConversions() +
          makeSoftmax("softmax") +
          makeProduct("product", productM, productN, productK) +
          makeProduct("large", largeSize, largeSize, largeSize) +
          makeBarriers(0) + makeBarriers(100);
  for (const char *fault : {"no barrier", "divergent barrier", "two barriers",
                            "early end", "masks", "row too far"})
    text += makeSoftmax(name("softmax", fault), fault);
  for (const char *fault : {"no barrier", "no second barrier", "wait too few",
                            "misaligned", "row too far"})
    text += makeProduct(name("product", fault), productM, productN, productK,
                        fault);
  StringRef sync = "nvvm.bar.warp.sync %all : i32";
  text += makeExchange("ordered_by_warp", 1, sync) +
          makeExchange("not_ordered", 1, "") +
          makeExchange("across_warps", 32, sync) +
          makeExchange("ordered_by_name", 32,
                       "nvvm.barrier id = %one number_of_threads = %c64");
  text += "}\n";
  llvm::Error error = kernels.build(text, checkRaces);
  bool isGood = !error;
  findings.expect(isGood,
                  "found '" + toString(std::move(error)) + "', expected code");
  return isGood;
}

bool Tests::launch(StringRef name, const Sizes &sizes,
                   ArrayRef<void *> pointers, std::optional<int32_t> number) {
  const mp_emulated_kernel *kernel = kernels.find(name);
  if (!kernel) {
    findings.expect(false, "found no kernel '" + name + "'");
    return false;
  }
  SmallVector<void *> values(pointers), parameters;
  for (void *&value : values)
    parameters.push_back(&value);
  if (number)
    parameters.push_back(&*number);
  findings.expect(kernel->parameters == parameters.size(),
                  "'" + name + "': found " + Twine(kernel->parameters) +
                      " parameters");
  int32_t result = mp_emulate_launch(kernel, sizes.grid, sizes.block,
                                     sizes.shared, parameters.data());
  findings.expect((result == 0) == (*mp_emulation_error() == 0),
                  "'" + name + "': expected a text for each error");
  return result == 0;
}

void Tests::expectError(StringRef name, const Sizes &sizes,
                        ArrayRef<void *> pointers, ArrayRef<StringRef> texts) {
  bool hasRun = launch(name, sizes, pointers);
  StringRef error = mp_emulation_error();
  bool isGood = !hasRun && error.contains(("kernel '" + name + "'").str());
  for (StringRef text : texts)
    isGood &= error.contains(text);
  findings.expect(isGood, "'" + name + "': found '" + error +
                              "', expected an error with '" + texts.front() +
                              "'");
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void Tests::runMap() {
  constexpr int32_t n = 1000;
  std::vector<float> x = makeNumbers(n), y(n + 24, 7);
  if (!launch("map", {{4, 1, 1}, {256, 1, 1}}, {x.data(), y.data()}, n))
    return findings.expect(false, mp_emulation_error());
  bool isGood = true;
  for (int index = 0; index < n + 24; ++index)
    isGood &= y[index] == (index < n ? x[index] * x[index] : 7);
  findings.expect(isGood, "map: found other numbers than expected");
}

void Tests::runUpdate() {
  constexpr size_t n = 640;
  std::vector<float> w = makeNumbers(n), m = makeNumbers(n, 2),
                     g = makeNumbers(n, 3);
  // A tie, a NaN and a subnormal number.
  std::tie(w[0], m[0], g[0]) = std::tuple(1 + 0x1p-8f, 0.f, 0.f);
  std::tie(w[1], m[1], g[1]) = std::tuple(NAN, 0.f, 0.f);
  std::tie(w[2], m[2], g[2]) = std::tuple(0x1p-130f, 0.f, 0.f);
  std::vector<float> w0 = w, m0 = m;
  std::vector<uint16_t> low(n, 3);
  int32_t finite = 0;
  Sizes sizes = {{1, n / 64, 1}, {32, 2, 1}};
  SmallVector<void *> pointers = {w.data(), m.data(), g.data(), low.data(),
                                  &finite};
  bool isGood = launch("update", sizes, pointers);
  isGood &= !memcmp(w.data(), w0.data(), n * 4) && m == m0 && low[n - 1] == 3;
  finite = 1;
  isGood &= launch("update", sizes, pointers);
  for (size_t index = 0; index < n; ++index) {
    float moment = m0[index] * 0.875f + g[index];
    float weight = w0[index] - moment * 0.125f;
    isGood &= std::fabs(m[index] - moment) <= 1e-6f;
    if (index == 1)
      isGood &= low[index] == 0x7fc0;
    else
      isGood &= std::fabs(w[index] - weight) <= 1e-6f &&
                low[index] == toBF16(w[index]);
  }
  isGood &= low[0] == 0x3f80 && low[2] == toBF16(0x1p-130f) && low[2];
  findings.expect(isGood, "update: found other numbers than expected");
}

void Tests::runSoftmax() {
  constexpr uint32_t rows = 37;
  std::vector<float> x = makeNumbers(rows * softmaxSize), y(x.size());
  if (!launch("softmax", {{rows, 1, 1}, {softmaxSize, 1, 1}},
              {x.data(), y.data()}))
    return findings.expect(false, mp_emulation_error());
  double worst = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    const float *from = &x[row * softmaxSize];
    double sum = 0;
    for (int index = 0; index < softmaxSize; ++index)
      sum += std::exp2(double(from[index]));
    for (int index = 0; index < softmaxSize; ++index) {
      double expected = std::exp2(double(from[index])) / sum;
      worst = std::max(
          worst, std::fabs(y[row * softmaxSize + index] - expected) / expected);
    }
  }
  // exp2 and 128 sums, in fp32.
  findings.expect(worst < 130 * 0x1p-24,
                  "softmax: found an error of " + std::to_string(worst));
}

constexpr Sizes productSizes = {
    {productN / 32, productM / 32, 1}, {128, 1, 1}, 4096};

void Tests::runProduct() {
  Product product(productM, productN, productK);
  if (!launch("product", productSizes, product.getPointers()))
    return findings.expect(false, mp_emulation_error());
  findings.expect(product.c == product.expected,
                  "product: found other numbers than expected");
}

/// The expected results of makeWarp.
static uint32_t expectWarp(int result, uint32_t lane, const uint32_t *x) {
  bool isLower = lane < 16;
  uint32_t any = 0, all = 1, ballot = 0, sum = 0, most = 0, xors = 0, same = 0;
  int32_t least = INT32_MAX;
  for (uint32_t other = 0; other < 32; ++other) {
    if ((other < 16) == isLower) {
      any |= x[other] & 1;
      all &= x[other] & 1;
      sum += x[other];
    }
    ballot |= (x[other] & 1) << other;
    most = std::max(most, x[other]);
    least = std::min(least, static_cast<int32_t>(x[other]));
    xors ^= x[other];
    same |= static_cast<uint32_t>((x[other] & 1) == (x[lane] & 1)) << other;
  }
  uint32_t segment = lane / 8 * 8;
  const uint32_t expected[] = {
      x[lane ^ 5],
      // Segments of 8 lanes.
      lane % 8 < 3 ? x[lane] : x[lane - 3],
      lane % 8 >= 3,
      lane + 2 > 31 ? x[lane] : x[lane + 2],
      x[segment + 5],
      any,
      all,
      ballot,
      sum,
      most,
      static_cast<uint32_t>(least),
      xors,
      same,
      ~0u,
      0,
      lane % 16 == 0,
  };
  return expected[result];
}

void Tests::runWarp() {
  uint32_t x[32], y[16 * 32] = {};
  for (uint32_t lane = 0; lane < 32; ++lane)
    x[lane] = lane * 2654435761u >> 3 | (lane < 16);
  if (!launch("warp", {{1, 1, 1}, {32, 1, 1}}, {x, y}))
    return findings.expect(false, mp_emulation_error());
  for (int result = 0; result < 16; ++result)
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t expected = expectWarp(result, lane, x);
      findings.expect(y[result * 32 + lane] == expected,
                      "warp: result " + Twine(result) + " of lane " +
                          Twine(lane) + ": found " +
                          Twine(y[result * 32 + lane]) + ", expected " +
                          Twine(expected));
    }
}

/// Fragments of m16n8k16 and m16n8k8, from the manual's words: element `index`
/// of lane `lane` as row and column.
static std::pair<int, int> placeA(bool isWide, int lane, int index) {
  int group = lane / 4, thread = lane % 4;
  if (isWide)
    return {group + (index & 1 ? 8 : 0), thread + (index & 2 ? 4 : 0)};
  int word = index / 2;
  return {group + (word & 1 ? 8 : 0),
          thread * 2 + index % 2 + (word & 2 ? 8 : 0)};
}
static std::pair<int, int> placeB(bool isWide, int lane, int index) {
  int group = lane / 4, thread = lane % 4;
  if (isWide)
    return {thread + 4 * index, group};
  return {thread * 2 + index % 2 + 8 * (index / 2), group};
}

void Tests::runSingleProducts() {
  for (bool isWide : {false, true}) {
    const int depth = isWide ? 8 : 16, perWord = isWide ? 1 : 2;
    // For f16, a consists of subnormal numbers.
    const float unit = isWide ? 1 : 0x1p-24f;
    auto getA = [](int i, int l) { return float((i * 5 + l * 3) % 17 - 8); };
    auto getB = [](int l, int j) { return float((l * 7 + j * 2) % 13 - 6); };
    std::vector<uint32_t> x(32 * 10);
    std::vector<float> y(32 * 4);
    auto put = [&](int lane, int element, float value) {
      uint32_t &word = x[lane * 10 + element / perWord];
      if (!isWide)
        word |= toHalf(value) << element % 2 * 16;
      else
        // tf32 does not look at the last bits.
        word = llvm::bit_cast<uint32_t>(value) | 0x1fff;
    };
    for (int lane = 0; lane < 32; ++lane) {
      for (int element = 0; element < 4 * perWord; ++element) {
        auto [row, k] = placeA(isWide, lane, element);
        put(lane, element, getA(row, k) * unit);
      }
      for (int element = 0; element < 2 * perWord; ++element) {
        auto [k, column] = placeB(isWide, lane, element);
        put(lane, 4 * perWord + element, getB(k, column));
      }
      for (int element = 0; element < 4; ++element)
        x[lane * 10 + 6 + element] =
            llvm::bit_cast<uint32_t>(unit * static_cast<float>(lane + element));
    }
    StringRef name = isWide ? "single_tf32" : "single_f16";
    bool isGood = launch(name, {{1, 1, 1}, {32, 1, 1}}, {x.data(), y.data()});
    for (int lane = 0; lane < 32; ++lane)
      for (int element = 0; element < 4; ++element) {
        int row = lane / 4 + element / 2 * 8,
            column = lane % 4 * 2 + element % 2;
        float sum = static_cast<float>(lane + element);
        for (int k = 0; k < depth; ++k)
          sum += getA(row, k) * getB(k, column);
        isGood &= y[lane * 4 + element] == sum * unit;
      }
    findings.expect(isGood,
                    "'" + name + "': found other numbers than expected");
  }
}

void Tests::runConversions() {
  float x[32];
  uint32_t y[32 * 4];
  for (int lane = 0; lane < 32; ++lane)
    x[lane] = llvm::bit_cast<float>(0x3f801000u + lane * 0x800u);
  // A number of the last binade, a subnormal number, and a NaN with low bits
  // only.
  x[0] = llvm::bit_cast<float>(0xff7fffffu);
  x[1] = 0x1.7p-140f;
  x[2] = llvm::bit_cast<float>(0x7f800001u);
  if (!launch("conversions", {{1, 1, 1}, {32, 1, 1}}, {x, y}))
    return findings.expect(false, mp_emulation_error());
  const llvm::RoundingMode modes[] = {llvm::APFloat::rmNearestTiesToAway,
                                      llvm::APFloat::rmNearestTiesToEven,
                                      llvm::APFloat::rmTowardZero};
  for (int lane = 0; lane < 32; ++lane) {
    for (int mode = 0; mode < 3; ++mode) {
      llvm::APFloat value(x[lane]);
      bool isInexact;
      value.convert(llvm::APFloat::FloatTF32(), modes[mode], &isInexact);
      value.convert(llvm::APFloat::IEEEsingle(), modes[mode], &isInexact);
      float found = llvm::bit_cast<float>(y[lane * 4 + mode]);
      findings.expect(std::isnan(x[lane]) ? std::isnan(found)
                                          : found == value.convertToFloat(),
                      "conversions: found " + std::to_string(found) +
                          " for lane " + Twine(lane));
    }
    float power = llvm::bit_cast<float>(y[lane * 4 + 3]);
    findings.expect(std::isnan(x[lane]) ||
                        std::fabs(power - std::exp2(x[lane])) <= 1e-6f * power,
                    "conversions: found another power of 2 than expected");
  }
}

void Tests::runExchanges() {
  for (StringRef name : {"ordered_by_warp", "ordered_by_name"}) {
    std::vector<uint32_t> y(64);
    bool isGood = launch(name, {{1, 1, 1}, {64, 1, 1}}, {y.data()});
    for (uint32_t index = 0; index < 64; ++index)
      isGood &= y[index] == (index ^ (name == "ordered_by_warp" ? 1 : 32));
    findings.expect(isGood, "'" + name + "': found '" + mp_emulation_error() +
                                "', expected words of others");
  }
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

/// Checks faults that are found without a search for races.
void Tests::findFaults() {
  std::vector<float> x = makeNumbers(8 * softmaxSize), y(x.size());
  Sizes sizes = {{8, 1, 1}, {softmaxSize, 1, 1}};
  SmallVector<void *> rows = {x.data(), y.data()};
  // Other threads read values that the waiting threads write.
  if (checkRaces)
    expectError("softmax_divergent_barrier", sizes, rows, {"race: "});
  else
    expectError("softmax_divergent_barrier", sizes, rows,
                {"threads wait for each other: 4 at barrier0 1 (kernels.mlir:",
                 "thread (0, 0, 0) among them; 124 at shfl.sync 6 ("});
  expectError("softmax_two_barriers", sizes, rows,
              {"waits for threads that wait elsewhere: 32 at barrier0 ",
               "block (0, 0, 0), thread (", "barrier0 1 (kernels.mlir:"});
  expectError("softmax_early_end", sizes, rows,
              {"thread (5, 0, 0): ends, but lanes 0x0000001f wait for it at "
               "shfl.sync 1 (kernels.mlir:"});
  expectError("softmax_masks", sizes, rows,
              {"found mask 0xfffffffe, but lanes 0x0001ffff wait at shfl.sync "
               "1 (kernels.mlir:",
               "with mask 0xffffffff"});
  // This is a store: it changes memory between variables, or is found at once.
  if (checkRaces)
    expectError("softmax_row_too_far", sizes, rows,
                {"thread (96, 0, 0)", "writes 4 bytes at byte 16"});
  else
    expectError("softmax_row_too_far", sizes, rows,
                {"found a write to byte 16 of shared memory, where no variable "
                 "is"});
  Product product(productM, productN, productK);
  SmallVector<void *> matrices = product.getPointers();
  expectError("product_misaligned", productSizes, matrices,
              {"ldmatrix 2 (kernels.mlir:", "expected a multiple of 16"});
  expectError("product_row_too_far", productSizes, matrices,
              {"ldmatrix 2 (kernels.mlir:", checkRaces
                                                ? "race: reads byte 2064 of"
                                                : "reads 16 bytes at byte 41"});
  Sizes less = productSizes;
  less.shared -= 16;
  expectError("product", less, matrices,
              {"cp.async.shared.global 2", "writes 16 bytes at byte 4080",
               "dynamic (4080 bytes from byte 0 on)"});
  // Without a wait, the old contents are multiplied: NaNs.
  if (checkRaces) {
    expectError("product_wait_too_few", productSizes, matrices,
                {"race: reads byte ", "copies at cp.async.shared.global 1 (",
                 "and has not waited"});
  } else {
    bool hasRun = launch("product_wait_too_few", productSizes, matrices);
    findings.expect(hasRun && std::isnan(product.c[0]),
                    "product_wait_too_few: expected NaNs");
  }
  // A fault does not disturb later launches.
  runSoftmax();
  runProduct();
}

void Tests::findRaces() {
  std::vector<float> x = makeNumbers(8 * softmaxSize), y(x.size());
  expectError("softmax_no_barrier", {{8, 1, 1}, {softmaxSize, 1, 1}},
              {x.data(), y.data()},
              {"race: writes byte ", "store 1 (kernels.mlir:",
               "which was read by several threads at load 1 (kernels.mlir:"});
  Product product(productM, productN, productK);
  SmallVector<void *> matrices = product.getPointers();
  expectError("product_no_barrier", productSizes, matrices,
              {"race: ", "cp.async.shared.global ", "ldmatrix "});
  expectError("product_no_second_barrier", productSizes, matrices,
              {"race: ", "cp.async.shared.global ", "ldmatrix "});
  std::vector<uint32_t> words(64);
  Sizes sizes = {{1, 1, 1}, {64, 1, 1}};
  expectError(
      "not_ordered", sizes, {words.data()},
      {"thread (1, 0, 0), store 1 (kernels.mlir:",
       "race: writes byte 4 of shared memory, which was read by thread (0, 0, "
       "0) at load 1 ("});
  expectError("across_warps", sizes, {words.data()}, {"race: "});
}

void Tests::refuseLaunches() {
  std::vector<float> x(64), y(64);
  SmallVector<void *> two = {x.data(), y.data()};
  expectError("softmax", {{0, 1, 1}, {128, 1, 1}}, two,
              {"found a grid of 0 x 1 x 1 blocks"});
  expectError("softmax", {{1, 1, 1}, {1025, 1, 1}}, two,
              {"found a block of 1025 x 1 x 1 threads, expected 1 to 1024"});
  expectError("softmax", {{1, 1, 1}, {128, 1, 1}, 300000}, two,
              {"found 300000 bytes of shared memory, expected at most "});
  SmallVector<void *> three = {x.data(), x.data(), y.data()};
  expectError("product", {{1, 1, 1}, {64, 1, 1}, 4096}, three,
              {"found a block of 64 x 1 x 1 threads, expected 128 x 1 x 1"});
  expectError("single_f16", {{1, 1, 1}, {16, 1, 1}}, two,
              {"mma.sync 1", "needs all lanes of a warp, found 0x0000ffff"});
}

void Tests::count() {
  mp_emulation_figures before = mp_emulation_counts();
  runProduct();
  mp_emulation_figures after = mp_emulation_counts();
  constexpr uint64_t blocks = productM / 32 * (productN / 32),
                     steps = productK / 16;
  findings.expect(after.launches - before.launches == 1 &&
                      after.blocks - before.blocks == blocks &&
                      after.threads - before.threads == blocks * 128 &&
                      after.barriers - before.barriers == blocks * steps * 2 &&
                      after.products - before.products == blocks * steps * 8 &&
                      after.collectives - before.collectives ==
                          blocks * steps * 16,
                  "counts: found others than expected");
}

//===----------------------------------------------------------------------===//
// Speed
//===----------------------------------------------------------------------===//

/// CPU time of this process: other processes may run at the same time.
static double getSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void Tests::measure() {
  auto time = [&](StringRef name, const Sizes &sizes, ArrayRef<void *> pointers,
                  std::optional<int32_t> number = std::nullopt) {
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
      double start = getSeconds();
      launch(name, sizes, pointers, number);
      best = std::min(best, getSeconds() - start);
    }
    return best;
  };
  llvm::raw_ostream &os = llvm::outs();
  constexpr int32_t n = 1 << 20;
  std::vector<float> x = makeNumbers(n), y(n);
  double map =
      time("map", {{n / 256, 1, 1}, {256, 1, 1}}, {x.data(), y.data()}, n);
  os << "map: " << map / n * 1e9 << " ns per thread\n";
  for (uint32_t threads : {128u, 1024u}) {
    Sizes sizes = {{100, 1, 1}, {threads, 1, 1}};
    double none = time("barriers0", sizes, {}),
           many = time("barriers100", sizes, {});
    os << threads << " threads: " << (many - none) / (1e4 * threads) * 1e9
       << " ns per thread and barrier\n";
  }
  double rows = time("softmax", {{n / softmaxSize, 1, 1}, {softmaxSize, 1, 1}},
                     {x.data(), y.data()});
  os << "softmax: " << n / rows / 1e6 << " M elements/s\n";
  Product product(largeSize, largeSize, largeSize);
  double large =
      time("large", {{largeSize / 32, largeSize / 32, 1}, {128, 1, 1}, 4096},
           product.getPointers());
  findings.expect(product.c == product.expected,
                  "large: found other numbers than expected");
  double flops = 2.0 * largeSize * largeSize * largeSize;
  os << "product of " << largeSize << ": " << flops / large / 1e9
     << " GFLOP/s, " << large / (flops / 4096) * 1e9 << " ns per mma.sync\n";
}

void Tests::run() {
  runMap();
  runUpdate();
  runSoftmax();
  runProduct();
  runWarp();
  runSingleProducts();
  runConversions();
  runExchanges();
  findFaults();
  if (checkRaces)
    findRaces();
  refuseLaunches();
  count();
}

int main(int argc, char **argv) {
  bool isGood = true;
  for (bool checkRaces : {false, true}) {
    Tests tests(checkRaces);
    if (tests.build()) {
      tests.run();
      if (argc > 1 && StringRef(argv[1]) == "--speed")
        tests.measure();
    }
    isGood &= tests.findings.getExitCode() == 0;
  }
  return isGood ? 0 : 1;
}
