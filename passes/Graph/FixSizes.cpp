//===- FixSizes.cpp - Sizes that a model leaves open ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mp {
#define GEN_PASS_DEF_FIXSIZES
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct FixSizes : public mp::impl::FixSizesBase<FixSizes> {
  using FixSizesBase::FixSizesBase;

  void runOnOperation() override;

private:
  bool checkNames(GraphOp graph);
  DictionaryAttr fixShape(BlockArgument input, DictionaryAttr info);
  void fixNumber(NodeBuilder &builder, BlockArgument input);

  llvm::StringMap<int64_t> sizes;
  /// Names that a size can be given to, and those that got one.
  llvm::SetVector<StringRef> known;
  llvm::StringSet<> used;
};

} // namespace

static DictionaryAttr getFields(DictionaryAttr fields, StringRef name) {
  return fields ? fields.getAs<DictionaryAttr>(name) : DictionaryAttr();
}

/// `fields` with its list of dimensions replaced.
static DictionaryAttr withDims(DictionaryAttr fields, ArrayAttr dims) {
  for (StringRef name : {"shape", "tensor_type", "type"})
    if (DictionaryAttr inner = getFields(fields, name)) {
      NamedAttrList list(fields);
      list.set(name, withDims(inner, dims));
      return list.getDictionary(fields.getContext());
    }
  NamedAttrList list(fields);
  list.set("dim", dims);
  return list.getDictionary(fields.getContext());
}

/// Fixes dimensions of an input by the names that the model gives them; returns
/// the new description of the input.
DictionaryAttr FixSizes::fixShape(BlockArgument input, DictionaryAttr info) {
  auto type = dyn_cast<RankedTensorType>(input.getType());
  DictionaryAttr shape =
      getFields(getFields(getFields(info, "type"), "tensor_type"), "shape");
  auto dims = shape ? shape.getAs<ArrayAttr>("dim") : ArrayAttr();
  if (!type || !dims || int64_t(dims.size()) != type.getRank())
    return info;
  SmallVector<int64_t> fixed(type.getShape());
  SmallVector<Attribute> described(dims.begin(), dims.end());
  Builder builder(info.getContext());
  for (auto [size, dim] : llvm::zip(fixed, described)) {
    auto fields = dyn_cast<DictionaryAttr>(dim);
    auto name = fields ? fields.getAs<StringAttr>("dim_param") : StringAttr();
    if (!name || !ShapedType::isDynamic(size))
      continue;
    known.insert(name.getValue());
    auto it = sizes.find(name.getValue());
    if (it == sizes.end())
      continue;
    size = it->second;
    used.insert(it->first());
    dim = builder.getDictionaryAttr(
        builder.getNamedAttr("dim_value", builder.getI64IntegerAttr(size)));
  }
  input.setType(type.clone(fixed));
  return withDims(info, builder.getArrayAttr(described));
}

/// Replaces an integer input by a constant; the caller's value is ignored.
void FixSizes::fixNumber(NodeBuilder &builder, BlockArgument input) {
  auto type = dyn_cast<RankedTensorType>(input.getType());
  if (!type || type.getRank() != 0 || !isa<IntegerType>(type.getElementType()))
    return;
  known.insert(onnxir::getValueName(input));
  auto it = sizes.find(onnxir::getValueName(input));
  if (it == sizes.end())
    return;
  used.insert(it->first());
  builder.setInsertionPoint(&input.getOwner()->front());
  builder.setBase(it->first());
  Value number = builder.scalar(double(it->second), type.getElementType());
  input.replaceUsesWithIf(
      number, [](OpOperand &use) { return !isa<YieldOp>(use.getOwner()); });
}

/// Reports a name in `fixed` that no size can be given to.
bool FixSizes::checkNames(GraphOp graph) {
  for (const std::string &entry : fixed) {
    StringRef name = StringRef(entry).rsplit('=').first;
    if (used.contains(name))
      continue;
    graph.emitError() << "sizes to fix: no input is a whole number called '"
                      << name << "', or has an open dimension of that name"
                      << suggestNearest(name, known);
    return false;
  }
  return true;
}

void FixSizes::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph || fixed.empty())
    return;
  if (llvm::Error failed = parseDimensions(
          std::vector<std::string>(fixed.begin(), fixed.end()), sizes)) {
    graph.emitError() << "sizes to fix: " << toString(std::move(failed));
    return signalPassFailure();
  }
  GraphEditor editor(graph);
  NodeBuilder builder(getOperation());
  auto infos = editor.getYield()->getAttrOfType<ArrayAttr>(attr::inputs);
  SmallVector<Attribute> described;
  if (infos)
    described.assign(infos.begin(), infos.end());
  for (BlockArgument input : editor.getBlock().getArguments()) {
    unsigned index = input.getArgNumber();
    auto info = index < described.size()
                    ? dyn_cast<DictionaryAttr>(described[index])
                    : DictionaryAttr();
    if (info)
      described[index] = fixShape(input, info);
    fixNumber(builder, input);
  }
  if (infos)
    editor.getYield()->setAttr(attr::inputs,
                               ArrayAttr::get(&getContext(), described));
  if (!checkNames(graph))
    signalPassFailure();
}
