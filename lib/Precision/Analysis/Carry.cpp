//===- Carry.cpp - Effects on large elements ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Carry.h"

namespace mp {

Carry getCarry(const OperatorTraits &traits) {
  if (traits.contracts())
    return Carry::Contracts;
  switch (traits.math) {
  case OperatorMath::Mul:
    return Carry::Scales;
  case OperatorMath::Div:
    return Carry::Divides;
  case OperatorMath::Clip:
    return Carry::Bounds;
  case OperatorMath::Max:
  case OperatorMath::Min:
    if (traits.isElementwise())
      return Carry::Bounds;
    break;
  default:
    break;
  }
  return traits.has(Proportional) ? Carry::Keeps : Carry::Drops;
}

} // namespace mp
