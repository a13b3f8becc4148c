//===- ErrorSearch.cpp - The cheapest precision within an error -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/ErrorSearch.h"

#include "Stopwatch.h"
#include "mp-opt/Dialect/MP/Attributes.h"

#include "Pipelines/Pipelines.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

/// Marks all nodes with spots: with their errors, or with zeros.
void ErrorSearch::annotate(bool isKnown) {
  struct Parts {
    std::vector<double> errors, kinks;
  };
  llvm::MapVector<Operation *, Parts> nodes;
  for (const RoundingSpot &spot : errors.getSpots()) {
    Parts &parts = nodes[spot.node];
    size_t count = spot.node->getNumResults() + spot.node->getNumOperands();
    parts.errors.resize(count);
    parts.kinks.resize(count);
    if (!isKnown)
      continue;
    size_t place =
        spot.index + (spot.isOperand ? spot.node->getNumResults() : 0);
    ErrorAttribution::Term term = errors.getTerm(spot);
    parts.errors[place] = term.error;
    parts.kinks[place] = term.kinkShare;
  }
  MLIRContext *context = module.getContext();
  bool hasKinks = isKnown && errors.getKinks().counts();
  for (auto &[node, parts] : nodes)
    node->setAttr(mark::roundingError,
                  RoundingErrorAttr::get(
                      context, DenseF64ArrayAttr::get(context, parts.errors),
                      hasKinks ? DenseF64ArrayAttr::get(context, parts.kinks)
                               : DenseF64ArrayAttr()));
}

void ErrorSearch::setLimit(double limit) {
  Builder builder(module.getContext());
  bool hasKinks = errors.getKinks().counts();
  module->setAttr(
      mark::errorLimit,
      ErrorLimitAttr::get(module.getContext(), builder.getF64FloatAttr(limit),
                          hasKinks
                              ? builder.getF64FloatAttr(errors.getKinks().error)
                              : FloatAttr()));
}

