//===- MergeFunctions.cpp - Settle which clones a model needs -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Callees are merged before callers: calls of merged functions are then equal
// when bodies are compared. A body is represented by a text of its structure,
// in which values are numbers and which is looked up in a hash table, and by a
// list of types.
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/InferredTypes.h"

#include "llvm/ADT/StringSet.h"

namespace mp {
#define GEN_PASS_DEF_MERGEFUNCTIONS
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct MergeFunctions : public mp::impl::MergeFunctionsBase<MergeFunctions> {
  using MergeFunctionsBase::MergeFunctionsBase;

  void runOnOperation() override;
};

/// The computation of a function: equal for functions that differ only in the
/// names of nodes and values, and in marks.
struct Body {
  std::string structure;
  /// The types of all values in order, without shapes.
  SmallVector<Type> types;
};

class Merger {
public:
  Merger(ModuleOp module, std::string suffix)
      : module(module), table(module), suffix(std::move(suffix)) {}

  void run();

private:
  void collect();
  void order(FunctionOp root);
  void merge(FunctionOp clone);
  Body getBody(FunctionOp function);
  FunctionOp getOriginal(FunctionOp clone);
  void replace(FunctionOp clone, FunctionOp by);
  void dropUncalled();
  void nameClones();

  ModuleOp module;
  FunctionTable table;
  std::string suffix;
  /// The calls of each clone, and the clones that it calls.
  llvm::DenseMap<Operation *, std::vector<CustomOp>> calls;
  llvm::DenseMap<Operation *, std::vector<FunctionOp>> callees;
  /// Clones in an order in which callees come before their callers.
  std::vector<FunctionOp> ordered;
  llvm::DenseSet<Operation *> visited;
  llvm::DenseMap<Operation *, Body> originals;
  llvm::StringMap<FunctionOp> representatives;
};

} // namespace

//===----------------------------------------------------------------------===//
// Equality
//===----------------------------------------------------------------------===//

namespace {

/// Writes the text of a body.
class BodyWriter {
public:
  explicit BodyWriter(const FunctionTable &table)
      : table(table), os(body.structure) {}

  Body write(FunctionOp function) {
    writeRegion(function.getBody());
    return std::move(body);
  }

private:
  void writeRegion(Region &region);
  void writeOp(Operation *op);
  void define(Value value) {
    numbers.try_emplace(value, numbers.size() + 1);
    body.types.push_back(withoutShape(value.getType()));
  }

  const FunctionTable &table;
  Body body;
  llvm::raw_string_ostream os;
  llvm::DenseMap<Value, unsigned> numbers;
};

} // namespace

/// True for attributes that are names, or that repeat other parts of the IR.
static bool isIgnored(StringRef name) {
  return name.starts_with("mp.") || name == attr::name ||
         name == attr::results || name == attr::inputs ||
         name == attr::outputs || name == attr::valueInfo;
}

void BodyWriter::writeOp(Operation *op) {
  os << '\n' << op->getName().getAsOpaquePointer();
  for (Value operand : op->getOperands())
    os << ' ' << numbers.lookup(operand);
  bool isInitializer = isa<InitializerOp>(op);
  for (NamedAttribute attribute : op->getAttrDictionary()) {
    if (isIgnored(attribute.getName()) ||
        (isInitializer && attribute.getName() == "name"))
      continue;
    os << ' ' << attribute.getName().getAsOpaquePointer() << '='
       << attribute.getValue().getAsOpaquePointer();
  }
  if (op->hasAttr(mark::callee))
    os << " ->" << table.lookup(op).getOperation();
  os << ' ' << op->getNumResults();
  for (OpResult result : op->getResults())
    define(result);
  for (Region &region : op->getRegions())
    writeRegion(region);
}

void BodyWriter::writeRegion(Region &region) {
  os << '{' << region.getNumArguments();
  for (BlockArgument argument : region.getArguments())
    define(argument);
  for (Operation &op : region.getOps())
    writeOp(&op);
  os << '}';
}

