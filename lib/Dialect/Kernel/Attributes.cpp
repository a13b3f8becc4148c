//===- Attributes.cpp - Attributes of contractions ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "mp-opt/Dialect/Kernel/KernelEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mp-opt/Dialect/Kernel/KernelAttributes.cpp.inc"

namespace mp::kernel {

void KernelDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mp-opt/Dialect/Kernel/KernelAttributes.cpp.inc"
      >();
}

LogicalResult ConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Strategy strategy, Products products,
                                 int64_t mr, int64_t nr, int64_t lanes,
                                 int64_t f, Packing lhs, Packing rhs,
                                 int64_t mc, int64_t nc, int64_t kc,
                                 int64_t deepMC, int64_t deepNC, int64_t deepKC,
                                 Cached cached, Store store, int64_t tail,
                                 bool rhsAhead) {
  if (mr < 1 || lanes < 1 || nr < lanes || nr % lanes != 0)
    return emitError()
           << "expected mr of one or more and nr of some vectors of "
           << "lanes, got mr = " << mr << ", nr = " << nr
           << ", lanes = " << lanes;
  bool isBlocked = strategy == Strategy::Blocked;
  bool isTransformed = !isBlocked && strategy != Strategy::Depthwise;
  if (isTransformed ? f != 2 && f != 4 : f != 0)
    return emitError() << "expected " << (isTransformed ? "f = 2 or 4" : "no f")
                       << " of strategy " << stringifyStrategy(strategy)
                       << ", got f = " << f;
  auto areGiven = [](int64_t m, int64_t n, int64_t k) {
    return m > 0 && n > 0 && k > 0;
  };
  auto areAbsent = [](int64_t m, int64_t n, int64_t k) {
    return m == 0 && n == 0 && k == 0;
  };
  if (isBlocked ? !areGiven(mc, nc, kc) : !areAbsent(mc, nc, kc))
    return emitError() << "expected " << (isBlocked ? "" : "no ")
                       << "mc, nc and kc of strategy "
                       << stringifyStrategy(strategy) << ", got " << mc << ", "
                       << nc << " and " << kc;
  bool isAMX = products == Products::AMX;
  if (isAMX ? !areGiven(deepMC, deepNC, deepKC)
            : !areAbsent(deepMC, deepNC, deepKC))
    return emitError() << "expected " << (isAMX ? "" : "no ")
                       << "deep_mc, deep_nc and deep_kc of products "
                       << stringifyProducts(products) << ", got " << deepMC
                       << ", " << deepNC << " and " << deepKC;
  if (!isBlocked && products != Products::Widen)
    return emitError() << "strategy " << stringifyStrategy(strategy)
                       << " multiplies f32, got products = "
                       << stringifyProducts(products);
  bool isInPlace = lhs == Packing::InPlace || rhs == Packing::InPlace;
  if (isInPlace && (!isBlocked || products != Products::Widen))
    return emitError() << "in_place needs strategy = blocked and products = "
                          "widen";
  if ((cached == Cached::LHS && lhs == Packing::InPlace) ||
      (cached == Cached::RHS && rhs == Packing::InPlace))
    return emitError()
           << "expected a cached operand to be packed, got in_place";
  if (store == Store::Registers && (!isBlocked || isAMX))
    return emitError() << "store = registers needs strategy = blocked and no "
                          "products by amx";
  if (tail < 0 || tail >= nr)
    return emitError() << "expected a tail of less than nr, got tail = " << tail
                       << ", nr = " << nr;
  if (tail > 0 &&
      (!isBlocked || products != Products::Widen || lhs != Packing::KMajor ||
       rhs == Packing::InPlace || cached == Cached::RHS))
    return emitError() << "a tail needs strategy = blocked, products = widen, "
                          "lhs = k_major and a right-hand side that is packed "
                          "by each call";
  if (rhsAhead &&
      (!isBlocked || isAMX || rhs == Packing::InPlace || cached == Cached::RHS))
    return emitError() << "rhs_ahead needs strategy = blocked, no products by "
                          "amx, and a right-hand side that is packed by each "
                          "call";
  return success();
}

LogicalResult TileAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               Multiplier by, int64_t m, int64_t n, int64_t k,
                               int64_t partM, int64_t partN, int64_t stages,
                               int64_t slices) {
  auto isSize = [](int64_t size, int64_t power) {
    return size >= 1 && size <= 256 && llvm::isPowerOf2_64(power);
  };
  auto isTripled = [&](int64_t size) {
    return isSize(size, size % 3 == 0 ? size / 3 : size);
  };
  if (!llvm::all_of(ArrayRef{m, n, partM, partN}, isTripled) || !isSize(k, k))
    return emitError() << "expected powers of two from 1 to 256, of rows and "
                          "columns also three times as many, got m = "
                       << m << ", n = " << n << ", k = " << k
                       << ", part_m = " << partM << ", part_n = " << partN;
  int64_t least = by == Multiplier::FMA ? 1 : 16;
  if (k < least || partM < least || partN < least || m % partM || n % partN)
    return emitError() << "expected k, part_m and part_n of " << least
                       << " or more, and parts that divide m and n, got m = "
                       << m << ", n = " << n << ", k = " << k
                       << ", part_m = " << partM << ", part_n = " << partN;
  bool isSliced =
      slices == 2 && by == Multiplier::MMA && partM % 32 == 0 && k >= 32;
  if (slices != 1 && !isSliced)
    return emitError() << "expected one slice, or two of mma with k of 32 or "
                          "more and part_m of a multiple of 32, got "
                       << slices;
  int64_t threads = (m / partM) * (n / partN) * slices * getLanes(by);
  if (threads < 32 || threads > 1024)
    return emitError() << "expected parts of 32 to 1024 threads, got "
                       << threads;
  if (stages < 2 || stages > 8)
    return emitError() << "expected 2 to 8 stages, got " << stages;
  return success();
}

} // namespace mp::kernel
