//===- ModelContent.cpp - Identifies a model for the code cache -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model is serialized in an unambiguous form and hashed. Attributes, types
// and values get a number at their first appearance. Lists begin with their
// lengths, and variants with their kind.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/ModelContent.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {
enum class Kind : uint8_t {
  String,
  Integer,
  Float,
  Array,
  Dictionary,
  Unit,
  Type,
  Elements,
  Strings,
  DenseArray,
  Resource,
  Parts,
  Text,
  Known,
  Absent
};
} // namespace

class ModelContent::Writer {
public:
  explicit Writer(ModelContent &content) : content(content) {}

  void add(Operation *op);
  llvm::BLAKE3Result<> finish();

private:
  void addNumber(uint64_t number) { addBytes(&number, sizeof(number)); }
  void addKind(Kind kind) { addBytes(&kind, sizeof(kind)); }
  void addBytes(const void *bytes, size_t size);
  void addText(StringRef text);
  void add(Attribute attribute);
  void addNew(Attribute attribute);
  void addParts(Attribute attribute);
  void add(DenseElementsAttr elements);
  void add(const APInt &number);
  void add(Type type);
  void add(Value value);
  void add(Block &block);
  void addAttributes(Operation *op);
  void addName(Operation *op);
  void add(const OpSchema &schema);
  void add(ArrayRef<FormalParameter> parameters);
  void addContents(Attribute holder);

  ModelContent &content;
  llvm::BLAKE3 hasher;
  std::string buffer;
  llvm::DenseMap<Type, uint32_t> types;
  llvm::DenseMap<Value, uint32_t> values;
  llvm::DenseMap<Block *, uint32_t> blocks;
  /// Numbers of ops within one graph or function, whose opsets define their
  /// meaning.
  llvm::DenseMap<std::pair<const void *, Operation *>, uint32_t> opNames;
  Operation *scope = nullptr;
  /// Attributes that are resources or have some in them.
  llvm::DenseSet<Attribute> holders;
  bool hasResource = false;
  /// Resources whose elements are read.
  llvm::SetVector<Attribute> read;
};

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void ModelContent::Writer::addBytes(const void *bytes, size_t size) {
  constexpr size_t enough = 1 << 16;
  buffer.append(static_cast<const char *>(bytes), size);
  if (buffer.size() < enough)
    return;
  hasher.update(StringRef(buffer));
  buffer.clear();
}

void ModelContent::Writer::addText(StringRef text) {
  addNumber(text.size());
  addBytes(text.data(), text.size());
}

