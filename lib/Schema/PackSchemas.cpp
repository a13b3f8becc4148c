//===- PackSchemas.cpp - Makes the table of schemas for the build ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: mp-pack-schemas JSON TABLE MAKERS
//
// Writes the schemas of ONNX's library and of the JSON file to TABLE, packed,
// and C++ code to MAKERS that names ONNX's function for each of its schemas.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/Schema.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mp;

/// The domain in the names of ONNX's classes: Conv_Onnx_ver11.
static Expected<StringRef> getClassPart(StringRef domain) {
  static constexpr std::pair<StringLiteral, StringLiteral> parts[] = {
      {"", "Onnx"},
      {"ai.onnx.ml", "OnnxML"},
      {"ai.onnx.preview", "OnnxPreview"},
      {"ai.onnx.preview.training", "OnnxPreview"},
      {"ai.onnx.training", "OnnxTraining"}};
  for (auto [known, part] : parts)
    if (known == domain)
      return part;
  return createStringError("expected a domain whose classes are known, got '" +
                           domain + "', which this ONNX has: add it here");
}

static Expected<std::string> nameMakers(const SchemaRegistry &registry) {
  std::vector<std::string> classes;
  for (const OpFamily *family : registry.getFamilies())
    for (const std::unique_ptr<OpSchema> &version : family->getVersions())
      if (version->isONNX()) {
        Expected<StringRef> part = getClassPart(version->domain);
        if (!part)
          return part.takeError();
        classes.resize(std::max<size_t>(classes.size(), version->onnxNumber));
        classes[version->onnxNumber - 1] =
            (version->name + "_" + *part + "_ver" + Twine(version->since))
                .str();
      }
  std::string text;
  raw_string_ostream os(text);
  os << "namespace onnx {\n";
  for (const std::string &name : classes)
    os << "class " << name << ";\ntemplate <> OpSchema GetOpSchema<" << name
       << ">();\n";
  os << "} // namespace onnx\n\nstatic Maker makers[] = {\n";
  for (const std::string &name : classes)
    os << "    {onnx::GetOpSchema<onnx::" << name << ">},\n";
  os << "};\n";
  return text;
}

static Error write(StringRef path, StringRef content) {
  return writeToOutput(path, [&](raw_ostream &os) {
    os << content;
    return Error::success();
  });
}

int main(int argc, char **argv) {
  ExitOnError exitOnError("mp-pack-schemas: error: ");
  if (argc != 4)
    exitOnError(createStringError("expected JSON TABLE MAKERS"));
  std::unique_ptr<MemoryBuffer> json =
      exitOnError(errorOrToExpected(MemoryBuffer::getFile(argv[1])));
  std::unique_ptr<SchemaRegistry> registry =
      exitOnError(SchemaRegistry::createFromSources(
          json->getBuffer(), sys::path::filename(argv[1])));
  exitOnError(write(argv[2], registry->pack()));
  exitOnError(write(argv[3], exitOnError(nameMakers(*registry))));
  return 0;
}
