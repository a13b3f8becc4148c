//===- BuildIdentity.cpp - Identifies the build of this program -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/BuildIdentity.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <link.h>

using namespace llvm;

namespace mp {

/// The descriptor of the build id note written by GNU's linkers; empty if there
/// is none.
static StringRef findBuildId(const dl_phdr_info &object) {
  for (unsigned index = 0; index < object.dlpi_phnum; ++index) {
    const auto &header = object.dlpi_phdr[index];
    if (header.p_type != PT_NOTE)
      continue;
    StringRef notes(
        reinterpret_cast<const char *>(object.dlpi_addr + header.p_vaddr),
        header.p_memsz);
    Align align(header.p_align == 8 ? 8 : 4);
    while (notes.size() > sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, notes.data(), sizeof(note));
      size_t begin = sizeof(note) + alignTo(note.n_namesz, align);
      StringRef name = notes.substr(sizeof(note), note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && name == StringRef("GNU", 4))
        return notes.substr(begin, note.n_descsz);
      notes = notes.drop_front(
          std::min(notes.size(), begin + alignTo(note.n_descsz, align)));
    }
  }
  return "";
}

/// True if this function is part of the object.
static bool hasCode(const dl_phdr_info &object) {
  auto here = reinterpret_cast<uintptr_t>(&hasCode);
  return llvm::any_of(ArrayRef(object.dlpi_phdr, object.dlpi_phnum),
                      [&](const auto &header) {
                        uintptr_t begin = object.dlpi_addr + header.p_vaddr;
                        return header.p_type == PT_LOAD && here >= begin &&
                               here < begin + header.p_memsz;
                      });
}

namespace {
struct Identity {
  BLAKE3 hash;
  bool isKnown = true;

  void add(const dl_phdr_info &object);
};
} // namespace

void Identity::add(const dl_phdr_info &object) {
  StringRef name = object.dlpi_name;
  // Other objects in a process that has loaded this as a library do not matter.
  StringRef base = sys::path::filename(name);
  if (!hasCode(object) && !base.starts_with("libMLIR") &&
      !base.starts_with("libLLVM"))
    return;
  StringRef id = findBuildId(object);
  if (!id.empty()) {
    hash.update(ArrayRef<uint8_t>{uint8_t(id.size())});
    hash.update(id);
    return;
  }
  // The program itself has an empty name.
  auto file = MemoryBuffer::getFile(name.empty() ? "/proc/self/exe" : name,
                                    /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  isKnown &= bool(file);
  if (file)
    hash.update(BLAKE3::hash(arrayRefFromStringRef((*file)->getBuffer())));
}

StringRef getBuildIdentity() {
  static const std::string identity = [] {
    Identity found;
    ::dl_iterate_phdr(
        [](dl_phdr_info *object, size_t, void *to) {
          static_cast<Identity *>(to)->add(*object);
          return 0;
        },
        &found);
    auto bytes = found.hash.final();
    return found.isKnown ? std::string(bytes.begin(), bytes.end())
                         : std::string();
  }();
  return identity;
}

} // namespace mp
