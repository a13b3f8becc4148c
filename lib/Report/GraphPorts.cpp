//===- GraphPorts.cpp - Types of inputs and outputs -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/GraphPorts.h"

#include "WorkForms.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Report/ReportForms.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Words that users know for a type of an input or output.
static std::string describePortType(Type type) {
  Type element = getTensorElementType(type);
  if (element && element.isF32())
    return "fp32";
  if (element && is16BitTensor(type))
    return getPrecisionName(element).str();
  if (StringRef name = getElementKindName(getElementKind(element));
      element && !name.empty())
    return name.str();
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Reads the inputs or the outputs; `types` are those at the start, if known.
static std::vector<GraphPort> readPorts(ValueRange values, ArrayAttr types) {
  std::vector<GraphPort> ports;
  for (auto [index, value] : llvm::enumerate(values)) {
    auto before = types && index < types.size()
                      ? dyn_cast<TypeAttr>(types[index])
                      : TypeAttr();
    std::string type = describePortType(value.getType());
    ports.push_back({onnxir::getValueName(value).str(), type,
                     before ? describePortType(before.getValue()) : type});
  }
  return ports;
}

GraphPorts GraphPorts::read(ModuleOp module) {
  GraphPorts ports;
  GraphOp graph = getMainGraph(module);
  YieldOp yield = graph ? getYield(graph.getBody()) : YieldOp();
  if (!yield)
    return ports;
  auto getTypes = [&](StringRef mark) {
    return module->getAttrOfType<ArrayAttr>(mark);
  };
  ports.inputs =
      readPorts(graph.getBody().getArguments(), getTypes(mark::inputTypes));
  ports.outputs = readPorts(yield->getOperands(), getTypes(mark::outputTypes));
  return ports;
}

static void printPorts(StringRef title, ArrayRef<GraphPort> ports,
                       raw_ostream &os) {
  constexpr size_t most = 4;
  bool isPlain = llvm::all_of(ports, [](const GraphPort &port) {
    return port.type == port.before && port.type != "fp16" &&
           port.type != "bf16";
  });
  if (isPlain)
    return;
  using Types = std::pair<StringRef, StringRef>;
  llvm::MapVector<Types, std::vector<StringRef>> names;
  for (const GraphPort &port : ports)
    names[{port.type, port.before}].push_back(port.name);
  std::string text;
  for (const auto &[types, list] : names) {
    text += (text.empty() ? "" : "; ") + types.first.str();
    if (types.first != types.second)
      text += " (was " + types.second.str() + ")";
    text += ": " + llvm::join(ArrayRef(list).take_front(most), ", ");
    if (list.size() > most)
      text += " and " + std::to_string(list.size() - most) + " more";
  }
  printWrapped((title + " in " + text).str(), 2, os);
}

void GraphPorts::print(raw_ostream &os) const {
  printPorts("inputs", inputs, os);
  printPorts("outputs", outputs, os);
}

void GraphPorts::write(llvm::json::OStream &json) const {
  for (auto [key, ports] : {std::pair("graph_inputs", &inputs),
                            std::pair("graph_outputs", &outputs)})
    json.attributeArray(key, [&, ports = ports] {
      for (const GraphPort &port : *ports)
        json.object([&] {
          json.attribute("name", toJSON(port.name));
          json.attribute("type", toJSON(port.type));
          json.attribute("before", toJSON(port.before));
        });
    });
}

} // namespace mp
