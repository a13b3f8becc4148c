//===- RoleRules.cpp - Roles from positions -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleRules.h"

#include "ModuleScopes.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Operators/OperatorTraits.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static ParameterUse none(const Twine &reason) {
  ParameterUse use;
  use.reason = reason.str();
  return use;
}

static ParameterUse doubtfulNone(const Twine &reason) {
  ParameterUse use = none(reason);
  use.isDoubtful = true;
  return use;
}

static ParameterUse take(ParameterRole role, bool isDoubtful = false) {
  ParameterUse use;
  use.role = role;
  use.isDoubtful = isDoubtful;
  return use;
}

RoleRules::RoleRules(const BatchFlow &flow, Operation *constant, StringRef name,
                     bool isParameter)
    : flow(flow), constant(constant), elements(FloatElements::get(constant)),
      isGenerated(!isParameter && isGeneratedName(name)),
      isParameter(isParameter) {
  if (elements)
    uniform = elements->getUniform();
}

//===----------------------------------------------------------------------===//
// Neighbours of a site
//===----------------------------------------------------------------------===//

Value RoleRules::getOther(const ParameterSite &site) const {
  Value found;
  // The condition of Where is not an element.
  unsigned first = isStandardOp(site.node, "Where") ? 1 : 0;
  for (unsigned index = first; index < site.node->getNumOperands(); ++index) {
    Value operand = site.node->getOperand(index);
    if (index != site.operand &&
        (!found || flow.get(operand) > flow.get(found)))
      found = operand;
  }
  return found;
}

namespace {
/// The functions that all uses of a value compute.
struct Waves {
  bool sines = false, cosines = false;
  explicit operator bool() const { return sines || cosines; }
};
} // namespace

/// Sines and cosines of `value`; none if it has other uses.
static Waves findWaves(Value value) {
  SmallVector<Value> queue{value};
  llvm::DenseSet<Value> seen{value};
  Waves found;
  constexpr size_t most = 64;
  while (!queue.empty()) {
    for (Operation *user : queue.pop_back_val().getUsers()) {
      bool isSine = isStandardOp(user, "Sin");
      if (isSine || isStandardOp(user, "Cos")) {
        (isSine ? found.sines : found.cosines) = true;
        continue;
      }
      if (isStandardOp(user, "Shape"))
        continue;
      if (!isRearranged(user) || seen.size() > most)
        return {};
      for (Value result : user->getResults())
        if (seen.insert(result).second)
          queue.push_back(result);
    }
  }
  return found;
}

/// True if at most one axis has more than one element.
static bool hasOneAxis(ArrayRef<int64_t> shape) {
  return llvm::count_if(shape, [](int64_t size) { return size != 1; }) <= 1;
}

/// True if `value` is a product or convolution, rearranged.
static bool isProduct(Value value) {
  constexpr unsigned most = 8;
  for (unsigned step = 0; step < most; ++step) {
    Operation *definer = value.getDefiningOp();
    if (!definer || !definer->getNumOperands())
      return false;
    WeightOperandRole operandRole = getWeightOperandRole(definer, 1);
    if (operandRole == WeightOperandRole::Product ||
        operandRole == WeightOperandRole::Weight)
      return true;
    if (operandRole != WeightOperandRole::None || !isRearranged(definer))
      return false;
    value = definer->getOperand(0);
  }
  return false;
}