llvm::Expected<AssignedPrecision> ErrorSearch::runAssign(ModuleOp on) {
  PassManager pm(on.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(false);
  addAssign(pm, request);
  if (failed(pm.run(on)))
    return makeError({ErrorKind::BadInput, "mp-assign failed",
                      /*isReported=*/true});
  AssignedPrecision assigned;
  assigned.bytes = on->getAttrOfType<IntegerAttr>(mark::costBytes).getInt();
  return assigned;
}

llvm::Expected<AssignedPrecision> ErrorSearch::assign(double limit) {
  setLimit(limit);
  auto assigned = runAssign(module);
  if (!assigned)
    return assigned;
  assigned->limit = limit;
  assigned->active = errors.findActive();
  assigned->predicted = errors.predict(assigned->active);
  for (const RoundingSpot &spot : errors.getSpots())
    if (isLowNode(spot.node) &&
        (assigned->low.empty() || assigned->low.back() != spot.node))
      assigned->low.push_back(spot.node);
  return assigned;
}

llvm::Error ErrorSearch::measure(AssignedPrecision &assigned) {
  auto error = errors.measure(assigned.active);
  if (!error)
    return error.takeError();
  assigned.measured = *error;
  return llvm::Error::success();
}

/// A limit that every error is within.
static constexpr double noLimit = 1e300;

llvm::Error ErrorSearch::start() {
  annotate(/*isKnown=*/false);
  auto without = assign(-1);
  if (!without)
    return without.takeError();
  f32 = std::move(*without);
  auto whole = assign(noLimit);
  if (!whole)
    return whole.takeError();
  all = std::move(*whole);
  if (llvm::Error failed = errors.attribute(all.active))
    return failed;
  all.predicted = errors.predict(all.active);
  annotate(/*isKnown=*/true);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
/// The next limit for the predicted error, which is bracketed once there are
/// results on both sides.
struct Bracket {
  std::optional<double> low, high;

  void take(double asked, bool isWithin) {
    if (isWithin)
      low = std::max(asked, low.value_or(asked));
    else
      high = std::min(asked, high.value_or(asked));
  }
  bool isClosed() const { return low && high && *high / *low < 1.03; }
  double getNext(double asked, double target, double measured) const {
    if (low && high)
      return std::sqrt(*low * *high);
    double factor = 0.95 * target / std::max(measured, 1e-300);
    return asked * std::clamp(factor, 0.25, 4.0);
  }
};
} // namespace

llvm::Expected<FoundPrecision> ErrorSearch::searchByCuts(double target,
                                                         unsigned maxRuns) {
  FoundPrecision found;
  found.target = target;
  found.best = f32;
  std::map<std::vector<unsigned>, double> known = {{{}, 0}};
  Bracket bracket;
  double asked = target;
  constexpr unsigned maxSteps = 25;
  for (unsigned step = 0; step < maxSteps && !bracket.isClosed(); ++step) {
    auto assigned = assign(asked);
    if (!assigned)
      return assigned.takeError();
    auto [it, isNew] = known.try_emplace(assigned->active, 0);
    if (isNew) {
      if (found.runs == maxRuns)
        break;
      ++found.runs;
      if (llvm::Error failed = measure(*assigned))
        return std::move(failed);
      it->second = *assigned->measured;
    }
    assigned->measured = it->second;
    bool isWithin = it->second <= target;
    bracket.take(asked, isWithin);
    if (isWithin && assigned->bytes < found.best.bytes)
      found.best = *assigned;
    if (isWithin &&
        (it->second >= target / 1.25 || assigned->active == all.active))
      break;
    asked = bracket.getNext(asked, target, it->second);
  }
  if (!found.best.measured)
    found.best.measured = 0;
  // The marks of the last step are those of another assignment.
  auto again = assign(found.best.limit);
  if (!again)
    return again.takeError();
  return found;
}

//===----------------------------------------------------------------------===//
// Baselines
//===----------------------------------------------------------------------===//

/// The assignment in which exactly these nodes are 16 bit.
llvm::Expected<AssignedPrecision>
ErrorSearch::assignNodes(ArrayRef<Operation *> low) {
  OwningOpRef<ModuleOp> copy(module.clone());
  (*copy)->removeAttr(mark::errorLimit);
  llvm::DenseSet<Operation *> chosen(low.begin(), low.end());
  llvm::DenseSet<Operation *> changeable(all.low.begin(), all.low.end());
  Builder builder(module.getContext());
  auto reason = builder.getStringAttr("baseline");
  SmallVector<Operation *> originals, copies;
  module.walk([&](Operation *op) { originals.push_back(op); });
  copy->walk([&](Operation *op) { copies.push_back(op); });
  for (auto [original, op] : llvm::zip(originals, copies))
    if (changeable.contains(original))
      op->setAttr(mark::opClass,
                  ClassAttr::get(module.getContext(),
                                 chosen.contains(original) ? OpClass::Allow
                                                           : OpClass::Deny,
                                 reason, StringAttr(), StringAttr(),
                                 /*isBuiltin=*/false, /*isOverride=*/true));
  auto assigned = runAssign(*copy);
  if (!assigned)
    return assigned;
  assigned->low.assign(low.begin(), low.end());
  for (auto [number, spot] : llvm::enumerate(errors.getSpots())) {
    Operation *source = spot.getValue().getDefiningOp();
    if (chosen.contains(spot.node) &&
        !(spot.isOperand && source && chosen.contains(source)))
      assigned->active.push_back(unsigned(number));
  }
  return assigned;
}

llvm::Expected<AssignedPrecision>
ErrorSearch::measureNodes(ArrayRef<Operation *> low, unsigned &runs) {
  auto assigned = assignNodes(low);
  if (!assigned)
    return assigned;
  ++runs;
  if (llvm::Error failed = measure(*assigned))
    return std::move(failed);
  return assigned;
}

llvm::Expected<FoundPrecision> ErrorSearch::searchByHalves(double target) {
  FoundPrecision found;
  found.target = target;
  found.best = f32;
  found.best.measured = 0;
  std::vector<ArrayRef<Operation *>> stack = {all.low};
  while (!stack.empty()) {
    ArrayRef<Operation *> segment = stack.back();
    stack.pop_back();
    std::vector<Operation *> tried = found.best.low;
    llvm::append_range(tried, segment);
    auto assigned = measureNodes(tried, found.runs);
    if (!assigned)
      return assigned.takeError();
    if (*assigned->measured <= target) {
      found.best = std::move(*assigned);
    } else if (segment.size() > 1) {
      stack.push_back(segment.drop_front(segment.size() / 2));
      stack.push_back(segment.take_front(segment.size() / 2));
    }
  }
  return found;
}

llvm::Expected<FoundPrecision> ErrorSearch::searchByList(double target) {
  FoundPrecision found;
  found.target = target;
  std::vector<std::pair<double, Operation *>> list;
  for (Operation *node : all.low) {
    auto alone = measureNodes(node, found.runs);
    if (!alone)
      return alone.takeError();
    list.emplace_back(*alone->measured, node);
  }
  llvm::stable_sort(list, llvm::less_first());
  found.best = f32;
  found.best.measured = 0;
  size_t low = 0, high = list.size();
  while (low < high) {
    size_t middle = (low + high + 1) / 2;
    std::vector<Operation *> tried;
    for (auto [error, node] : ArrayRef(list).take_front(middle))
      tried.push_back(node);
    auto assigned = measureNodes(tried, found.runs);
    if (!assigned)
      return assigned.takeError();
    if (*assigned->measured <= target) {
      low = middle;
      found.best = std::move(*assigned);
    } else {
      high = middle - 1;
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Adds the seconds of a search to its result.
static llvm::Expected<FoundPrecision>
time(llvm::function_ref<llvm::Expected<FoundPrecision>()> search) {
  double seconds = 0;
  auto found = [&] {
    Stopwatch watch(seconds);
    return search();
  }();
  if (found)
    found->seconds = seconds;
  return found;
}

llvm::Expected<FoundPrecision> ErrorSearch::find(double target,
                                                 unsigned maxRuns) {
  return time([&] { return searchByCuts(target, maxRuns); });
}

llvm::Expected<FoundPrecision> ErrorSearch::bisect(double target) {
  return time([&] { return searchByHalves(target); });
}

llvm::Expected<FoundPrecision> ErrorSearch::takeByList(double target) {
  return time([&] { return searchByList(target); });
}

} // namespace mp
