//===- FixSizes.cpp - Sizes that a model leaves open ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Precision/ValueSizes.h"
#include "mp-opt/Target/ONNX/NodeBuilder.h"

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
  void fixShape(BlockArgument input, DictionaryAttr info);
  void fixNumber(NodeBuilder &builder, BlockArgument input);

  llvm::StringMap<int64_t> sizes;
  llvm::StringSet<> used;
};

} // namespace

static DictionaryAttr getFields(DictionaryAttr fields, StringRef name) {
  return fields ? fields.getAs<DictionaryAttr>(name) : DictionaryAttr();
}

/// Dimensions of an input, by the names that the model gives them.
void FixSizes::fixShape(BlockArgument input, DictionaryAttr info) {
  auto type = dyn_cast<RankedTensorType>(input.getType());
  DictionaryAttr shape =
      getFields(getFields(getFields(info, "type"), "tensor_type"), "shape");
  auto dims = shape ? shape.getAs<ArrayAttr>("dim") : ArrayAttr();
  if (!type || !dims || int64_t(dims.size()) != type.getRank())
    return;
  SmallVector<int64_t> fixed(type.getShape());
  for (auto [size, dim] : llvm::zip(fixed, dims)) {
    auto fields = dyn_cast<DictionaryAttr>(dim);
    auto name = fields ? fields.getAs<StringAttr>("dim_param") : StringAttr();
    auto it = name ? sizes.find(name.getValue()) : sizes.end();
    if (it == sizes.end() || !ShapedType::isDynamic(size))
      continue;
    size = it->second;
    used.insert(it->first());
  }
  input.setType(type.clone(fixed));
}

/// An input that is a whole number: the caller's is not read any more.
void FixSizes::fixNumber(NodeBuilder &builder, BlockArgument input) {
  auto type = dyn_cast<RankedTensorType>(input.getType());
  auto it = sizes.find(onnxir::getValueName(input));
  if (it == sizes.end() || !type || type.getRank() != 0 ||
      !isa<IntegerType>(type.getElementType()))
    return;
  used.insert(it->first());
  builder.setInsertionPoint(&input.getOwner()->front());
  builder.setBase(it->first());
  Value number = builder.scalar(double(it->second), type.getElementType());
  input.replaceUsesWithIf(
      number, [](OpOperand &use) { return !isa<YieldOp>(use.getOwner()); });
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
  for (BlockArgument input : editor.getBlock().getArguments()) {
    unsigned index = input.getArgNumber();
    if (infos && index < infos.size())
      fixShape(input, dyn_cast<DictionaryAttr>(infos[index]));
    fixNumber(builder, input);
  }
  for (const std::string &entry : fixed)
    if (StringRef name = StringRef(entry).rsplit('=').first;
        !used.contains(name)) {
      graph.emitError() << "sizes to fix: no input is a whole number called '"
                        << name << "', or has an open dimension of that name";
      return signalPassFailure();
    }
}
