//===- HTML.cpp - The report as one page ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Combines report.html, report.js and the data. The data is JSON without any
// '<', so no name can end its element. The page's policy allows its own script
// and style by their hashes, and no requests.
//
//===----------------------------------------------------------------------===//

#include "ErrorForms.h"
#include "ProfileTimes.h"
#include "WorkForms.h"

#include "mp-opt/Report/ReportForms.h"

#include "mp-opt/Precision/Analysis/FloatSignature.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// report.html and report.js, from ReportTemplate.S.
extern const char reportPage[];
extern const size_t reportPageSize;
extern const char reportScript[];
extern const size_t reportScriptSize;

namespace {

/// Writes the columns that report.js reads; strings are written once, and
/// referenced by index.
class DataWriter {
public:
  DataWriter(const PrecisionReport &report, llvm::json::OStream &json)
      : report(report), json(json) {}

  void writeNodes();
  void writeValues();
  void writeScopes();
  void writeSavings();
  void writeKernels(ArrayRef<ProfiledKernel> kernels);
  void writeNodeErrors();
  void writeStrings();

private:
  void writeNode(const ReportNode &node);
  int64_t getString(StringRef text) {
    auto [it, isNew] = numbers.try_emplace(text, strings.size());
    if (isNew)
      strings.push_back(it->first());
    return it->second;
  }
  template <typename Range> void writeList(const Range &list) {
    json.array([&] {
      for (auto index : list)
        json.value(int64_t(index));
    });
  }
  std::string getSchemaText(const ReportNode &node) const;

  const PrecisionReport &report;
  llvm::json::OStream &json;
  llvm::StringMap<unsigned> numbers;
  std::vector<StringRef> strings;
  llvm::DenseMap<Type, int64_t> types;
};

} // namespace

/// Indices of nodes by name.
static llvm::StringMap<int64_t> getPlaces(const PrecisionReport &report) {
  llvm::StringMap<int64_t> places;
  for (auto [index, node] : llvm::enumerate(report.nodes))
    places.try_emplace(node.getDisplayName(), index);
  return places;
}

std::string DataWriter::getSchemaText(const ReportNode &node) const {
  if (node.isInsertedCast || isa<CustomOp>(node.op))
    return "";
  if (node.isAdmitted)
    return "admits " + report.precision;
  if (node.firstOpset)
    return "opset " + std::to_string(node.firstOpset) + " admits " +
           report.precision;
  return "admits " + report.precision + " at no opset";
}

void DataWriter::writeNode(const ReportNode &node) {
  const OpSchema *schema = getSchema(node.op);
  std::string notes = node.hazard.str();
  auto note = [&](const std::string &text) {
    notes += (notes.empty() ? "" : "; ") + text;
  };
  if (!node.composite.empty())
    note("part of a decomposed " + node.composite.str());
  if (node.isShape)
    note("computes shapes or indices");
  if (node.isInsertedCast)
    note("inserted, " + report.getCastReason(node));
  std::string op = getQualifiedName(node.domain, node.opType);
  json.value(getString(node.getDisplayName()));
  json.value(getString(schema ? schema->getDisplayName() : op));
  json.value(int64_t(node.scope));
  json.value(node.isInsertedCast ? 3 : int64_t(node.state));
  for (StringRef text : {node.opClass, node.classReason, node.because})
    json.value(getString(text));
  json.value(getString(notes));
  json.value(getString(getSchemaText(node)));
  writeList(node.operands);
  writeList(node.results);
  json.value(int64_t(node.causeValue));
  json.value(int64_t(node.causeNode));
  json.value(node.isInsertedCast ? report.getMovedBytes(node) : uint64_t(0));
  json.value(getString(op));
  json.value(int64_t(node.phase));
  json.value(node.multiplyAdds.value_or(0));
  json.value(getString(node.group));
  json.value(node.cost.value_or(0));
}

void DataWriter::writeNodes() {
  json.attributeArray("nodes", [&] {
    for (const ReportNode &node : report.nodes)
      json.array([&] { writeNode(node); });
  });
}

void DataWriter::writeValues() {
  json.attributeArray("values", [&] {
    for (const ReportValue &value : report.values) {
      auto [type, isNew] = types.try_emplace(value.type, 0);
      if (isNew) {
        std::string text;
        llvm::raw_string_ostream(text) << value.type;
        type->second = getString(text);
      }
      json.array([&, number = type->second] {
        json.value(getString(value.name));
        json.value(number);
        json.value(value.size.bytes);
        json.value(int64_t(value.kind));
        json.value(value.isOutput);
        json.value(int64_t(report.getSource(value)));
        json.value(isF32Tensor(value.type) ? 1 : is16BitTensor(value.type) * 2);
      });
    }
  });
}

void DataWriter::writeScopes() {
  json.attributeArray("scopes", [&] {
    for (const std::string &scope : report.scopes)
      json.value(getString(scope));
  });
}

void DataWriter::writeSavings() {
  json.attributeArray("savings", [&] {
    for (const Saving &saving : report.getSavings(50))
      json.array([&] {
        json.value(getString(saving.op));
        json.value(saving.nodes);
        json.value(saving.following);
        json.value(saving.bytes);
        json.value(saving.opset);
      });
  });
}

