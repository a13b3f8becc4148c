//===- OperatorTable.h - Helpers for operator rows --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_OPERATORS_OPERATORTABLE_H
#define MPOPT_LIB_OPERATORS_OPERATORTABLE_H

#include "mp-opt/Operators/OperatorTraits.h"

#include "llvm/ADT/ArrayRef.h"

namespace mp {

struct OperatorRow {
  llvm::StringLiteral name;
  OperatorTraits traits;
};

/// The operators of a domain, sorted by name.
struct OperatorDomain {
  llvm::StringLiteral name;
  llvm::ArrayRef<OperatorRow> rows;
};
const OperatorDomain &getStandardOperators();
llvm::ArrayRef<OperatorDomain> getExtensionOperators();

/// The parts that rows are made of: `elementwise(Math::Abs) | Exact`.
namespace row {

using Extent = AccumulationExtent;
using Products = ProductCount;
using Math = OperatorMath;

constexpr OperatorTraits of(OperatorKind kind, unsigned traits = 0) {
  OperatorTraits made;
  made.kind = kind;
  made.traits = traits;
  return made;
}
constexpr OperatorTraits with(OperatorKind kind, Math math) {
  OperatorTraits made = of(kind);
  made.math = math;
  return made;
}
constexpr OperatorTraits operator|(OperatorTraits traits, OperatorTrait more) {
  traits.traits |= more;
  return traits;
}

/// Combines columns; each must be set in at most one of the two.
constexpr OperatorTraits operator|(OperatorTraits traits,
                                   const OperatorTraits &more) {
  for (unsigned role = 0; role < 4; ++role)
    traits.roles[role] |= more.roles[role];
  if (more.accumulation != Extent::None)
    traits.accumulation = more.accumulation;
  if (more.products != Products::None)
    traits.products = more.products;
  return traits;
}
constexpr OperatorTraits accumulates(Extent extent) {
  OperatorTraits made;
  made.accumulation = extent;
  return made;
}
constexpr OperatorTraits withRole(OperandRole role, uint32_t operands) {
  OperatorTraits made;
  made.roles[unsigned(role)] = operands;
  return made;
}
/// Bit i means operand i.
constexpr OperatorTraits inPlace(uint32_t operands) {
  return withRole(OperandRole::InPlace, operands);
}
constexpr OperatorTraits statistics(uint32_t operands) {
  return withRole(OperandRole::Statistics, operands);
}
constexpr OperatorTraits coordinates(uint32_t operands) {
  return withRole(OperandRole::Coordinates, operands);
}
constexpr OperatorTraits shape(uint32_t operands) {
  return withRole(OperandRole::Shape, operands);
}

inline constexpr unsigned moves = Exact | Within | Proportional | Linear;
inline constexpr OperatorTraits movement = of(OperatorKind::Movement, moves);
inline constexpr OperatorTraits selection = of(OperatorKind::Selection, moves);
inline constexpr OperatorTraits combination =
    of(OperatorKind::Combination, Exact | Proportional);
inline constexpr OperatorTraits ordering =
    of(OperatorKind::Ordering, Exact | Within | Proportional);
inline constexpr OperatorTraits interpolation =
    of(OperatorKind::Interpolation, Proportional);

inline constexpr OperatorTraits elementwise = of(OperatorKind::Elementwise);
constexpr OperatorTraits computes(Math math) {
  return with(OperatorKind::Elementwise, math);
}
constexpr OperatorTraits reduction(Math math) {
  return with(OperatorKind::Reduction, math);
}
inline constexpr OperatorTraits normalization = of(OperatorKind::Normalization);
constexpr OperatorTraits normalizes(Math math) {
  return with(OperatorKind::Normalization, math);
}

inline constexpr OperatorTraits logic = of(OperatorKind::Logic);
inline constexpr OperatorTraits window = of(OperatorKind::Window);
inline constexpr OperatorTraits prefix = of(OperatorKind::Prefix);
inline constexpr OperatorTraits contraction = of(OperatorKind::Contraction);
constexpr OperatorTraits contracts(Products products) {
  OperatorTraits made = contraction;
  made.products = products;
  return made;
}
inline constexpr OperatorTraits loss = of(OperatorKind::Loss);
inline constexpr OperatorTraits generation = of(OperatorKind::Generation);
inline constexpr OperatorTraits index = of(OperatorKind::Index);
inline constexpr OperatorTraits quantization = of(OperatorKind::Quantization);
inline constexpr OperatorTraits controlFlow = of(OperatorKind::ControlFlow);
inline constexpr OperatorTraits container = of(OperatorKind::Container);
inline constexpr OperatorTraits optimizer = of(OperatorKind::Optimizer);
inline constexpr OperatorTraits gradient = of(OperatorKind::Gradient);
inline constexpr OperatorTraits communication = of(OperatorKind::Communication);
inline constexpr OperatorTraits other = of(OperatorKind::Other);

} // namespace row

/// For static_assert: look-ups use binary search.
template <size_t N> constexpr bool isSorted(const OperatorRow (&rows)[N]) {
  for (size_t i = 1; i < N; ++i) {
    const char *a = rows[i - 1].name.data(), *b = rows[i].name.data();
    while (*a && *a == *b)
      ++a, ++b;
    if (*a >= *b)
      return false;
  }
  return true;
}

} // namespace mp

#endif // MPOPT_LIB_OPERATORS_OPERATORTABLE_H