/// A function whose values have the types in `stated`, as far as it states
/// any, may be called where they have those in `actual`.
static bool admits(ArrayRef<Type> stated, ArrayRef<Type> actual) {
  return llvm::all_of(llvm::zip_equal(stated, actual), [](auto pair) {
    auto [before, after] = pair;
    return isa<UnknownType>(before) || before == after;
  });
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

Body Merger::getBody(FunctionOp function) {
  return BodyWriter(table).write(function);
}

void Merger::collect() {
  for (Operation *scope : getScopes(module))
    scope->walk([&](CustomOp call) {
      if (!call->hasAttr(mark::callee))
        return;
      FunctionOp callee = table.lookup(call);
      if (!callee)
        return;
      calls[callee].push_back(call);
      if (isa<FunctionOp>(scope))
        callees[scope].push_back(callee);
    });
}

void Merger::order(FunctionOp root) {
  std::vector<std::pair<FunctionOp, size_t>> stack;
  auto open = [&](FunctionOp function) {
    if (visited.insert(function).second)
      stack.emplace_back(function, 0);
  };
  open(root);
  while (!stack.empty()) {
    auto &[function, next] = stack.back();
    std::vector<FunctionOp> &called = callees[function];
    if (next < called.size()) {
      open(called[next++]);
      continue;
    }
    ordered.push_back(function);
    stack.pop_back();
  }
}

FunctionOp Merger::getOriginal(FunctionOp clone) {
  auto name = clone->getAttrOfType<StringAttr>(mark::specialized);
  return name ? table.lookup(clone.getDomain(), name.getValue(),
                             getOverload(clone))
              : FunctionOp();
}

void Merger::replace(FunctionOp clone, FunctionOp by) {
  for (CustomOp call : calls[clone])
    if (isSpecialized(by))
      call->setAttr(mark::callee, by.getNameAttr());
    else
      call->removeAttr(mark::callee);
  table.erase(clone);
  clone->erase();
}

void Merger::merge(FunctionOp clone) {
  Body body = getBody(clone);
  FunctionOp original = getOriginal(clone);
  if (!original)
    return;
  auto [it, isNew] = originals.try_emplace(original);
  if (isNew)
    it->second = getBody(original);
  if (it->second.structure == body.structure &&
      admits(it->second.types, body.types))
    return replace(clone, original);
  llvm::raw_string_ostream os(body.structure);
  os << '\n' << original.getOperation();
  for (Type type : body.types)
    os << ' ' << type.getAsOpaquePointer();
  auto [same, isFirst] = representatives.try_emplace(body.structure, clone);
  if (!isFirst)
    replace(clone, same->second);
}

//===----------------------------------------------------------------------===//
// Functions that remain
//===----------------------------------------------------------------------===//

namespace {

/// The functions that calls lead to.
class Reached {
public:
  using Lookup = llvm::function_ref<FunctionOp(Operation *)>;

  /// Adds the functions that calls in `scope` lead to.
  void add(Operation *scope, Lookup lookup) {
    std::vector<Operation *> worklist{scope};
    while (!worklist.empty()) {
      Operation *next = worklist.back();
      worklist.pop_back();
      next->walk([&](CustomOp call) {
        FunctionOp callee = lookup(call);
        if (callee && functions.insert(callee).second)
          worklist.push_back(callee);
      });
    }
  }
  bool contains(Operation *function) const {
    return functions.contains(function);
  }

private:
  llvm::DenseSet<Operation *> functions;
};

} // namespace

void Merger::dropUncalled() {
  auto original = [&](Operation *op) { return table.lookupOriginal(op); };
  auto callee = [&](Operation *op) { return table.lookup(op); };
  Reached before, now;
  for (Operation &op : module.getOps())
    if (isa<GraphOp>(op)) {
      before.add(&op, original);
      now.add(&op, callee);
    }
  for (Operation &op : module.getOps()) {
    auto function = dyn_cast<FunctionOp>(op);
    if (isa<TrainingOp>(op) ||
        (function && !isSpecialized(function) && !before.contains(&op)))
      now.add(&op, callee);
  }
  for (FunctionOp function :
       llvm::make_early_inc_range(module.getOps<FunctionOp>())) {
    bool isOwn = isSpecialized(function) || before.contains(function);
    if (!isOwn || now.contains(function))
      continue;
    table.erase(function);
    function->erase();
  }
}

static std::string getFullName(StringRef domain, StringRef name) {
  return (normalizeDomain(domain) + "\n" + name).str();
}

void Merger::nameClones() {
  auto &dialect = *module.getContext()->getLoadedDialect<ONNXDialect>();
  llvm::StringSet<> taken;
  module.walk([&](Operation *op) {
    if (auto call = dyn_cast<CustomOp>(op))
      taken.insert(getFullName(call.getOnnxDomain(), call.getOnnxOpType()));
    auto function = dyn_cast<FunctionOp>(op);
    if (function && !isSpecialized(function))
      taken.insert(getFullName(function.getDomain(), function.getName()));
  });
  llvm::DenseMap<Operation *, StringAttr> names;
  llvm::StringMap<unsigned> last;
  for (auto function : module.getOps<FunctionOp>()) {
    auto original = function->getAttrOfType<StringAttr>(mark::specialized);
    if (!original)
      continue;
    StringRef domain = function.getDomain();
    std::string base = (original.getValue() + "_" + suffix).str(), name;
    unsigned &number = last[getFullName(domain, base)];
    do
      name = number++ ? base + "_" + std::to_string(number) : base;
    while (dialect.getSchemas().lookup(domain, name) ||
           !taken.insert(getFullName(domain, name)).second);
    names[function] = StringAttr::get(module.getContext(), name);
  }
  module.walk([&](CustomOp call) {
    if (!call->hasAttr(mark::callee))
      return;
    if (StringAttr name = names.lookup(table.lookup(call)))
      call.setOnnxOpTypeAttr(name);
    call->removeAttr(mark::callee);
  });
  for (auto function : module.getOps<FunctionOp>()) {
    StringAttr name = names.lookup(function);
    if (!name)
      continue;
    function.setNameAttr(name);
    function->removeAttr(mark::specialized);
    // The model's may be newer by now.
    importModelOpsets(function, module);
  }
}

void Merger::run() {
  collect();
  for (auto function : module.getOps<FunctionOp>())
    if (isSpecialized(function))
      order(function);
  for (FunctionOp clone : ordered)
    merge(clone);
  dropUncalled();
  nameClones();
  for (auto graph : module.getOps<GraphOp>())
    graph->walk(InferredTypes::restore);
}

/// The suffix for names: the 16-bit type that the module uses or used.
static std::string getSuffix(ModuleOp module) {
  if (Type low = getLowType(module))
    return getPrecisionName(low).str();
  auto summary = module->getAttrOfType<DictionaryAttr>(mark::summary);
  auto precision =
      summary ? summary.getAs<StringAttr>("precision") : StringAttr();
  return precision && !precision.empty() ? precision.str() : "typed";
}

void MergeFunctions::runOnOperation() {
  ModuleOp module = getOperation();
  if (!module.getOps<FunctionOp>().empty())
    Merger(module, suffix.empty() ? getSuffix(module) : suffix).run();
}