void ModelContent::Writer::add(const APInt &number) {
  addNumber(number.getBitWidth());
  addBytes(number.getRawData(), number.getNumWords() * sizeof(uint64_t));
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

void ModelContent::Writer::add(Type type) {
  auto [entry, isNew] = types.try_emplace(type, types.size());
  addNumber(entry->second);
  if (!isNew)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  addText(text);
}

void ModelContent::Writer::add(DenseElementsAttr elements) {
  if (auto strings = dyn_cast<DenseStringElementsAttr>(elements)) {
    addKind(Kind::Strings);
    add(elements.getType());
    addNumber(strings.getRawStringData().size());
    for (StringRef text : strings.getRawStringData())
      addText(text);
    return;
  }
  addKind(Kind::Elements);
  add(elements.getType());
  addNumber(elements.isSplat());
  addText({elements.getRawData().data(), elements.getRawData().size()});
}

/// Writes the name of the attribute's class and its parts.
void ModelContent::Writer::addParts(Attribute attribute) {
  addKind(Kind::Parts);
  addText(attribute.getAbstractAttribute().getName());
  attribute.walkImmediateSubElements(
      [&](Attribute part) { part ? add(part) : addKind(Kind::Absent); },
      [&](Type part) { add(part); });
}

void ModelContent::Writer::addNew(Attribute attribute) {
  llvm::TypeSwitch<Attribute>(attribute)
      .Case([&](StringAttr text) {
        addKind(Kind::String);
        add(text.getType());
        addText(text.getValue());
      })
      .Case([&](IntegerAttr number) {
        addKind(Kind::Integer);
        add(number.getType());
        add(number.getValue());
      })
      .Case([&](FloatAttr number) {
        addKind(Kind::Float);
        add(number.getType());
        add(number.getValue().bitcastToAPInt());
      })
      .Case([&](ArrayAttr list) {
        addKind(Kind::Array);
        addNumber(list.size());
        for (Attribute element : list)
          add(element);
      })
      .Case([&](DictionaryAttr dictionary) {
        addKind(Kind::Dictionary);
        addNumber(dictionary.size());
        for (NamedAttribute entry : dictionary) {
          add(entry.getName());
          add(entry.getValue());
        }
      })
      .Case([&](UnitAttr) { addKind(Kind::Unit); })
      .Case([&](TypeAttr type) {
        addKind(Kind::Type);
        add(type.getValue());
      })
      .Case([&](DenseElementsAttr elements) { add(elements); })
      .Case([&](DenseArrayAttr list) {
        addKind(Kind::DenseArray);
        add(list.getElementType());
        addText({list.getRawData().data(), list.getRawData().size()});
      })
      .Case([&](DenseResourceElementsAttr elements) {
        hasResource = true;
        addKind(Kind::Resource);
        add(elements.getType());
      })
      .Case<TensorAttr, CastElementsAttr, ProtoAttr>(
          [&](Attribute whole) { addParts(whole); })
      .Default([&](Attribute other) {
        std::string text;
        llvm::raw_string_ostream os(text);
        other.print(os);
        addKind(Kind::Text);
        addText(text);
      });
}

void ModelContent::Writer::add(Attribute attribute) {
  auto known = content.numbers.find(attribute);
  if (known != content.numbers.end()) {
    addKind(Kind::Known);
    addNumber(known->second);
    hasResource |= !holders.empty() && holders.contains(attribute);
    return;
  }
  bool outer = std::exchange(hasResource, false);
  addNew(attribute);
  content.numbers[attribute] = content.attributes.size();
  content.attributes.push_back(attribute);
  if (hasResource)
    holders.insert(attribute);
  hasResource |= outer;
}

/// The resources in `holder` are read by its lowering.
void ModelContent::Writer::addContents(Attribute holder) {
  holder.walk([&](Attribute part) {
    if (isa<DenseResourceElementsAttr>(part))
      read.insert(part);
  });
}

/// Nodes other than constants may become functions of their attributes.
void ModelContent::Writer::addAttributes(Operation *op) {
  bool isConstant = isa<InitializerOp>(op) || isStandardOp(op, "Constant");
  auto attributes = op->getPropertiesStorageSize()
                        ? op->getAttrDictionary()
                        : op->getDiscardableAttrDictionary();
  addNumber(attributes.size());
  for (NamedAttribute entry : attributes) {
    hasResource = false;
    add(entry.getName());
    add(entry.getValue());
    if (hasResource && !(isConstant && entry.getName() == "value"))
      addContents(entry.getValue());
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void ModelContent::Writer::add(Value value) {
  addNumber(values.try_emplace(value, values.size()).first->second);
}

void ModelContent::Writer::add(Block &block) {
  addNumber(blocks.try_emplace(&block, blocks.size()).first->second);
  addNumber(block.getNumArguments());
  for (BlockArgument argument : block.getArguments()) {
    add(Value(argument));
    add(argument.getType());
  }
  addNumber(block.getOperations().size());
  for (Operation &op : block)
    add(&op);
}

void ModelContent::Writer::add(ArrayRef<FormalParameter> parameters) {
  addNumber(parameters.size());
  for (const FormalParameter &parameter : parameters) {
    addText(parameter.name);
    addNumber(parameter.option);
    addNumber(parameter.typeVariable);
    addNumber(parameter.homogeneous);
    addNumber(parameter.minArity);
  }
}

/// Schemas of domains outside of ONNX may come from files and contain anything.
void ModelContent::Writer::add(const OpSchema &schema) {
  addNumber(schema.since);
  add(schema.inputs);
  add(schema.outputs);
  addNumber(schema.attributes.size());
  for (const AttributeSchema &attribute : schema.attributes) {
    addText(attribute.name);
    addText(attribute.kind);
    addText(attribute.defaultValue.value_or(""));
  }
}

void ModelContent::Writer::addName(Operation *op) {
  OperationName name = op->getName();
  auto [known, isNew] =
      opNames.try_emplace({name.getAsOpaquePointer(), scope}, opNames.size());
  addNumber(known->second);
  if (!isNew)
    return;
  addText(name.getStringRef());
  const OpSchema *schema = isNode(op) ? getSchema(op) : nullptr;
  addNumber(schema != nullptr);
  if (schema)
    add(*schema);
}

void ModelContent::Writer::add(Operation *op) {
  content.locations.push_back(op->getLoc());
  addName(op);
  addAttributes(op);
  addNumber(op->getNumOperands());
  for (Value operand : op->getOperands())
    add(operand);
  addNumber(op->getNumResults());
  for (OpResult result : op->getResults()) {
    add(Value(result));
    add(result.getType());
  }
  addNumber(op->getNumSuccessors());
  for (Block *successor : op->getSuccessors())
    addNumber(blocks.try_emplace(successor, blocks.size()).first->second);
  llvm::SaveAndRestore inside(scope, isNode(op) ? scope : op);
  addNumber(op->getNumRegions());
  for (Region &region : op->getRegions()) {
    addNumber(region.getBlocks().size());
    for (Block &block : region)
      add(block);
  }
}

llvm::BLAKE3Result<> ModelContent::Writer::finish() {
  addNumber(read.size());
  for (Attribute attribute : read) {
    addNumber(content.numbers.lookup(attribute));
    // If elements are missing, lowering reports it.
    auto elements = cast<DenseResourceElementsAttr>(attribute);
    if (AsmResourceBlob *blob = elements.getRawHandle().getBlob())
      addText({blob->getData().data(), blob->getData().size()});
  }
  hasher.update(StringRef(buffer));
  return hasher.final();
}

//===----------------------------------------------------------------------===//
// ModelContent
//===----------------------------------------------------------------------===//

ModelContent::ModelContent(ModuleOp module) {
  Writer writer(*this);
  writer.add(module.getOperation());
  hash = writer.finish();
}

std::optional<uint32_t> ModelContent::getNumber(Attribute attribute) const {
  auto found = numbers.find(attribute);
  if (found == numbers.end())
    return std::nullopt;
  return found->second;
}

std::optional<uint32_t> ModelContent::getNumber(Location location) const {
  auto found = llvm::find(locations, location);
  if (found == locations.end())
    return std::nullopt;
  return uint32_t(found - locations.begin());
}

} // namespace mp
