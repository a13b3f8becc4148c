//===- MPDialect.cpp - The mp dialect -------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/MP/MP.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;

#include "mp-opt/Dialect/MP/MPDialect.cpp.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/MP/MPOps.cpp.inc"

namespace mp {

void MPDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "mp-opt/Dialect/MP/MPOps.cpp.inc"
      >();
  registerAttributes();
}

LogicalResult LossSeedOp::verify() {
  auto type = cast<RankedTensorType>(getLoss().getType());
  if (!isa<FloatType>(type.getElementType()))
    return emitOpError() << "expected a loss of floats, got " << type;
  if (llvm::any_of(type.getShape(), [](int64_t size) {
        return size != 1 && size != ShapedType::kDynamic;
      }))
    return emitOpError() << "expected a loss of one element, got " << type;
  return success();
}

static LogicalResult verifyRange(Operation *op, Value value, Value range,
                                 int64_t first) {
  auto type = cast<RankedTensorType>(value.getType());
  auto own = cast<RankedTensorType>(range.getType());
  if (own.getRank() != 1 || own.getElementType() != type.getElementType())
    return op->emitOpError()
           << "expected a line of " << type.getElementType() << ", got " << own;
  if (first < 0 || first + own.getNumElements() > type.getNumElements())
    return op->emitOpError()
           << "expected a range of " << type.getNumElements()
           << " elements, got " << own.getNumElements() << " from " << first;
  return success();
}

LogicalResult TakeRangeOp::verify() {
  return verifyRange(*this, getValue(), getResult(), getFirst());
}

LogicalResult PutRangeOp::verify() {
  return verifyRange(*this, getValue(), getRange(), getFirst());
}

LogicalResult UpdateScaleOp::verify() {
  double growth = getGrowthFactor().convertToDouble();
  double backoff = getBackoffFactor().convertToDouble();
  double floor = getFloor().convertToDouble();
  double cap = getCap().convertToDouble();
  if (!(growth >= 1) || !std::isfinite(growth))
    return emitOpError() << "expected a growth factor of at least 1, got "
                         << getGrowthFactorAttr();
  if (!(backoff > 0 && backoff <= 1))
    return emitOpError()
           << "expected a backoff factor above 0 and at most 1, got "
           << getBackoffFactorAttr();
  if (getGrowthInterval() < 1)
    return emitOpError() << "expected a growth interval of at least 1, got "
                         << getGrowthInterval();
  if (getHysteresis() < 1)
    return emitOpError() << "expected a hysteresis of at least 1, got "
                         << getHysteresis();
  // A bound must be a normal number of fp32.
  constexpr double least = 0x1p-126, most = 0x1.fffffep127;
  if (!(floor >= least && floor <= cap && cap <= most))
    return emitOpError() << "expected 2^-126 <= floor <= cap, finite in f32, "
                            "got "
                         << getFloorAttr() << " and " << getCapAttr();
  return success();
}

} // namespace mp
