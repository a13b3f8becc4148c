//===- Matrices.cpp - Matrices of a warp ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The PTX manual defines which lane holds which elements, for mma.sync of
// m16n8k16 and m16n8k8. Products of 16-bit factors and of tf32 are exact in
// fp32. Their sums are rounded after each addition, in the order of k; tensor
// cores do not guarantee this order.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <cstring>

namespace mp::emulation {

namespace {

enum Kind : uint32_t { bf16, f16, tf32 };
constexpr uint32_t rows = 16, columns = 8, maxDepth = 16;

float toFloat(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

float fromHalf(uint32_t bits) {
  uint32_t sign = (bits & 0x8000) << 16, rest = (bits & 0x7fff) << 13;
  // Handles infinities and NaNs. For others the exponent's bias is 112 less,
  // which a multiplication corrects exactly, also for subnormals.
  if ((bits & 0x7c00) == 0x7c00)
    return toFloat(sign | 0x7f800000 | rest);
  float value = toFloat(rest) * 0x1p112f;
  return sign ? -value : value;
}

/// Collects the factors from each lane's words.
template <typename Read>
void spread16(const Fiber *lanes, float (*a)[maxDepth], float (*b)[columns],
              Read read) {
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    const uint32_t *words = lanes[lane].in;
    uint32_t group = lane / 4, pair = lane % 4 * 2;
    for (uint32_t half = 0; half < 2; ++half) {
      auto get = [&](uint32_t word) {
        return read(words[word] >> (16 * half) & 0xffff);
      };
      a[group][pair + half] = get(0);
      a[group + 8][pair + half] = get(1);
      a[group][pair + 8 + half] = get(2);
      a[group + 8][pair + 8 + half] = get(3);
      b[pair + half][group] = get(4);
      b[pair + 8 + half][group] = get(5);
    }
  }
}

void spread32(const Fiber *lanes, float (*a)[maxDepth], float (*b)[columns]) {
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    const uint32_t *words = lanes[lane].in;
    uint32_t group = lane / 4, index = lane % 4;
    // The other 13 bits are ignored.
    auto get = [&](uint32_t word) { return toFloat(words[word] & ~0x1fffu); };
    a[group][index] = get(0);
    a[group + 8][index] = get(1);
    a[group][index + 4] = get(2);
    a[group + 8][index + 4] = get(3);
    b[index][group] = get(4);
    b[index + 4][group] = get(5);
  }
}

void multiply(Fiber *lanes, uint32_t kind) {
  float a[rows][maxDepth], b[maxDepth][columns], sums[rows][columns] = {};
  uint32_t depth = kind == tf32 ? 8 : 16;
  if (kind == bf16)
    spread16(lanes, a, b, [](uint32_t bits) { return toFloat(bits << 16); });
  else if (kind == f16)
    spread16(lanes, a, b, fromHalf);
  else
    spread32(lanes, a, b);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t column = 0; column < columns; ++column)
        sums[row][column] += a[row][k] * b[k][column];
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    for (uint32_t index = 0; index < 4; ++index) {
      float sum = toFloat(lanes[lane].in[6 + index]) +
                  sums[lane / 4 + index / 2 * 8][lane % 4 * 2 + index % 2];
      memcpy(&lanes[lane].out[index], &sum, sizeof(sum));
    }
}

/// Distributes matrix by matrix: lane 4 r + c gets elements 2 c and 2 c + 1 of
/// row r, or of column r.
void load(Fiber *lanes, uint32_t count, bool transposed) {
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    const Fiber *from = lanes + matrix * 8;
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      uint32_t outer = lane / 4, inner = lane % 4 * 2;
      if (!transposed) {
        memcpy(&lanes[lane].out[matrix], from[outer].row + inner * 2, 4);
        continue;
      }
      uint16_t pair[2];
      for (uint32_t half = 0; half < 2; ++half)
        memcpy(&pair[half], from[inner + half].row + outer * 2, 2);
      lanes[lane].out[matrix] = pair[0] | uint32_t(pair[1]) << 16;
    }
  }
}

} // namespace

} // namespace mp::emulation

using namespace mp::emulation;

extern "C" {

void mp_emulated_load_matrix(mp_emulated_thread *thread, uint32_t place,
                             uint32_t count, uint32_t transposed,
                             const void *row, uint32_t *result) {
  Fiber &fiber = getFiber(thread);
  expectWholeWarp(fiber, place);
  if (fiber.lane < count * 8) {
    if (reinterpret_cast<uintptr_t>(row) % 16)
      fail(fiber, place, "found address %p of a row, expected a multiple of 16",
           row);
    checkBounds(fiber, place, row, 16, "reads");
    if (looksForRaces())
      noteRead(fiber, place, row, 16);
  }
  fiber.row = static_cast<const char *>(row);
  fiber.out = result;
  if (ConvergencePoint *point = arrive(fiber, place, ~0u)) {
    load(getLanes(fiber), count, transposed);
    close(fiber, *point);
  }
}

void mp_emulated_multiply(mp_emulated_thread *thread, uint32_t place,
                          uint32_t kind, const uint32_t *operands,
                          float *result) {
  Fiber &fiber = getFiber(thread);
  expectWholeWarp(fiber, place);
  fiber.in = operands;
  fiber.out = reinterpret_cast<uint32_t *>(result);
  if (ConvergencePoint *point = arrive(fiber, place, ~0u)) {
    multiply(getLanes(fiber), kind);
    ++machine.figures.products;
    close(fiber, *point);
  }
}

} // extern "C"
