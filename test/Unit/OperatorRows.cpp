//===- OperatorRows.cpp - The table of operators against the schemas ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: operator-rows [--json]
//
// Fails for an operator of a built-in schema without a row, as one of a newer
// ONNX would be, for a row without a schema, and for facts that the schema
// contradicts. With --json, prints the rows for the tests in Python instead.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Schema/Schema.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mp;
using llvm::StringLiteral;
using llvm::StringRef;

static constexpr StringLiteral kinds[] = {
    "opaque",      "elementwise",   "logic",         "movement",  "selection",
    "combination", "ordering",      "interpolation", "reduction", "window",
    "prefix",      "contraction",   "normalization", "loss",      "generation",
    "index",       "quantization",  "control-flow",  "container", "optimizer",
    "gradient",    "communication", "other"};
static_assert(std::size(kinds) == unsigned(OperatorKind::Other) + 1);

static constexpr StringLiteral traitNames[] = {
    "exact",   "within",  "proportional", "linear",
    "bounded", "indexed", "same-count",   "narrow"};

static std::vector<std::string> failures;

static void fail(StringRef op, const llvm::Twine &what) {
  failures.push_back((op + ": " + what).str());
}

/// The operands that a family has at any version; all bits if it has variadic
/// ones.
static uint32_t getOperands(const OpFamily &family) {
  size_t most = 0;
  for (const auto &version : family.getVersions()) {
    most = std::max(most, version->inputs.size());
    for (const FormalParameter &input : version->inputs)
      if (input.option == FormalParameter::Variadic)
        return ~0u;
  }
  return (uint32_t(1) << most) - 1;
}

static void checkRow(const OpFamily &family, const OperatorTraits &traits) {
  std::string name = getQualifiedName(family.domain, family.name);
  if (traits.kind == OperatorKind::Opaque)
    return fail(name, "has a schema, but no row in lib/Operators");
  uint32_t operands = getOperands(family);
  // A value with all bits set means all operands.
  uint32_t kept = traits.getKeptTypes();
  if (kept != ~0u && (kept & ~operands))
    fail(name, "the row names operands that no version has");
  bool needsData = traits.movesData() || traits.reduces() ||
                   traits.has(Within) || traits.has(Linear);
  if (needsData && !operands)
    fail(name, "the row speaks of data, but no version has an operand");
  bool needsIndices = traits.has(Indexed) ||
                      traits.accumulation == AccumulationExtent::Axis ||
                      traits.accumulation == AccumulationExtent::Indices ||
                      traits.accumulation == AccumulationExtent::IndexTuples;
  if (needsIndices && !(operands & 0b10))
    fail(name, "the row speaks of operand 1, which no version has");
  if (traits.accumulation == AccumulationExtent::Window &&
      !family.getVersions().back()->getAttribute("kernel_shape"))
    fail(name, "the row speaks of `kernel_shape`, which the schema has not");
  if (traits.movesData() && !(traits.has(Exact) && traits.has(Within)))
    fail(name, "moves data, but is not exact and within it");
}

static void checkAll(const SchemaRegistry &registry) {
  for (const OpFamily *family : registry.getFamilies())
    checkRow(*family, getOperatorTraits(family->domain, family->name));
  forEachOperator(
      [&](StringRef domain, StringRef opType, const OperatorTraits &) {
        if (!registry.lookup(domain, opType))
          fail(getQualifiedName(domain, opType), "has a row, but no schema");
      });
}

/// Operators of a newer ONNX are reported.
static void checkNewOperator() {
  auto registry = SchemaRegistry::createBuiltin();
  StringRef text = R"({"": [{"name": "BrandNew", "since_version": 99,
    "inputs": [], "outputs": [], "attributes": [], "type_constraints": {}}]})";
  if (llvm::Error error = registry->addJSON(text, "new.json"))
    return fail("BrandNew", toString(std::move(error)));
  checkAll(*registry);
  if (failures.size() == 1 && StringRef(failures[0]).starts_with("BrandNew"))
    failures.clear();
  else
    fail("BrandNew", "is not missed");
}

static void print() {
  llvm::json::OStream json(llvm::outs(), 1);
  json.array([&] {
    forEachOperator(
        [&](StringRef domain, StringRef opType, const OperatorTraits &traits) {
          json.object([&] {
            json.attribute("domain", domain);
            json.attribute("name", opType);
            json.attribute("kind", kinds[unsigned(traits.kind)]);
            json.attributeArray("traits", [&] {
              for (unsigned bit = 0; bit < std::size(traitNames); ++bit)
                if (traits.traits >> bit & 1)
                  json.value(traitNames[bit]);
            });
            json.attribute("kept_types", int64_t(traits.getKeptTypes()));
            json.attribute("accumulates",
                           traits.accumulation != AccumulationExtent::None);
          });
        });
  });
  llvm::outs() << "\n";
}

int main(int argc, char **argv) {
  if (argc > 1 && StringRef(argv[1]) == "--json") {
    print();
    return 0;
  }
  checkAll(SchemaRegistry::builtin());
  if (failures.empty())
    checkNewOperator();
  for (const std::string &failure : failures)
    llvm::errs() << failure << "\n";
  return !failures.empty();
}
