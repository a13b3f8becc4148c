/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values of libraries of models, for device_check.c.
 */

#ifndef MPOPT_BENCHMARKS_DEVICE_VALUES_H
#define MPOPT_BENCHMARKS_DEVICE_VALUES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// The same types as in the headers that `mp-opt --emit=lib` writes.
typedef struct {
  void *data;
  int64_t *sizes;
} mp_tensor;
typedef struct {
  const char *name;
  int32_t type, rank;
  const int64_t *sizes;
  const void *initial;
  int32_t state, written;
} mp_value;
typedef struct {
  int32_t num_inputs, num_outputs;
  const mp_value *inputs, *outputs;
  int64_t *calls;
} mp_interface;

/// Bytes of an element; 0: not known.
static int sizeOf(int type) {
  static const int sizes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0,
                              1, 2, 8, 4, 8, 0, 0, 2};
  return type > 0 && type <= 16 ? sizes[type] : 0;
}

static double halfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent == 31  ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? ldexp(fraction, -24)
                                 : ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

/// The value of an element of any type.
static double at(const void *data, int type, long i) {
  uint32_t bits;
  float single;
  switch (type) {
  case 1:
    return ((const float *)data)[i];
  case 2:
  case 9:
    return ((const uint8_t *)data)[i];
  case 3:
    return ((const int8_t *)data)[i];
  case 4:
    return ((const uint16_t *)data)[i];
  case 5:
    return ((const int16_t *)data)[i];
  case 6:
    return ((const int32_t *)data)[i];
  case 7:
    return (double)((const int64_t *)data)[i];
  case 10:
    return halfToDouble(((const uint16_t *)data)[i]);
  case 11:
    return ((const double *)data)[i];
  case 12:
    return ((const uint32_t *)data)[i];
  case 13:
    return (double)((const uint64_t *)data)[i];
  default:
    bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    memcpy(&single, &bits, 4);
    return single;
  }
}

/// Numbers in [-scale, scale) that only depend on their place. device_kit.py
/// has the same function.
static void fillUniform(float *values, long count, float scale) {
  for (long i = 0; i < count; ++i) {
    uint32_t x = (uint32_t)i * 2654435761u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    values[i] = (float)((int32_t)(x >> 8) - (1 << 23)) * scale / (1 << 23);
  }
}

#endif
