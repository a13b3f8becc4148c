//===- GraphExporter.cpp - Modules into ModelProtos -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphExporter.h"
#include "ProtoAttr.h"

#include "mp-opt/Dialect/MP/MP.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;
namespace pb = google::protobuf;

namespace mp {

namespace {

class GraphExporter {
public:
  GraphExporter(TensorSink &sink) : sink(sink) {}

  /// Appends the nodes to `nodes` as bytes, if it is set.
  LogicalResult exportGraph(Region &region, ::onnx::GraphProto &graph,
                            std::string *nodes = nullptr);
  LogicalResult exportFunction(FunctionOp op, ::onnx::FunctionProto &function);

private:
  using Nodes = pb::RepeatedPtrField<::onnx::NodeProto>;

  LogicalResult exportNodes(Block &block, Nodes &nodes);
  LogicalResult exportNodes(Block &block, std::string &nodes);
  LogicalResult
  forEachNode(Block &block,
              llvm::function_ref<LogicalResult(Operation *)> visit);
  LogicalResult exportNode(Operation *op, ::onnx::NodeProto &node);
  LogicalResult exportAttributes(Operation *op, ::onnx::NodeProto &node);
  LogicalResult exportRegions(Operation *op, ::onnx::NodeProto &node);
  LogicalResult exportInitializer(InitializerOp op, ::onnx::GraphProto &graph);
  LogicalResult
  exportInfos(YieldOp yield, StringRef attribute,
              pb::RepeatedPtrField<::onnx::ValueInfoProto> &infos,
              llvm::function_ref<Type(unsigned, StringRef)> typeOf);
  /// All values that `region` defines, by name.
  llvm::StringMap<Value> getValues(Region &region);

