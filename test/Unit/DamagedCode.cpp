//===- DamagedCode.cpp - Kept code that is not what was kept --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file's hash detects damage by disks. In these tests, hashes are right and
// contents are not: impossible contents are rejected, and nothing is read
// outside of the bytes, which sanitizers check.
//
//===----------------------------------------------------------------------===//

#include "Findings.h"

#include "mp-opt/Execution/CodeCache.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mp;

namespace {

/// Constants of both kinds: one that the model has, one that it has not.
constexpr const char *modelText =
    "module attributes {test.kept = dense<1.0> : tensor<4xf32>} {}";
constexpr const char *loweredText = R"(module attributes {
  mp.inputs = [
    {mp.name = "x", type = tensor<?x4xf32>, mp.element = f32},
    {mp.name = "w", type = tensor<4xf32>, mp.element = f32,
     mp.constant = dense<1.0> : tensor<4xf32>}],
  mp.outputs = [
    {mp.name = "w_new", type = tensor<4xf32>, mp.element = f32,
     mp.state = 1 : i64}],
  mp.constants = [
    {mp.constant = dense<[1, 2, 3]> : tensor<3xi32>},
    {mp.constant = dense<1.0> : tensor<4xf32>}],
  mp.arena = 4096 : i64, mp.kept = 2 : i64} {}
)";

struct Kept {
  MLIRContext context;
  OwningOpRef<ModuleOp> model, lowered;
  std::optional<ModelContent> content;
  ProgramCode code;
  std::string bytes;

  bool make();
};

} // namespace

bool Kept::make() {
  context.allowUnregisteredDialects();
  model = parseSourceString<ModuleOp>(modelText, &context);
  lowered = parseSourceString<ModuleOp>(loweredText, &context);
  if (!model || !lowered)
    return false;
  content.emplace(*model);
  FailureOr<ModelInterface> interface = readInterface(*lowered);
  if (failed(interface))
    return false;
  code.interface = std::move(*interface);
  code.device = DeviceKind::Emulated;
  code.plan = "a plan";
  code.flops = 48;
  code.messages.push_back({0, /*isRemark=*/false, "a warning"});
  code.droppedRoundings.push_back({"y", "node 'fc' (Gemm-13)", "bf16"});
  for (const char *object : {"the first object", "another"})
    code.objects.push_back(llvm::MemoryBuffer::getMemBufferCopy(object));
  bytes = packCode(code, *lowered, *content);
  return true;
}

//===----------------------------------------------------------------------===//
// Packed code
//===----------------------------------------------------------------------===//

/// The properties that the rest of the program relies on.
static bool isSound(const ProgramCode &code) {
  const ModelInterface &interface = code.interface;
  if (interface.defaults.size() != interface.inputs.size() ||
      interface.arenaBytes < 0 || interface.numSlots < 0 ||
      code.device > DeviceKind::Emulated ||
      code.plan.empty() != (code.device == DeviceKind::CPU))
    return false;
  for (auto [input, value] : llvm::zip(interface.inputs, interface.defaults))
    if (input.hasDefault != (value.getKind() != ElementKind::Undefined))
      return false;
  for (const std::vector<ProgramValue> *values :
       {&interface.inputs, &interface.outputs})
    for (const ProgramValue &value : *values)
      if (!getElementBytes(value.kind) || value.state < -1 ||
          value.state >= int64_t(interface.inputs.size()) ||
          llvm::any_of(value.sizes, [](int64_t size) { return size < -1; }))
        return false;
  return true;
}

/// True if the bytes are accepted as code. Accepted code must be sound.
static bool isTaken(const Kept &kept, llvm::StringRef bytes, Findings &findings,
                    const llvm::Twine &what) {
  // The copy has the exact length, which lets sanitizers detect its end.
  std::vector<char> copy(bytes.begin(), bytes.end());
  llvm::Expected<ProgramCode> code =
      unpackCode({copy.data(), copy.size()}, *kept.content);
  if (!code) {
    llvm::consumeError(code.takeError());
    return false;
  }
  findings.expect(isSound(*code), what + ": taken for code that cannot be");
  return true;
}

static void checkWhole(const Kept &kept, Findings &findings) {
  findings.expect(isTaken(kept, kept.bytes, findings, "the whole"),
                  "the whole is not taken");
  for (size_t size = 0; size < kept.bytes.size(); ++size)
    findings.expect(!isTaken(kept, llvm::StringRef(kept.bytes).take_front(size),
                             findings, "a part"),
                    "the first " + llvm::Twine(size) + " bytes are taken");
  findings.expect(!isTaken(kept, kept.bytes + "x", findings, "more"),
                  "one byte more is taken");
}

