//===- CodeCache.cpp - Compiled code for later runs -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file consists of a head (a mark, a version, the key, the length, and a hash
// of everything else) and the code (ProgramCode.h). Numbers are little-endian.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/CodeCache.h"

#include "mp-opt/Execution/CodeGen.h"
#include "mp-opt/Support/BuildIdentity.h"
#include "mp-opt/Support/CacheFolder.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// "512M" as bytes.
static std::optional<uint64_t> parseSize(StringRef text) {
  static constexpr StringLiteral units = "KMGT";
  unsigned shift = 0;
  if (size_t unit = text.empty() ? StringRef::npos : units.find(text.back());
      unit != StringRef::npos) {
    shift = 10 * (unsigned(unit) + 1);
    text = text.drop_back();
  }
  uint64_t count = 0;
  if (text.getAsInteger(10, count) || count > (UINT64_MAX >> shift))
    return std::nullopt;
  return count << shift;
}

llvm::Expected<CodeCacheOptions> CodeCacheOptions::parse(StringRef flag) {
  CodeCacheOptions options;
  if (const char *size = ::getenv("MPOPT_CACHE_SIZE"); size && *size) {
    std::optional<uint64_t> limit = parseSize(size);
    if (!limit)
      return llvm::createStringError(
          Twine("MPOPT_CACHE_SIZE: expected a number of bytes, as in 512M, "
                "got '") +
          size + "'");
    options.limit = *limit;
  }
  if (flag == "off") {
    options.isOn = false;
  } else if (flag.contains('/')) {
    options.folder = flag.str();
  } else if (!flag.empty() && flag != "on") {
    static constexpr StringRef words[] = {"on", "off"};
    return llvm::createStringError("--cache: expected on, off or a folder with "
                                   "a slash in its name, got '" +
                                   flag + "'" + suggestNearest(flag, words));
  } else if (const char *folder = ::getenv("MPOPT_CACHE_DIR")) {
    options.folder = folder;
  }
  return options;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

CodeCache::Key CodeCache::makeKey(const ModelContent &content,
                                  StringRef settings) {
  llvm::BLAKE3 hasher;
  auto add = [&](StringRef text) {
    char size[sizeof(uint64_t)];
    llvm::support::endian::write64le(size, text.size());
    hasher.update(StringRef(size, sizeof(size)));
    hasher.update(text);
  };
  add("code of mp-opt");
  add(getBuildIdentity());
  CodeTarget target = CodeTarget::getHost();
  add(target.triple);
  add(target.cpu);
  add(target.features);
  add(settings);
  add(llvm::toStringRef(content.getHash()));
  return llvm::toHex(hasher.final(), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static constexpr StringLiteral codeMark = "mp-code\n";
/// The version of the file formats of this file and ProgramCode.
static constexpr uint64_t version = 3;

/// The head of a file, without its hash.
static std::string makeHead(StringRef key, uint64_t size) {
  std::string head = codeMark.str();
  auto add = [&](uint64_t number) {
    char bytes[sizeof(number)];
    llvm::support::endian::write64le(bytes, number);
    head.append(bytes, sizeof(bytes));
  };
  add(version);
  add(size);
  return head + key.str();
}

static llvm::BLAKE3Result<> hashFile(StringRef head, StringRef code) {
  llvm::BLAKE3 hasher;
  hasher.update(head);
  hasher.update(code);
  return hasher.final();
}

/// The code after the head of an intact file; absent otherwise.
static std::optional<StringRef> getCode(StringRef file, StringRef key) {
  std::string head = makeHead(key, 0);
  size_t begin = head.size() + LLVM_BLAKE3_OUT_LEN;
  if (file.size() < begin)
    return std::nullopt;
  StringRef code = file.drop_front(begin);
  head = makeHead(key, code.size());
  if (!file.starts_with(head))
    return std::nullopt;
  llvm::BLAKE3Result<> hash = hashFile(head, code);
  if (file.substr(head.size(), hash.size()) != llvm::toStringRef(hash))
    return std::nullopt;
  return code;
}

CodeCache::CodeCache(CodeCacheOptions options, StringRef tool)
    : options(std::move(options)), tool(tool) {}

void CodeCache::warn(llvm::Error error) {
  options.isOn = false;
  files.reset();
  if (tool.empty())
    return llvm::consumeError(std::move(error));
  llvm::errs() << tool << ": warning: compiled code is not kept: "
               << toString(std::move(error)) << "\n";
}

bool CodeCache::isOpen() {
  if (!options.isOn || files)
    return options.isOn;
  SmallString<128> folder(options.folder);
  if (folder.empty()) {
    folder = getCacheFolder();
    if (folder.empty()) {
      warn(llvm::createStringError("there is no home folder"));
      return false;
    }
    llvm::sys::path::append(folder, "code");
  }
  // Without an identity, code of an older build could be mistaken for that of
  // this one.
  if (getBuildIdentity().empty()) {
    warn(llvm::createStringError("the program cannot be read"));
    return false;
  }
  auto opened = FileCache::open(folder, ".code", options.limit);
  if (opened)
    files.emplace(std::move(*opened));
  else
    warn(opened.takeError());
  return options.isOn;
}

std::optional<ProgramCode> CodeCache::find(const Key &key,
                                           const ModelContent &content) {
  std::unique_ptr<llvm::MemoryBuffer> file =
      isOpen() ? files->find(key) : nullptr;
  if (!file)
    return std::nullopt;
  if (std::optional<StringRef> bytes = getCode(file->getBuffer(), key)) {
    llvm::Expected<ProgramCode> code = unpackCode(*bytes, content);
    if (code)
      return std::move(*code);
    llvm::consumeError(code.takeError());
  }
  files->remove(key);
  return std::nullopt;
}

void CodeCache::store(const Key &key, const ProgramCode &code, ModuleOp module,
                      const ModelContent &content) {
  if (!isOpen())
    return;
  std::string bytes = packCode(code, module, content);
  std::string head = makeHead(key, bytes.size());
  llvm::BLAKE3Result<> hash = hashFile(head, bytes);
  if (llvm::Error failed =
          files->store(key, {head, llvm::toStringRef(hash), bytes}))
    warn(std::move(failed));
}

void CodeCache::remove(const Key &key) {
  if (isOpen())
    files->remove(key);
}

} // namespace mp