  TensorSink &sink;
};

} // namespace

/// True for attributes that describe a node; others are ONNX's own.
static bool isOwnAttribute(StringRef name) {
  return name.contains('.') || name.starts_with("onnx_");
}

static DictionaryAttr without(DictionaryAttr dictionary, StringRef key) {
  NamedAttrList list(dictionary);
  list.erase(key);
  return list.getDictionary(dictionary.getContext());
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult GraphExporter::exportRegions(Operation *op,
                                           ::onnx::NodeProto &node) {
  using Proto = ::onnx::AttributeProto;
  auto emitError = [&] { return op->emitError() << describe(op) << ": "; };
  if (!op->getNumRegions())
    return success();
  auto names = op->getAttrOfType<ArrayAttr>(attr::regions);
  if (!names || names.size() != op->getNumRegions())
    return emitError() << "expected a name in '" << attr::regions
                       << "' for each of its " << op->getNumRegions()
                       << " subgraphs";
  auto fields = op->getAttrOfType<DictionaryAttr>(attr::regionFields);
  for (auto [entry, region] : llvm::zip(names, op->getRegions())) {
    auto text = dyn_cast<StringAttr>(entry);
    if (!text)
      return emitError() << "expected names in '" << attr::regions << "'";
    StringRef name = text.getValue();
    bool list = name.consume_back("[]");
    Proto *attribute = nullptr;
    if (list && node.attribute_size() &&
        node.attribute(node.attribute_size() - 1).name() == name)
      attribute = node.mutable_attribute(node.attribute_size() - 1);
    if (!attribute) {
      attribute = node.add_attribute();
      attribute->set_name(name.str());
      auto special = dyn_cast_or_null<DictionaryAttr>(fields ? fields.get(name)
                                                             : Attribute());
      if (!special)
        attribute->set_type(list ? Proto::GRAPHS : Proto::GRAPH);
      else if (failed(attrToProto(special, *attribute, emitError)))
        return failure();
    }
    if (failed(exportGraph(region, list ? *attribute->add_graphs()
                                        : *attribute->mutable_g())))
      return failure();
  }
  return success();
}

LogicalResult GraphExporter::exportAttributes(Operation *op,
                                              ::onnx::NodeProto &node) {
  auto emitError = [&] { return op->emitError() << describe(op) << ": "; };
  for (NamedAttribute entry : op->getDiscardableAttrs()) {
    if (isOwnAttribute(entry.getName()))
      continue;
    if (failed(convertAttribute(entry.getValue(), entry.getName(), sink,
                                *node.add_attribute(), emitError)))
      return failure();
  }
  if (failed(exportRegions(op, node)))
    return failure();
  // Use the order of the model, if it differs from the alphabetical one.
  llvm::StringMap<int> rank;
  if (auto order = op->getAttrOfType<ArrayAttr>(attr::order)) {
    for (auto [index, name] : llvm::enumerate(order.getAsRange<StringAttr>()))
      rank[name] = int(index);
  } else if (!op->getNumRegions()) {
    return success();
  }
  auto &attributes = *node.mutable_attribute();
  auto key = [&](const ::onnx::AttributeProto &attribute) {
    auto it = rank.find(attribute.name());
    return std::make_pair(it == rank.end() ? INT32_MAX : it->second,
                          StringRef(attribute.name()));
  };
  std::stable_sort(
      attributes.pointer_begin(), attributes.pointer_end(),
      [&](const auto *lhs, const auto *rhs) { return key(*lhs) < key(*rhs); });
  return success();
}

LogicalResult GraphExporter::exportNode(Operation *op,
                                        ::onnx::NodeProto &node) {
  auto emitError = [&] { return op->emitError() << describe(op) << ": "; };
  StringRef opType = getOpType(op), domain = getDomain(op);
  node.set_op_type(opType.data(), opType.size());
  if (!domain.empty())
    node.set_domain(domain.data(), domain.size());
  if (auto name = op->getAttrOfType<StringAttr>(attr::name))
    node.set_name(name.data(), name.size());
  if (auto extra = op->getAttrOfType<DictionaryAttr>(attr::extra)) {
    if (isa_and_nonnull<UnitAttr>(extra.get("domain"))) {
      node.clear_domain();
      extra = without(extra, "domain");
    }
    if (failed(attrToProto(extra, node, emitError)))
      return failure();
  }
  for (Value operand : op->getOperands()) {
    StringRef name = getValueName(operand);
    if (name.empty() && !isa<NoneType>(operand.getType()))
      return emitError() << "an operand has no ONNX name";
    node.add_input(name.data(), name.size());
  }
  for (OpResult result : op->getResults()) {
    StringRef name = getValueName(result);
    if (name.empty() &&
        (!result.use_empty() || !isa<NoneType>(result.getType())))
      return emitError() << "a result has no ONNX name";
    node.add_output(name.data(), name.size());
  }
  return exportAttributes(op, node);
}

LogicalResult GraphExporter::forEachNode(
    Block &block, llvm::function_ref<LogicalResult(Operation *)> visit) {
  for (Operation &op : block) {
    if (isNode(&op)) {
      if (failed(visit(&op)))
        return failure();
    } else if (isa<AllReduceOp>(op)) {
      return op.emitError()
             << "a distributed step cannot be written as ONNX, which has no "
                "collective operators: write MLIR (.mlirbc), or a step of "
                "--optimizer=none, whose gradients the caller reduces";
    } else if (!isa<InitializerOp, AbsentOp, OuterOp, YieldOp>(op)) {
      return op.emitError()
             << "'" << op.getName() << "' cannot be exported to ONNX";
    }
  }
  return success();
}

LogicalResult GraphExporter::exportNodes(Block &block, Nodes &nodes) {
  return forEachNode(
      block, [&](Operation *op) { return exportNode(op, *nodes.Add()); });
}

LogicalResult GraphExporter::exportNodes(Block &block, std::string &nodes) {
  using Format = pb::internal::WireFormatLite;
  pb::io::StringOutputStream stream(&nodes);
  pb::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  ::onnx::NodeProto node;
  return forEachNode(block, [&](Operation *op) {
    node.Clear();
    if (failed(exportNode(op, node)))
      return failure();
    coded.WriteTag(Format::MakeTag(::onnx::GraphProto::kNodeFieldNumber,
                                   Format::WIRETYPE_LENGTH_DELIMITED));
    size_t size = node.ByteSizeLong();
    if (size > INT32_MAX)
      return LogicalResult(op->emitError() << describe(op) << ": has " << size
                                           << " bytes, which ONNX cannot hold");
    coded.WriteVarint32(uint32_t(size));
    node.SerializeWithCachedSizes(&coded);
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

LogicalResult GraphExporter::exportInitializer(InitializerOp op,
                                               ::onnx::GraphProto &graph) {
  auto emitError = [&] {
    return op.emitError() << "initializer '" << op.getName() << "': ";
  };
  if (op.getSparse())
    return attrToProto(op.getFieldsAttr(), *graph.add_sparse_initializer(),
                       emitError);
  ::onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(op.getName().str());
  return convertTensor(op.getValueAttr(), op.getType(), op.getFieldsAttr(),
                       sink, tensor, emitError);
}

llvm::StringMap<Value> GraphExporter::getValues(Region &region) {
  llvm::StringMap<Value> values;
  for (BlockArgument argument : region.getArguments())
    values.try_emplace(getValueName(argument), argument);
  for (Operation &op : region.front())
    for (OpResult result : op.getResults())
      values.try_emplace(getValueName(result), result);
  return values;
}

LogicalResult GraphExporter::exportInfos(
    YieldOp yield, StringRef attribute,
    pb::RepeatedPtrField<::onnx::ValueInfoProto> &infos,
    llvm::function_ref<Type(unsigned, StringRef)> typeOf) {
  auto entries = yield->getAttrOfType<ArrayAttr>(attribute);
  if (!entries)
    return success();
  auto emitError = [&] { return yield.emitError() << attribute << ": "; };
  for (auto [index, entry] : llvm::enumerate(entries)) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    ::onnx::ValueInfoProto &info = *infos.Add();
    if (!fields)
      return emitError() << "expected a dictionary, got " << entry;
    if (failed(attrToProto(fields, info, emitError)))
      return failure();
    if (Type type = typeOf(index, info.name()); type && info.has_type())
      patchType(type, *info.mutable_type());
  }
  return success();
}

LogicalResult GraphExporter::exportGraph(Region &region,
                                         ::onnx::GraphProto &graph,
                                         std::string *nodes) {
  YieldOp yield = getYield(region);
  if (!yield)
    return emitError(region.getLoc()) << "expected a graph ended by onnx.yield";
  auto emitError = [&] { return yield.emitError() << "graph: "; };
  Block &block = region.front();
  if (auto extra = yield->getAttrOfType<DictionaryAttr>(attr::graph))
    if (failed(attrToProto(extra, graph, emitError)))
      return failure();
  auto inputs = yield->getAttrOfType<ArrayAttr>(attr::inputs);
  auto outputs = yield->getAttrOfType<ArrayAttr>(attr::outputs);
  if ((inputs ? inputs.size() : 0) != block.getNumArguments() ||
      (outputs ? outputs.size() : 0) != yield.getNumOperands())
    return emitError() << "expected as many entries in '" << attr::inputs
                       << "' and '" << attr::outputs
                       << "' as inputs and outputs";
  for (auto op : block.getOps<InitializerOp>())
    if (failed(exportInitializer(op, graph)))
      return failure();
  if (failed(nodes ? exportNodes(block, *nodes)
                   : exportNodes(block, *graph.mutable_node())))
    return failure();
  if (failed(exportInfos(yield, attr::inputs, *graph.mutable_input(),
                         [&](unsigned index, StringRef) {
                           return block.getArgument(index).getType();
                         })))
    return failure();
  bool named = true;
  if (failed(exportInfos(yield, attr::outputs, *graph.mutable_output(),
                         [&](unsigned index, StringRef name) {
                           Value value = yield.getOperand(index);
                           named &= getValueName(value) == name;
                           return value.getType();
                         })))
    return failure();
  // Outputs of a subgraph are identified by position. They get the names of the
  // yielded values, whatever their names were before.
  if (!isa<GraphOp>(region.getParentOp()))
    for (auto [index, value] : llvm::enumerate(yield.getOperands()))
      graph.mutable_output(int(index))->set_name(getValueName(value).str());
  else if (!named)
    return emitError() << "an output does not carry its name";
  if (!yield->hasAttr(attr::valueInfo))
    return success();
  llvm::StringMap<Value> values = getValues(region);
  return exportInfos(yield, attr::valueInfo, *graph.mutable_value_info(),
                     [&](unsigned, StringRef name) {
                       Value value = values.lookup(name);
                       return value ? value.getType() : Type();
                     });
}

//===----------------------------------------------------------------------===//
// Functions and models
//===----------------------------------------------------------------------===//

static LogicalResult
exportOpsets(Operation *op,
             pb::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports) {
  auto entries = op->getAttrOfType<ArrayAttr>(attr::opsets);
  if (!entries)
    return success();
  auto emitError = [&] { return op->emitError() << attr::opsets << ": "; };
  for (Attribute entry : entries) {
    auto fields = dyn_cast<ArrayAttr>(entry);
    if (!fields || fields.size() < 2 || !isa<IntegerAttr>(fields[1]))
      return emitError() << "expected [domain, version], got " << entry;
    ::onnx::OperatorSetIdProto &import = *imports.Add();
    if (auto domain = dyn_cast<StringAttr>(fields[0]))
      import.set_domain(domain.str());
    import.set_version(cast<IntegerAttr>(fields[1]).getInt());
    if (fields.size() > 2)
      if (auto rest = dyn_cast<DictionaryAttr>(fields[2]))
        if (failed(attrToProto(rest, import, emitError)))
          return failure();
  }
  return success();
}

LogicalResult GraphExporter::exportFunction(FunctionOp op,
                                            ::onnx::FunctionProto &function) {
  auto emitError = [&] {
    return op.emitError() << "function '" << op.getName() << "': ";
  };
  YieldOp yield = getYield(op.getBody());
  if (!yield)
    return emitError() << "expected a graph ended by onnx.yield";
  if (auto extra = op->getAttrOfType<DictionaryAttr>(attr::extra))
    if (failed(attrToProto(extra, function, emitError)))
      return failure();
  function.set_name(op.getName().str());
  if (!op.getDomain().empty())
    function.set_domain(op.getDomain().str());
  auto addNames = [&](StringRef attribute, auto &names) {
    if (auto entries = yield->getAttrOfType<ArrayAttr>(attribute))
      for (auto name : entries.getAsRange<StringAttr>())
        *names.Add() = name.str();
  };
  addNames(attr::inputs, *function.mutable_input());
  addNames(attr::outputs, *function.mutable_output());
  unsigned count = yield.getNumOperands();
  if (unsigned(function.output_size()) != count ||
      unsigned(function.input_size()) != op.getBody().getNumArguments())
    return emitError() << "expected as many names in '" << attr::inputs
                       << "' and '" << attr::outputs
                       << "' as inputs and outputs";
  // Callers identify outputs by position; inside of functions, names are those
  // of the values.
  for (auto [index, value] : llvm::enumerate(yield.getOperands()))
    function.set_output(index, getValueName(value).str());
  if (failed(exportOpsets(op, *function.mutable_opset_import())) ||
      failed(exportNodes(op.getBody().front(), *function.mutable_node())))
    return failure();
  if (!yield->hasAttr(attr::valueInfo))
    return success();
  llvm::StringMap<Value> values = getValues(op.getBody());
  return exportInfos(yield, attr::valueInfo, *function.mutable_value_info(),
                     [&](unsigned, StringRef name) {
                       Value value = values.lookup(name);
                       return value ? value.getType() : Type();
                     });
}

static LogicalResult exportTraining(GraphExporter &graphs, TrainingOp op,
                                    ::onnx::TrainingInfoProto &training) {
  auto emitError = [&] { return op.emitError() << "training_info: "; };
  if (auto extra = op->getAttrOfType<DictionaryAttr>(attr::extra))
    if (failed(attrToProto(extra, training, emitError)))
      return failure();
  if (!op.getInitialization().empty() &&
      failed(graphs.exportGraph(op.getInitialization(),
                                *training.mutable_initialization())))
    return failure();
  if (op.getAlgorithm().empty())
    return success();
  return graphs.exportGraph(op.getAlgorithm(), *training.mutable_algorithm());
}

LogicalResult exportModule(ModuleOp module, TensorSink &sink,
                           ::onnx::ModelProto &model, std::string &nodes) {
  auto emitError = [&] { return module.emitError() << "model: "; };
  if (auto fields = module->getAttrOfType<DictionaryAttr>(attr::model))
    if (failed(attrToProto(fields, model, emitError)))
      return failure();
  if (failed(exportOpsets(module, *model.mutable_opset_import())))
    return failure();
  GraphExporter graphs(sink);
  for (Operation &op : *module.getBody()) {
    LogicalResult result = failure();
    if (auto graph = dyn_cast<GraphOp>(op)) {
      if (model.has_graph())
        return graph.emitError() << "expected one onnx.graph, found another";
      result =
          graphs.exportGraph(graph.getBody(), *model.mutable_graph(), &nodes);
    } else if (auto function = dyn_cast<FunctionOp>(op)) {
      result = graphs.exportFunction(function, *model.add_functions());
    } else if (auto training = dyn_cast<TrainingOp>(op)) {
      result = exportTraining(graphs, training, *model.add_training_info());
    } else {
      return op.emitError()
             << "'" << op.getName() << "' cannot be exported to ONNX";
    }
    if (failed(result))
      return failure();
  }
  if (!model.has_graph())
    return emitError() << "expected an onnx.graph, found none";
  return success();
}

} // namespace mp