/// Writes other numbers at every place, including places that hold none.
static void checkNumbers(const Kept &kept, Findings &findings) {
  using llvm::support::endian::write64le;
  unsigned refused = 0;
  for (size_t place = 0; place + 8 <= kept.bytes.size(); ++place)
    for (uint64_t number :
         {uint64_t(0), uint64_t(1), uint64_t(7), uint64_t(kept.bytes.size()),
          uint64_t(1) << 31, uint64_t(1) << 60, uint64_t(INT64_MAX),
          uint64_t(1) << 63, UINT64_MAX - 7, UINT64_MAX - 1, UINT64_MAX}) {
      std::string changed = kept.bytes;
      write64le(&changed[place], number);
      refused += !isTaken(kept, changed, findings,
                          llvm::Twine(number) + " at " + llvm::Twine(place));
    }
  // Most places are lengths, or next to one.
  findings.expect(refused > kept.bytes.size() * 5,
                  "only " + llvm::Twine(refused) + " numbers are refused");
}

static void checkBits(const Kept &kept, Findings &findings) {
  for (size_t place = 0; place < kept.bytes.size(); ++place)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = kept.bytes;
      changed[place] ^= char(1 << bit);
      isTaken(kept, changed, findings, "a bit at " + llvm::Twine(place));
    }
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {
/// The head of a file, as CodeCache.cpp describes it.
struct File {
  std::string mark = "mp-code\n";
  uint64_t version = 3;
  uint64_t size;
  std::string key, code;

  std::string write() const {
    std::string head = mark;
    for (uint64_t number : {version, size}) {
      char raw[sizeof(number)];
      llvm::support::endian::write64le(raw, number);
      head.append(raw, sizeof(raw));
    }
    head += key;
    llvm::BLAKE3 hasher;
    hasher.update(head);
    hasher.update(code);
    return head + llvm::toStringRef(hasher.final()).str() + code;
  }
};
} // namespace

static bool writeFile(llvm::StringRef path, llvm::StringRef content) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  os << content;
  os.close();
  return !error &&
         !llvm::sys::fs::setPermissions(path, llvm::sys::fs::owner_read |
                                                  llvm::sys::fs::owner_write);
}

static void checkFiles(Kept &kept, Findings &findings) {
  SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("mp-damaged-code", folder))
    return findings.expect(false, "no folder");
  CodeCacheOptions options;
  options.folder = folder.str().str();
  CodeCache cache(options, "damaged-code");
  std::string key = CodeCache::makeKey(*kept.content, "");
  SmallString<128> path = folder;
  llvm::sys::path::append(path, key + ".code");
  File good;
  good.size = kept.bytes.size();
  good.key = key;
  good.code = kept.bytes;

  // The files that this test writes have the format of the cache.
  cache.store(key, kept.code, *kept.lowered, *kept.content);
  auto stored = llvm::MemoryBuffer::getFile(path);
  findings.expect(stored && (*stored)->getBuffer() == good.write(),
                  "a file has another form than this test thinks");

  std::vector<std::pair<const char *, File>> files(12, {"", good});
  auto *next = files.begin().base();
  auto change = [&](const char *what) -> File & {
    next->first = what;
    return next++->second;
  };
  change("mark").mark = "mp-cope\n";
  change("version 0").version = 0;
  change("version 1").version = 1;
  change("the last version").version = UINT64_MAX;
  change("size 0").size = 0;
  change("one byte less").size -= 1;
  change("one byte more").size += 1;
  change("a huge size").size = UINT64_MAX;
  change("size over 2^63").size = (uint64_t(1) << 63) + good.size;
  change("another key").key.back() ^= 1;
  change("a short key").key.pop_back();
  change("no key").key.clear();
  auto check = [&](const llvm::Twine &what, llvm::StringRef content,
                   bool isGood) {
    findings.expect(writeFile(path, content), "cannot write");
    bool isFound = cache.find(key, *kept.content).has_value();
    findings.expect(isFound == isGood,
                    what + " is " + (isFound ? "found" : "not found"));
    findings.expect(llvm::sys::fs::exists(path) == isGood,
                    what + (isGood ? " is gone" : " stays"));
  };
  check("what is as it was", good.write(), true);
  for (const auto &[what, file] : files)
    check(what, file.write(), false);
  std::string whole = good.write();
  for (size_t size = 0; size < whole.size(); size += 5)
    check("a part", llvm::StringRef(whole).take_front(size), false);
  // Files of the right length and hash, with code that ends early.
  for (size_t size = 0; size < good.code.size(); size += 5) {
    File cut = good;
    cut.code.resize(size);
    cut.size = size;
    check("code that ends early", cut.write(), false);
  }
  llvm::sys::fs::remove_directories(folder);
}

int main() {
  Kept kept;
  if (!kept.make())
    return 1;
  Findings findings;
  checkWhole(kept, findings);
  checkNumbers(kept, findings);
  checkBits(kept, findings);
  checkFiles(kept, findings);
  return findings.getExitCode();
}
