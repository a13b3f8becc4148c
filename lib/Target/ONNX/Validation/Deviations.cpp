//===- Deviations.cpp - Harmless faults of models -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Deviations.h"

using namespace mlir;

namespace mp {

namespace {

struct Row {
  Deviation kind;
  /// Messages following the location: the fault, and why it does no harm. The
  /// comment of each row names the programs that write such models.
  StringLiteral wrong, harmless;
  /// True for faults that are too common for a warning to be useful.
  bool isQuiet = false;
};

} // namespace

static constexpr Row rows[] = {
    // onnxruntime's offline optimizers and training graphs, and hand-made
    // models. The names determine the intended order.
    {Deviation::UnsortedNodes, "reads a value that a later node defines",
     "nodes are put in order"},
    // Operators of runtimes, and experimental ones of early ONNX, in the
    // default domain. Custom operators are kept in any domain.
    {Deviation::UnknownOperator, "is of an operator that ONNX does not know",
     "it is kept as it is"},
    // Domains of torch's exporter and of custom operators hold both functions
    // and operators of a runtime.
    {Deviation::UnknownFunction,
     "calls a function that is not in the model, though its domain has others",
     "it is kept as an operator that a runtime knows"},
    // onnxruntime itself omits the import of its own domains, which have one
    // version.
    {Deviation::RuntimeDomain, "is of a runtime's domain that is not imported",
     "the domain has one version"},
    // onnxruntime had these before ONNX had them, in the default domain.
    {Deviation::RuntimeOperator,
     "is of an operator that its opset does not have yet, but onnxruntime does",
     "later opsets define it as the runtime does"},
    // torch's exporters and others, of GroupNormalization-18, which a later
    // opset corrects.
    {Deviation::WithdrawnVersion,
     "is of a version of its operator that ONNX has withdrawn",
     "runtimes have it, and mp-opt can raise it"},
    // Pruned and cut-out models.
    {Deviation::OpenOutput, "does not say of what type it is",
     "that is inferred"},
    // Exporters that do no shape inference; ONNX's own helper functions.
    {Deviation::OpenShape, "does not say of what shape it is",
     "that is inferred", /*isQuiet=*/true},
    // Models whose batch size was changed by hand, and graphs of onnxruntime's
    // training: value_info is that of an earlier form of the model.
    {Deviation::StaleShape, "is declared with another shape than it has",
     "the inferred one counts"},
    // Converters that write an unknown size as frameworks do. Other negative
    // sizes have no meaning.
    {Deviation::MinusOne, "is declared with a size of -1",
     "that size is unknown"},
    // tf2onnx and torch's TorchScript exporter name values of branches and
    // loop bodies like those outside. The inner one is meant.
    {Deviation::HiddenName, "has the name of a value outside of its graph",
     "the inner one is meant inside"},
    // Tools that convert models of IR 3 or older without raising the version.
    {Deviation::NoInputForInitializer,
     "is not an input, as IR versions before 4 demand", "it is a constant"},
    // Writers of IR 1 left the type out.
    {Deviation::UntypedAttribute, "does not say its type",
     "the field that is in use does"},
    // Hand-made models and subgraphs.
    {Deviation::UnnamedGraph, "has no name", "nothing refers to it"},
    // Remains of nodes after pruning.
    {Deviation::IdleNode, "has neither inputs nor outputs",
     "it computes nothing"},
};

static constexpr bool areInOrder() {
  for (unsigned i = 0; i < std::size(rows); ++i)
    if (unsigned(rows[i].kind) != i)
      return false;
  return std::size(rows) == unsigned(Deviation::Count);
}
static_assert(areInOrder(), "a row for each kind, in their order");

static const Row &getRow(Deviation kind) { return rows[unsigned(kind)]; }

LogicalResult Deviations::add(Deviation kind, const Twine &where) {
  const Row &row = getRow(kind);
  if (check == CheckLevel::Strict)
    return emitError(loc) << where << ": " << row.wrong
                          << "; a lenient check accepts that";
  Found &entry = found[unsigned(kind)];
  if (!entry.count++)
    entry.first = where.str();
  return success();
}

void Deviations::report() {
  for (const Row &row : rows) {
    const Found &entry = found[unsigned(row.kind)];
    if (!entry.count || row.isQuiet)
      continue;
    InFlightDiagnostic warning = emitWarning(loc);
    warning << entry.first;
    if (entry.count > 1)
      warning << " and " << entry.count - 1 << " more";
    warning << ": " << row.wrong << "; " << row.harmless;
  }
}

} // namespace mp
