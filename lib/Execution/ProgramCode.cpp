//===- ProgramCode.cpp - Machine code of a model --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/ProgramCode.h"

#include "mp-opt/Target/ONNX/ConstantData.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#include <map>

using namespace mlir;

namespace mp {

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
} // namespace

/// False for a tensor without elements, which has no data.
static bool isThere(const Tensor &tensor) {
  return tensor.getKind() != ElementKind::Undefined;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {

class CodeWriter {
public:
  CodeWriter(const ProgramCode &code, const ModelContent &content)
      : code(code), content(content) {}

  llvm::Expected<std::string> write(ModuleOp module);

private:
  void add(uint64_t number) {
    char raw[sizeof(number)];
    llvm::support::endian::write64le(raw, number);
    bytes.append(raw, sizeof(raw));
  }
  void add(StringRef text) {
    add(uint64_t(text.size()));
    bytes += text;
  }
  void add(ArrayRef<int64_t> sizes) {
    add(uint64_t(sizes.size()));
    for (int64_t size : sizes)
      add(uint64_t(size));
  }
  void add(ArrayRef<ProgramValue> values);
  void add(ArrayRef<TypedAttr> values, ArrayRef<Tensor> tensors);
  void addStored(const Tensor &tensor);
  std::optional<uint32_t> findPacked(const Tensor &tensor);

  const ProgramCode &code;
  const ModelContent &content;
  std::string bytes;
  /// Maps hashes of packed constants of the model to attributes; made on first
  /// use.
  std::optional<std::map<llvm::BLAKE3Result<>, uint32_t>> packed;
};

} // namespace

void CodeWriter::add(ArrayRef<ProgramValue> values) {
  add(uint64_t(values.size()));
  for (const ProgramValue &value : values) {
    add(StringRef(value.name));
    add(uint64_t(value.kind));
    add(ArrayRef<int64_t>(value.sizes));
    add(uint64_t(value.hasDefault));
    add(uint64_t(int64_t(value.state)));
  }
}

static StringRef getBytes(const Tensor &tensor) {
  return {static_cast<const char *>(tensor.getData()), tensor.getNumBytes()};
}

static llvm::BLAKE3Result<> hashElements(const Tensor &tensor) {
  return llvm::BLAKE3::hash(llvm::arrayRefFromStringRef(getBytes(tensor)));
}

std::optional<uint32_t> CodeWriter::findPacked(const Tensor &tensor) {
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

void CodeWriter::addStored(const Tensor &tensor) {
  if (auto number = findPacked(tensor)) {
    add(uint64_t(Source::Packed));
    add(uint64_t(*number));
    return;
  }
  add(uint64_t(Source::Here));
  add(uint64_t(tensor.getKind()));
  add(tensor.getSizes());
  add(getBytes(tensor));
}

void CodeWriter::add(ArrayRef<TypedAttr> values, ArrayRef<Tensor> tensors) {
  add(uint64_t(values.size()));
  for (auto [value, tensor] : llvm::zip(values, tensors)) {
    if (!value) {
      add(uint64_t(Source::Nowhere));
    } else if (auto number = content.getNumber(value)) {
      add(uint64_t(Source::Model));
      add(uint64_t(*number));
    } else {
      addStored(tensor);
    }
  }
}

llvm::Expected<std::string> CodeWriter::write(ModuleOp module) {
  // Errors of unused tensors do not matter.
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  const ModelInterface &interface = code.interface;
  add(uint64_t(code.device));
  add(StringRef(code.plan));
  add(interface.inputs);
  add(interface.outputs);
  add(getDefaultValues(module), interface.defaults);
  add(getConstantValues(module), interface.constants);
  add(uint64_t(interface.arenaBytes));
  add(uint64_t(interface.numSlots));
  add(uint64_t(code.flops.has_value()));
  add(llvm::bit_cast<uint64_t>(code.flops.value_or(0)));
  add(uint64_t(code.warnings.size()));
  for (const CompileWarning &warning : code.warnings) {
    add(uint64_t(warning.op));
    add(StringRef(warning.text));
  }
  add(uint64_t(code.objects.size()));
  for (const auto &object : code.objects)
    add(object->getBuffer());
  return std::move(bytes);
}

llvm::Expected<std::string> packCode(const ProgramCode &code, ModuleOp module,
                                     const ModelContent &content) {
  return CodeWriter(code, content).write(module);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

/// Reads values from untrusted bytes. A read that finds too few bytes or
/// invalid values marks the reader as failed and returns zero.
class CodeReader {
public:
  CodeReader(StringRef bytes, const ModelContent &content)
      : rest(bytes), content(content) {}

  llvm::Expected<ProgramCode> read();

private:
  uint64_t getNumber();
  uint64_t getNumber(uint64_t most);
  /// Reads the length of a list whose entries take at least `entryBytes`.
  uint64_t getCount(uint64_t entryBytes = sizeof(uint64_t)) {
    return getNumber(rest.size() / entryBytes);
  }
  StringRef getText();
  ElementKind getKind();
  SmallVector<int64_t, 4> getSizes();
  std::vector<ProgramValue> getValues(uint64_t numInputs);
  std::vector<Tensor> getTensors();
  Tensor getTensor();
  Tensor getStored();
  Tensor check(FailureOr<Tensor> tensor);

  StringRef rest;
  const ModelContent &content;
  bool isGood = true;
};

} // namespace

uint64_t CodeReader::getNumber() {
  uint64_t number = 0;
  isGood &= rest.size() >= sizeof(number);
  if (!isGood)
    return 0;
  number = llvm::support::endian::read64le(rest.data());
  rest = rest.drop_front(sizeof(number));
  return number;
}

uint64_t CodeReader::getNumber(uint64_t most) {
  uint64_t number = getNumber();
  isGood &= number <= most;
  return isGood ? number : 0;
}

StringRef CodeReader::getText() {
  uint64_t size = getNumber();
  isGood &= size <= rest.size();
  if (!isGood)
    return "";
  StringRef text = rest.take_front(size);
  rest = rest.drop_front(size);
  return text;
}

ElementKind CodeReader::getKind() {
  auto kind = ElementKind(getNumber(UINT8_MAX));
  isGood &= getElementBytes(kind) != 0;
  return kind;
}

SmallVector<int64_t, 4> CodeReader::getSizes() {
  SmallVector<int64_t, 4> sizes(getCount());
  for (int64_t &size : sizes) {
    size = int64_t(getNumber());
    // -1 for sizes that are known only at run time.
    isGood &= size >= -1;
  }
  return sizes;
}

std::vector<ProgramValue> CodeReader::getValues(uint64_t numInputs) {
  constexpr uint64_t numFields = 5;
  std::vector<ProgramValue> values(getCount(numFields * sizeof(uint64_t)));
  for (ProgramValue &value : values) {
    value.name = getText().str();
    value.kind = getKind();
    value.sizes = getSizes();
    value.hasDefault = getNumber(1);
    auto state = int64_t(getNumber());
    isGood &= state >= -1 && state < int64_t(numInputs);
    value.state = isGood ? int(state) : -1;
  }
  return values;
}

Tensor CodeReader::check(FailureOr<Tensor> tensor) {
  isGood &= succeeded(tensor) && isThere(*tensor);
  return isGood ? *tensor : Tensor();
}

Tensor CodeReader::getStored() {
  ElementKind kind = getKind();
  SmallVector<int64_t, 4> sizes = getSizes();
  StringRef bytes = getText();
  auto expected = isGood ? getByteCount(sizes, getElementBytes(kind))
                         : std::optional<int64_t>();
  isGood &= expected && uint64_t(*expected) == bytes.size();
  if (!isGood)
    return Tensor();
  llvm::Expected<Tensor> tensor = Tensor::create(kind, sizes);
  if (!tensor) {
    llvm::consumeError(tensor.takeError());
    isGood = false;
    return Tensor();
  }
  std::copy(bytes.begin(), bytes.end(), static_cast<char *>(tensor->getData()));
  return *tensor;
}

Tensor CodeReader::getTensor() {
  auto source = Source(getNumber(uint64_t(Source::Here)));
  if (source == Source::Nowhere)
    return Tensor();
  if (source == Source::Here)
    return getStored();
  Attribute attribute = content.getAttribute(getNumber(UINT32_MAX));
  auto error = [&] {
    return emitError(UnknownLoc::get(attribute.getContext()));
  };
  auto value = dyn_cast_or_null<TypedAttr>(attribute);
  auto fields = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (source == Source::Packed && fields)
    return check(unpackNarrowTensor(fields, error));
  isGood &= source == Source::Model && value &&
            isa<RankedTensorType>(value.getType()) &&
            cast<RankedTensorType>(value.getType()).hasStaticShape();
  return isGood ? check(getConstantData(value, error)) : Tensor();
}

std::vector<Tensor> CodeReader::getTensors() {
  std::vector<Tensor> tensors(getCount());
  for (Tensor &tensor : tensors)
    tensor = getTensor();
  return tensors;
}

llvm::Expected<ProgramCode> CodeReader::read() {
  // Diagnostics are dropped here, since compiling reports errors of the model.
  ScopedDiagnosticHandler quiet(content.getLocation(0).getContext(),
                                [](Diagnostic &) { return success(); });
  ProgramCode code;
  ModelInterface &interface = code.interface;
  code.device = DeviceKind(getNumber(uint64_t(DeviceKind::Emulated)));
  code.plan = getText().str();
  interface.inputs = getValues(0);
  interface.outputs = getValues(interface.inputs.size());
  interface.defaults = getTensors();
  interface.constants = getTensors();
  interface.arenaBytes = int64_t(getNumber(INT64_MAX));
  constexpr uint64_t maxSlots = 1 << 24;
  interface.numSlots = int64_t(getNumber(maxSlots));
  bool hasFlops = getNumber(1);
  auto flops = llvm::bit_cast<double>(getNumber());
  if (hasFlops)
    code.flops = flops;
  code.warnings.resize(getCount(2 * sizeof(uint64_t)));
  for (CompileWarning &warning : code.warnings) {
    warning.op = uint32_t(getNumber(UINT32_MAX));
    warning.text = getText().str();
  }
  code.objects.resize(getCount());
  for (auto &object : code.objects)
    object = llvm::MemoryBuffer::getMemBufferCopy(getText(), "model.o");
  isGood &=
      rest.empty() && interface.defaults.size() == interface.inputs.size();
  for (auto [input, value] : llvm::zip(interface.inputs, interface.defaults))
    isGood &= input.hasDefault == isThere(value);
  // The plan itself is checked when it is loaded.
  isGood &= code.plan.empty() == (code.device == DeviceKind::CPU);
  if (!isGood)
    return llvm::createStringError("the code of a model is damaged");
  return code;
}

llvm::Expected<ProgramCode> unpackCode(StringRef bytes,
                                       const ModelContent &content) {
  return CodeReader(bytes, content).read();
}

} // namespace mp