void DataWriter::writeKernels(ArrayRef<ProfiledKernel> kernels) {
  llvm::StringMap<int64_t> places = getPlaces(report);
  json.attributeArray("kernels", [&] {
    for (const ProfiledKernel &kernel : kernels)
      json.array([&] {
        json.value(getString(kernel.kind));
        json.value(kernel.seconds);
        json.value(kernel.roofline ? llvm::json::Value(*kernel.roofline)
                                   : llvm::json::Value(nullptr));
        json.array([&] {
          for (const std::string &node : kernel.nodes)
            if (auto place = places.find(node); place != places.end())
              json.value(place->second);
        });
      });
  });
}

/// Index, predicted error, share and measured error of nodes; a negative error
/// was not measured.
void DataWriter::writeNodeErrors() {
  json.attributeArray("nodes", [&] {
    for (unsigned index : rankErrors(report))
      json.array([&] {
        const NodeErrorMark &error = *report.nodes[index].error;
        json.value(int64_t(index));
        for (double number :
             {error.predicted, error.share, error.measured.value_or(-1)})
          json.value(errorToJSON(number));
      });
  });
}

void DataWriter::writeStrings() {
  json.attributeArray("strings", [&] {
    for (StringRef text : strings)
      json.value(toJSON(text));
  });
}

static void writeSize(llvm::json::OStream &json, StringRef name,
                      const ModelSize &size) {
  json.attributeObject(name, [&] {
    json.attribute("weights", size.weights);
    json.attribute("activations", size.activations);
    json.attribute("opset", size.opset);
  });
}

static std::string getData(const PrecisionReport &report, const RunInfo &run,
                           ArrayRef<ProfiledKernel> kernels) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("schema_version", reportSchemaVersion);
    json.attribute("version", run.version);
    json.attribute("input", toJSON(run.input));
    json.attribute("output", toJSON(run.output));
    json.attribute("precision", report.precision);
    writeSize(json, "before", run.before);
    writeSize(json, "after", report.after);
    json.attributeObject(
        "casts", [&] { json.attribute("moved", report.after.castBytes); });
    writeRuntimes(findRuntimes(report, run), json);
    writeWork(report.work, report.precision, json);
    DataWriter writer(report, json);
    writer.writeNodes();
    writer.writeValues();
    writer.writeScopes();
    writer.writeSavings();
    writer.writeKernels(kernels);
    if (report.errors)
      json.attributeObject("errors", [&] {
        writeTotals(*report.errors, json);
        writer.writeNodeErrors();
      });
    writer.writeStrings();
  });
  return text;
}

/// JSON as the content of an HTML element.
static void writeEscaped(StringRef json, raw_ostream &os) {
  while (!json.empty()) {
    size_t plain = std::min(json.find_first_of("<>&"), json.size());
    os << json.take_front(plain);
    json = json.drop_front(plain);
    if (json.empty())
      break;
    os << (json[0] == '<' ? "\\u003c" : json[0] == '>' ? "\\u003e" : "\\u0026");
    json = json.drop_front();
  }
}

std::string getPolicyHash(StringRef text) {
  auto digest = llvm::SHA256::hash(
      ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  return "'sha256-" + llvm::encodeBase64(digest) + "'";
}

/// The text between `open` and `close`.
static StringRef getBetween(StringRef text, StringRef open, StringRef close) {
  return text.split(open).second.split(close).first;
}

/// Exporters give nodes of all models similar names, so most kernels must
/// belong to nodes of this model.
static llvm::Error checkProfile(const PrecisionReport &report,
                                const RunInfo &run, StringRef path,
                                ArrayRef<ProfiledKernel> kernels) {
  llvm::StringMap<int64_t> places = getPlaces(report);
  size_t named = 0, known = 0;
  for (const ProfiledKernel &kernel : kernels) {
    named += !kernel.nodes.empty();
    known += llvm::any_of(kernel.nodes, [&](const std::string &node) {
      return places.contains(node);
    });
  }
  if (known > 0 && 2 * known >= named)
    return llvm::Error::success();
  return llvm::createStringError("'" + path + "': " + llvm::Twine(known) +
                                 " of its " + llvm::Twine(named) +
                                 " kernels are of nodes in " + run.input +
                                 "; expected a profile of that model");
}

llvm::Error printHTML(const PrecisionReport &report, const RunInfo &run,
                      StringRef profile, raw_ostream &os) {
  std::vector<ProfiledKernel> kernels;
  if (!profile.empty()) {
    auto read = readProfile(profile);
    if (!read)
      return read.takeError();
    kernels = std::move(*read);
    if (llvm::Error failed = checkProfile(report, run, profile, kernels))
      return failed;
  }
  StringRef page(reportPage, reportPageSize);
  StringRef script(reportScript, reportScriptSize);
  auto [head, rest] = page.split("@POLICY@");
  auto [body, end] = rest.split("@DATA@");
  auto [middle, foot] = end.split("@SCRIPT@");
  os << head << "default-src 'none'; script-src " << getPolicyHash(script)
     << "; style-src " << getPolicyHash(getBetween(page, "<style>", "</style>"))
     << "; base-uri 'none'; form-action 'none'" << body;
  writeEscaped(getData(report, run, kernels), os);
  os << middle << script << foot;
  return llvm::Error::success();
}

} // namespace mp
