//===- ProgramCode.cpp - Machine code of a model --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/ProgramCode.h"

#include "mp-opt/Support/Archive.h"
#include "mp-opt/Target/ONNX/ConstantData.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Contents, for both directions
//===----------------------------------------------------------------------===//

namespace {

/// The location of a constant's elements.
enum class Source : uint8_t {
  /// The constant has no elements.
  Nowhere,
  /// In an attribute of the model.
  Model,
  /// Packed in the fields of a tensor of the model.
  Packed,
  /// Stored with the code.
  Here
};

struct StoredTensor {
  Source source = Source::Nowhere;
  /// The number of the model's attribute.
  uint32_t attribute = 0;
  // Only for elements that are here.
  ElementKind kind = ElementKind::Undefined;
  SmallVector<int64_t, 4> sizes;
  StringRef elements;
};

/// Code as it is stored; texts refer to other memory.
struct StoredCode {
  DeviceKind device = DeviceKind::CPU;
  StringRef plan;
  std::vector<ProgramValue> inputs, outputs;
  std::vector<StoredTensor> defaults, constants;
  int64_t arenaBytes = 0, numSlots = 0;
  std::optional<double> flops;
  std::vector<DroppedRounding> droppedRoundings;
  std::vector<CompileMessage> messages;
  std::vector<StringRef> objects;
};

} // namespace

template <typename Archive>
static void visit(Archive &archive, SmallVector<int64_t, 4> &sizes) {
  archive.list(sizes, [&](int64_t &size) { archive.number(size); });
}

template <typename Archive>
static void visit(Archive &archive, ProgramValue &value) {
  archive.text(value.name);
  archive.number(value.kind);
  visit(archive, value.sizes);
  archive.number(value.hasDefault);
  archive.number(value.state);
}

template <typename Archive>
static void visit(Archive &archive, StoredTensor &tensor) {
  archive.number(tensor.source);
  if (tensor.source == Source::Here) {
    archive.number(tensor.kind);
    visit(archive, tensor.sizes);
    archive.text(tensor.elements);
  } else if (tensor.source != Source::Nowhere) {
    archive.number(tensor.attribute);
  }
}

template <typename Archive>
static void visit(Archive &archive, StoredCode &code) {
  auto visitItem = [&](auto &item) { visit(archive, item); };
  archive.number(code.device);
  archive.text(code.plan);
  archive.list(code.inputs, visitItem);
  archive.list(code.outputs, visitItem);
  archive.list(code.defaults, visitItem);
  archive.list(code.constants, visitItem);
  archive.number(code.arenaBytes);
  archive.number(code.numSlots);
  archive.optional(code.flops, [&](double &flops) {
    auto bits = llvm::bit_cast<uint64_t>(flops);
    archive.number(bits);
    flops = llvm::bit_cast<double>(bits);
  });
  archive.list(code.droppedRoundings, [&](DroppedRounding &rounding) {
    archive.text(rounding.value);
    archive.text(rounding.node);
    archive.text(rounding.precision);
  });
  archive.list(code.messages, [&](CompileMessage &message) {
    archive.number(message.op);
    archive.number(message.isRemark);
    archive.text(message.text);
  });
  archive.list(code.objects, [&](StringRef &object) { archive.text(object); });
}

