//===- Export.cpp - MLIR into ONNX models ---------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The IR defines the kind of each node, the values that it takes, and their
// element types. Descriptions kept on the yields provide all other information.
// If the two disagree about an element type, the IR is right.
//
//===----------------------------------------------------------------------===//

#include "GraphExporter.h"
#include "ProtoAttr.h"
#include "WireFormat.h"

#include "mp-opt/Support/Directory.h"
#include "mp-opt/Support/FileContent.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "onnx/defs/printer.h"

#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mp::onnxir;
namespace pb = google::protobuf;

namespace mp {

/// Tensors below this size are copied into the ModelProto.
static constexpr uint64_t inlineThreshold = 4096;
/// Models with more data than this get an external file. The limit is well
/// below the maximum that protobuf can parse (2 GB).
static constexpr uint64_t maxModelBytes = 2000000000;

static constexpr StringLiteral dataSuffix = ".data";

/// The name of a data file. If it would be too long, the model's part is
/// shortened.
static std::string getDataFile(StringRef model, uint64_t hash) {
  constexpr size_t longest = 255, digits = 16;
  StringRef kept = shortenName(model, longest - 1 - digits - dataSuffix.size());
  return (kept + "-" + llvm::utohexstr(hash, /*LowerCase=*/true, digits) +
          dataSuffix)
      .str();
}

bool isDataFileOf(StringRef name, StringRef model) {
  uint64_t hash = 0;
  StringRef digits = name;
  return digits.consume_back(dataSuffix) && digits.contains('-') &&
         !digits.rsplit('-').second.getAsInteger(16, hash) &&
         name == getDataFile(model, hash);
}

namespace {

class ModelWriter : public ExportedModel, public TensorSink {
public:
  explicit ModelWriter(StringRef name)
      : name(name), dataFile(getDataFile(name, 0).size(), '\0') {}

  bool build(ModuleOp module);

  const FileContent &getExternalData() const override { return external; }
  std::string nameExternalData(uint64_t hash) override;
  ArrayRef<std::string> getKeptFiles() const override { return keptFiles; }
  FileContent getModel() const override;
  LogicalResult writeText(raw_ostream &os) const override;

  void place(const TensorData &data, bool wasExternal,
             ::onnx::TensorProto &tensor) override;

private:
  void makeExternal(const TensorData &data, ::onnx::TensorProto &tensor);
  void findLocations();