/// True if the result's last axis has one element, as in a layer with one
/// output.
static bool hasOneColumn(Operation *node) {
  auto type = dyn_cast<RankedTensorType>(node->getResult(0).getType());
  return type && type.getRank() > 0 && type.getShape().back() == 1;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

ParameterUse RoleRules::takeUnlessFixed(ContentUse use,
                                        ParameterRole role) const {
  StringRef fixed =
      elements ? describeFixedContents(*elements, use) : StringRef();
  if (fixed.empty())
    return take(role);
  // The author has named it: it might be a weight's initial value.
  bool isDoubtful = !isGenerated && fixed.contains("in order");
  if (isDoubtful && isParameter)
    return take(role);
  return isDoubtful ? doubtfulNone(fixed) : none(fixed);
}

ParameterUse RoleRules::refuse(const Twine &reason,
                               WeightOperandRole operandRole) const {
  if (!isParameter)
    return none(reason);
  switch (operandRole) {
  case WeightOperandRole::Factor:
    return take(ParameterRole::Scale);
  case WeightOperandRole::Part:
    return take(ParameterRole::Token);
  case WeightOperandRole::State:
    return take(ParameterRole::State);
  case WeightOperandRole::Product:
    return take(ParameterRole::Weight);
  default:
    return take(ParameterRole::Bias);
  }
}

ParameterUse RoleRules::judgeProduct(const ParameterSite &site) const {
  Value other = getOther(site);
  bool isOuter = isOuterProduct(site.node, site.operand);
  if (isOuter && other && flow.get(other) == BatchFlow::Index)
    return refuse("a factor of positions", WeightOperandRole::Product);
  bool isPlain = isOuter || (other && flow.get(other) == BatchFlow::Index);
  Waves waves = findWaves(site.node->getResult(0));
  if (isPlain && waves)
    return refuse("frequencies of sines and cosines",
                  WeightOperandRole::Product);
  if (uniform && *uniform == 1 && elements->size() > 1 && isGenerated)
    return none("ones that sum");
  ParameterUse use =
      takeUnlessFixed(ContentUse::Product, ParameterRole::Weight);
  // Random Fourier features are drawn once; some models train them.
  use.isDoubtful |= other && flow.isRaw(other) && waves.sines && waves.cosines;
  return use;
}

/// A number is a weight only if its author has named it and its value does not
/// belong to a formula.
ParameterUse RoleRules::judgeSingle(const ParameterSite &site,
                                    WeightOperandRole operandRole) const {
  double number = (*elements)[0];
  Value other = getOther(site);
  bool isData =
      other && flow.get(other) == BatchFlow::Data && !flow.isRaw(other);
  if (operandRole == WeightOperandRole::Summand && isData &&
      elements->getShape().size() && hasOneColumn(site.node) &&
      isProduct(other))
    return take(ParameterRole::Bias);
  if (isGenerated || !isa<InitializerOp>(constant) || !isData)
    return none("a number");
  if (isParameter)
    return take(ParameterRole::Scale);
  bool isFirst = operandRole == WeightOperandRole::Factor &&
                 isStandardOp(site.node, "Mul") && (number == 0 || number == 1);
  // torch's exporters name parameters and buffers only.
  bool isFormula =
      isTorchExport(constant) ? isFormulaNumber(number) : isPlainNumber(number);
  if (isFirst || !isFormula)
    return take(ParameterRole::Scale, /*isDoubtful=*/true);
  return elements->getShape().empty() && !isTorchExport(constant)
             ? none("a number")
             : doubtfulNone("a number");
}

/// Judges initial values of weights, or a constant that was written out.
ParameterUse RoleRules::judgeUniform(const ParameterSite &site,
                                     WeightOperandRole operandRole) const {
  bool isScale = operandRole == WeightOperandRole::Factor;
  Value other = getOther(site);
  bool isChannel = hasOneAxis(elements->getShape());
  bool isClear =
      isChannel && !flow.isRaw(other) && flow.get(other) == BatchFlow::Data;
  ParameterRole role = isScale     ? ParameterRole::Scale
                       : isChannel ? ParameterRole::Bias
                                   : ParameterRole::Position;
  // torch's exporters write parameters as initializers, folded or not.
  bool isLiteral = isTorchExport(constant) && !isa<InitializerOp>(constant);
  bool isPlain = (*uniform == 0 || *uniform == 1) && !isLiteral;
  if (isClear && (isPlain || !isGenerated))
    return take(role);
  if (isGenerated)
    return none("equal elements");
  return take(role, /*isDoubtful=*/true);
}

ParameterUse RoleRules::judgeElementwise(const ParameterSite &site,
                                         WeightOperandRole operandRole) const {
  Value other = getOther(site);
  if (!other || flow.get(other) != BatchFlow::Data)
    return refuse("it meets no activation, only positions, masks or counts",
                  operandRole);
  if (!elements)
    return take(ParameterRole::Bias, /*isDoubtful=*/true);
  if (elements->size() == 1)
    return judgeSingle(site, operandRole);
  if (!isProduct(other) && operandRole != WeightOperandRole::Choice &&
      findWaves(site.node->getResult(0)))
    return refuse("frequencies of sines and cosines", operandRole);
  StringRef fixed = describeFixedContents(*elements, ContentUse::Elementwise);
  if (!fixed.empty())
    return takeUnlessFixed(ContentUse::Elementwise, ParameterRole::Bias);
  bool isStandardization = isStandardOp(site.node, "Sub") ||
                           isStandardOp(site.node, "Div") ||
                           elements->size() == 3;
  if (flow.isRaw(other) && isStandardization &&
      hasOneAxis(elements->getShape())) {
    ParameterUse use = refuse("it standardizes an input", operandRole);
    // Zeros and ones standardize nothing: they may be initial values.
    use.isDoubtful = uniform && !isGenerated;
    return use;
  }
  if (operandRole == WeightOperandRole::Choice)
    return uniform && isGenerated ? none("equal elements")
                                  : take(ParameterRole::Token, bool(uniform));
  if (uniform)
    return judgeUniform(site, operandRole);
  if (operandRole == WeightOperandRole::Factor)
    return take(ParameterRole::Scale);
  return take(hasOneAxis(elements->getShape()) ? ParameterRole::Bias
                                               : ParameterRole::Position);
}

/// Normalizations require a scale and a bias; an exporter writes ones and zeros
/// if the model has none, or multiplies later.
ParameterUse RoleRules::judgeBiasOrScale(const ParameterSite &site,
                                         ParameterRole role,
                                         double neutral) const {
  bool isNeutral = uniform && *uniform == neutral && isGenerated;
  if (isNeutral && getOpType(site.node).contains("Norm"))
    return none("equal elements");
  return take(role);
}

ParameterUse RoleRules::judgeState() const {
  if (uniform && (*uniform == 0 || isGenerated))
    return refuse("a first state of equal elements", WeightOperandRole::State);
  return takeUnlessFixed(ContentUse::Elementwise, ParameterRole::State);
}

/// True for indices that a search for the nearest or largest element yields.
static bool isSearched(Value indices) {
  SmallVector<Value> queue{indices};
  llvm::DenseSet<Value> seen{indices};
  constexpr size_t most = 24;
  while (!queue.empty() && seen.size() < most) {
    Operation *definer = queue.pop_back_val().getDefiningOp();
    if (!definer)
      continue;
    OperatorKind kind = getOperatorTraits(definer).kind;
    bool readsFloats = llvm::any_of(definer->getOperands(), isDifferentiable);
    if (readsFloats &&
        (kind == OperatorKind::Index || kind == OperatorKind::Ordering))
      return true;
    for (Value operand : definer->getOperands())
      if (!isDifferentiable(operand) && seen.insert(operand).second)
        queue.push_back(operand);
  }
  return false;
}

/// Judges a table. A codebook that its own search picks from may be updated by
/// averages instead of gradients.
ParameterUse RoleRules::judgeTable(const ParameterSite &site) const {
  ParameterUse use =
      takeUnlessFixed(ContentUse::Table, ParameterRole::Embedding);
  use.isDoubtful |= use.role != ParameterRole::None &&
                    isSearched(site.node->getOperand(site.operand ? 0 : 1));
  return use;
}

/// Judges a part of a longer sequence: a class token, registers; or padding.
ParameterUse RoleRules::judgePart() const {
  if (isSingle())
    return refuse("a number", WeightOperandRole::Part);
  // Exporters keep parameters in the main graph; constants of a branch only
  // fill rows.
  bool isInside = !isa<GraphOp>(constant->getParentOp());
  if (uniform && (isGenerated || isInside))
    return none("equal elements");
  ParameterUse use =
      takeUnlessFixed(ContentUse::Elementwise, ParameterRole::Token);
  use.isDoubtful |= use.role != ParameterRole::None && uniform;
  return use;
}

ParameterUse RoleRules::judge(const ParameterSite &site) const {
  WeightOperandRole operandRole = getWeightOperandRole(site.node, site.operand);
  if (operandRole == WeightOperandRole::Statistic)
    return none("a running statistic");
  if (site.isPeriodic)
    return refuse("sines or cosines are made of it", operandRole);
  // If a layer has no bias, an exporter writes zeros.
  auto type =
      dyn_cast<RankedTensorType>(site.node->getOperand(site.operand).getType());
  bool isRepeated =
      !type || !type.hasStaticShape() || type.getNumElements() > 1;
  if (isSingle() && isGenerated && isRepeated)
    return none("a number, repeated");
  switch (operandRole) {
  case WeightOperandRole::Weight:
    return takeUnlessFixed(isConvolution(site.node) ? ContentUse::Convolution
                                                    : ContentUse::Product,
                           ParameterRole::Weight);
  case WeightOperandRole::Bias:
    return judgeBiasOrScale(site, ParameterRole::Bias, 0);
  case WeightOperandRole::Scale:
    return judgeBiasOrScale(site, ParameterRole::Scale, 1);
  case WeightOperandRole::State:
    return judgeState();
  case WeightOperandRole::Product:
    return judgeProduct(site);
  case WeightOperandRole::Table:
    if (uniform && isGenerated && *uniform != 0)
      return none("equal elements");
    return judgeTable(site);
  case WeightOperandRole::Part:
    return judgePart();
  case WeightOperandRole::Summand:
  case WeightOperandRole::Factor:
  case WeightOperandRole::Choice:
    return judgeElementwise(site, operandRole);
  default:
    break;
  }
  StringRef formal = getFormalName(site.node, site.operand);
  return none("operand " +
              (formal.empty() ? ("#" + Twine(site.operand)).str()
                              : ("'" + formal + "'").str()) +
              " of " + getOpType(site.node) + " takes no weight");
}

} // namespace mp