/// False for a tensor without elements, which has no data.
static bool isThere(const Tensor &tensor) {
  return tensor.getKind() != ElementKind::Undefined;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static StringRef getBytes(const Tensor &tensor) {
  return {static_cast<const char *>(tensor.getData()), tensor.getNumBytes()};
}

static llvm::BLAKE3Result<> hashElements(const Tensor &tensor) {
  return llvm::BLAKE3::hash(llvm::arrayRefFromStringRef(getBytes(tensor)));
}

namespace {
/// Finds the elements of constants in the model.
class TensorStore {
public:
  explicit TensorStore(const ModelContent &content) : content(content) {}

  std::vector<StoredTensor> store(ArrayRef<TypedAttr> values,
                                  ArrayRef<Tensor> tensors);

private:
  std::optional<uint32_t> findPacked(const Tensor &tensor);

  const ModelContent &content;
  /// Maps hashes of packed constants of the model to attributes; made on first
  /// use.
  std::optional<std::map<llvm::BLAKE3Result<>, uint32_t>> packed;
};
} // namespace

std::optional<uint32_t> TensorStore::findPacked(const Tensor &tensor) {
  if (!packed) {
    packed.emplace();
    for (auto [number, attribute] : llvm::enumerate(content.getAttributes())) {
      auto fields = dyn_cast<DictionaryAttr>(attribute);
      MLIRContext *context = attribute.getContext();
      FailureOr<Tensor> unpacked = unpackNarrowTensor(
          fields, [context] { return emitError(UnknownLoc::get(context)); });
      if (succeeded(unpacked) && isThere(*unpacked))
        packed->try_emplace(hashElements(*unpacked), number);
    }
  }
  if (packed->empty())
    return std::nullopt;
  auto found = packed->find(hashElements(tensor));
  if (found == packed->end())
    return std::nullopt;
  return found->second;
}

std::vector<StoredTensor> TensorStore::store(ArrayRef<TypedAttr> values,
                                             ArrayRef<Tensor> tensors) {
  std::vector<StoredTensor> result(values.size());
  for (auto [value, tensor, stored] : llvm::zip(values, tensors, result)) {
    if (!value)
      continue;
    if (auto number = content.getNumber(value)) {
      stored.source = Source::Model;
      stored.attribute = *number;
    } else if (auto number = findPacked(tensor)) {
      stored.source = Source::Packed;
      stored.attribute = *number;
    } else {
      stored.source = Source::Here;
      stored.kind = tensor.getKind();
      stored.sizes.assign(tensor.getSizes().begin(), tensor.getSizes().end());
      stored.elements = getBytes(tensor);
    }
  }
  return result;
}

std::string packCode(const ProgramCode &code, ModuleOp module,
                     const ModelContent &content) {
  // Errors of unused tensors do not matter.
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  const ModelInterface &interface = code.interface;
  TensorStore tensors(content);
  StoredCode stored;
  stored.device = code.device;
  stored.plan = code.plan;
  stored.inputs = interface.inputs;
  stored.outputs = interface.outputs;
  stored.defaults = tensors.store(getDefaultValues(module), interface.defaults);
  stored.constants =
      tensors.store(getConstantValues(module), interface.constants);
  stored.arenaBytes = interface.arenaBytes;
  stored.numSlots = interface.numSlots;
  stored.flops = code.flops;
  stored.droppedRoundings = code.droppedRoundings;
  stored.messages = code.messages;
  for (const auto &object : code.objects)
    stored.objects.push_back(object->getBuffer());
  std::string bytes;
  ArchiveWriter archive(bytes);
  visit(archive, stored);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Constants are checked where they are restored, and the plan when it is
/// loaded.
static bool isSound(const StoredCode &code) {
  constexpr int64_t maxSlots = 1 << 24;
  auto isValue = [](const ProgramValue &value, size_t numInputs) {
    return getElementBytes(value.kind) != 0 && value.state >= -1 &&
           value.state < int64_t(numInputs) &&
           // -1 for sizes that are known only at run time.
           llvm::all_of(value.sizes, [](int64_t size) { return size >= -1; });
  };
  return code.device <= DeviceKind::Emulated &&
         code.plan.empty() == (code.device == DeviceKind::CPU) &&
         llvm::all_of(code.inputs,
                      [&](auto &value) { return isValue(value, 0); }) &&
         llvm::all_of(
             code.outputs,
             [&](auto &value) { return isValue(value, code.inputs.size()); }) &&
         code.defaults.size() == code.inputs.size() &&
         llvm::all_of_zip(code.inputs, code.defaults,
                          [](auto &input, auto &value) {
                            return input.hasDefault ==
                                   (value.source != Source::Nowhere);
                          }) &&
         code.arenaBytes >= 0 && code.numSlots >= 0 &&
         code.numSlots <= maxSlots;
}

static FailureOr<Tensor> restoreElements(const StoredTensor &stored) {
  uint64_t width = getElementBytes(stored.kind);
  auto expected = width && llvm::all_of(stored.sizes,
                                        [](int64_t size) { return size >= 0; })
                      ? getByteCount(stored.sizes, width)
                      : std::optional<int64_t>();
  if (!expected || uint64_t(*expected) != stored.elements.size())
    return failure();
  llvm::Expected<Tensor> tensor = Tensor::create(stored.kind, stored.sizes);
  if (!tensor) {
    llvm::consumeError(tensor.takeError());
    return failure();
  }
  llvm::copy(stored.elements, static_cast<char *>(tensor->getData()));
  return *tensor;
}

/// A tensor with elements; fails if the model has none there.
static FailureOr<Tensor> restore(const StoredTensor &stored,
                                 const ModelContent &content) {
  if (stored.source == Source::Here)
    return restoreElements(stored);
  Attribute attribute = content.getAttribute(stored.attribute);
  auto error = [&] {
    return emitError(UnknownLoc::get(attribute.getContext()));
  };
  auto value = dyn_cast_or_null<TypedAttr>(attribute);
  auto fields = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (stored.source == Source::Packed && fields)
    return unpackNarrowTensor(fields, error);
  auto type =
      value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  if (stored.source != Source::Model || !type || !type.hasStaticShape())
    return failure();
  return getConstantData(value, error);
}

static LogicalResult restore(ArrayRef<StoredTensor> stored,
                             const ModelContent &content,
                             std::vector<Tensor> &tensors) {
  for (const StoredTensor &one : stored) {
    Tensor &tensor = tensors.emplace_back();
    if (one.source == Source::Nowhere)
      continue;
    FailureOr<Tensor> restored = restore(one, content);
    if (failed(restored) || !isThere(*restored))
      return failure();
    tensor = *restored;
  }
  return success();
}

llvm::Expected<ProgramCode> unpackCode(StringRef bytes,
                                       const ModelContent &content) {
  // Diagnostics are dropped here, since compiling reports errors of the model.
  ScopedDiagnosticHandler quiet(content.getLocation(0).getContext(),
                                [](Diagnostic &) { return success(); });
  StoredCode stored;
  ArchiveReader archive(bytes);
  visit(archive, stored);
  ProgramCode code;
  ModelInterface &interface = code.interface;
  if (!archive.isGood() || !archive.isAtEnd() || !isSound(stored) ||
      failed(restore(stored.defaults, content, interface.defaults)) ||
      failed(restore(stored.constants, content, interface.constants)))
    return llvm::createStringError("the code of a model is damaged");
  code.device = stored.device;
  code.plan = stored.plan.str();
  interface.inputs = std::move(stored.inputs);
  interface.outputs = std::move(stored.outputs);
  interface.arenaBytes = stored.arenaBytes;
  interface.numSlots = stored.numSlots;
  code.flops = stored.flops;
  code.droppedRoundings = std::move(stored.droppedRoundings);
  code.messages = std::move(stored.messages);
  for (StringRef object : stored.objects)
    code.objects.push_back(
        llvm::MemoryBuffer::getMemBufferCopy(object, "model.o"));
  return code;
}

} // namespace mp