  std::string name;
  /// A placeholder with the length of the final name; no file has this name.
  std::string dataFile;
  std::vector<std::string> keptFiles;
  std::string stripped;
  /// Positions of the name in `stripped`.
  std::vector<size_t> locations;
  std::vector<TensorData> pieces;
  FileContent external;
  /// Offsets of zeros by their size.
  llvm::DenseMap<uint64_t, uint64_t> zeros;
  bool allExternal = false, hasExternal = false;
};

} // namespace

static void append(FileContent &content, const TensorData &data) {
  content.append(data.getSize(),
                 [data](uint64_t begin, MutableArrayRef<char> to) {
                   data.read(begin, to);
                 });
}

void ModelWriter::makeExternal(const TensorData &data,
                               ::onnx::TensorProto &tensor) {
  // Big tensors are page-aligned, so that a runtime can map each of them. Zeros
  // of the same size are stored once.
  uint64_t alignment = data.getSize() >= (1 << 16) ? 4096 : 64;
  uint64_t offset = llvm::alignTo(external.getSize(), alignment);
  auto shared = data.isZero ? zeros.try_emplace(data.getSize(), offset)
                            : std::pair(zeros.end(), true);
  if (shared.second) {
    external.padTo(offset);
    append(external, data);
  } else {
    offset = shared.first->second;
  }
  auto add = [&](const char *key, const std::string &value) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", dataFile);
  add("offset", std::to_string(offset));
  add("length", std::to_string(data.getSize()));
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
}

void ModelWriter::place(const TensorData &data, bool wasExternal,
                        ::onnx::TensorProto &tensor) {
  uint64_t size = data.getSize();
  bool isLeftOut = allExternal || (data.isZero && hasExternal);
  if (wasExternal || (isLeftOut && size >= inlineThreshold))
    return makeExternal(data, tensor);
  if (size < inlineThreshold) {
    tensor.set_raw_data(data.readAll());
    return;
  }
  setToken(tensor, pieces.size());
  pieces.push_back(data);
}

/// An estimate of the bytes of all initializers, usually a little more than the
/// exact sum.
static uint64_t countBytes(ModuleOp module) {
  uint64_t total = 0;
  module.walk([&](InitializerOp initializer) {
    if (auto type = dyn_cast<RankedTensorType>(initializer.getType());
        type && type.hasStaticShape())
      total += uint64_t(type.getNumElements()) *
               llvm::divideCeil(type.getElementType().isIntOrFloat()
                                    ? type.getElementTypeBitWidth()
                                    : 64,
                                8);
  });
  return total;
}

static std::string serialize(const pb::Message &message) {
  std::string bytes;
  pb::io::StringOutputStream stream(&bytes);
  pb::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

bool ModelWriter::build(ModuleOp module) {
  allExternal = countBytes(module) > maxModelBytes;
  hasExternal = !getExternalFiles(module).empty();
  pb::Arena arena;
  auto &model = *pb::Arena::CreateMessage<::onnx::ModelProto>(&arena);
  std::string nodes;
  if (failed(exportModule(module, *this, model, nodes)))
    return false;
  std::string rest = serialize(model.graph());
  model.clear_graph();
  stripped = addGraph(serialize(model), nodes, rest);
  if (stripped.size() > INT32_MAX) {
    module.emitError() << "model: has " << stripped.size()
                       << " bytes in addition to its tensors, expected at most "
                       << INT32_MAX << ", which is all that protobuf reads";
    return false;
  }
  if (!external.empty() || !getExternalFiles(module).empty())
    findLocations();
  return true;
}

void ModelWriter::findLocations() {
  llvm::StringSet<> kept;
  findExternalLocations(stripped, [&](StringRef location) {
    if (location == dataFile)
      locations.push_back(size_t(location.data() - stripped.data()));
    else
      kept.insert(location);
  });
  for (StringRef file : kept.keys())
    keptFiles.push_back(file.str());
  llvm::sort(keptFiles);
}

FileContent ModelWriter::getModel() const {
  FileContent content;
  if (pieces.empty()) {
    content.append(stripped);
    return content;
  }
  auto text = std::make_shared<std::string>();
  auto flush = [&] {
    content.append(text->size(),
                   [text](uint64_t begin, MutableArrayRef<char> to) {
                     memcpy(to.data(), text->data() + begin, to.size());
                   });
    text = std::make_shared<std::string>();
  };
  expandTensors(
      stripped, [&](uint64_t index) { return pieces[index].getSize(); },
      [&](StringRef bytes) { *text += bytes; },
      [&](uint64_t index) {
        flush();
        append(content, pieces[index]);
      });
  flush();
  return content;
}

std::string ModelWriter::nameExternalData(uint64_t hash) {
  dataFile = getDataFile(name, hash);
  for (size_t location : locations)
    stripped.replace(location, dataFile.size(), dataFile);
  return dataFile;
}

llvm::StringSet<> findExternalFiles(StringRef model) {
  llvm::StringSet<> names;
  findExternalLocations(model, [&](StringRef name) { names.insert(name); });
  return names;
}

LogicalResult ModelWriter::writeText(raw_ostream &os) const {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  printContent(getModel(), stream);
  ::onnx::ModelProto whole;
  if (!whole.ParseFromString(bytes))
    return failure();
  os << ::onnx::ProtoToString(whole) << "\n";
  return success();
}

std::unique_ptr<ExportedModel> exportONNX(ModuleOp module, StringRef model) {
  try {
    auto writer = std::make_unique<ModelWriter>(model);
    if (!writer->build(module))
      return nullptr;
    return writer;
  } catch (const std::exception &exception) {
    emitError(module.getLoc()) << exception.what();
    return nullptr;
  }
}

} // namespace mp
