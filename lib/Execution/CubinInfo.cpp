//===- CubinInfo.cpp - Resources of kernels in machine code ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The section .nv.info is a list of attributes: a byte for the form of the
// value, one for the attribute, and two with the value or its size. Registers
// are an attribute with the number of a symbol and a count. Shared memory is
// the size of the section .nv.shared.KERNEL, to which 1 KB of the system's own
// is added from sm_80 on.
//
//===----------------------------------------------------------------------===//

#include "CubinInfo.h"

#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace mp {

using ELF = object::ELFFile<object::ELF64LE>;

/// A value with a size of its own, and the attribute of registers.
static constexpr uint8_t sizedForm = 4, registersAttribute = 0x2f;

static Error readAttributes(const ELF &file, ArrayRef<uint8_t> info,
                            const ELF::Elf_Shdr &symbols,
                            StringMap<CubinKernel> &kernels) {
  auto names = file.getStringTableForSymtab(symbols);
  if (!names)
    return names.takeError();
  while (info.size() >= 4) {
    uint8_t form = info[0], attribute = info[1];
    uint16_t size = support::endian::read16le(info.data() + 2);
    info = info.drop_front(4);
    if (form != sizedForm)
      continue;
    if (size > info.size())
      return createStringError("its attributes end too early");
    if (attribute == registersAttribute && size >= 8) {
      auto symbol =
          file.getSymbol(&symbols, support::endian::read32le(info.data()));
      if (!symbol)
        return symbol.takeError();
      auto name = (*symbol)->getName(*names);
      if (!name)
        return name.takeError();
      kernels[*name].registers = support::endian::read32le(info.data() + 4);
    }
    info = info.drop_front(size);
  }
  return Error::success();
}

Expected<StringMap<CubinKernel>> readCubin(StringRef cubin) {
  auto file = ELF::create(cubin);
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  const ELF::Elf_Shdr *symbols = nullptr;
  for (const ELF::Elf_Shdr &section : *sections)
    if (section.sh_type == llvm::ELF::SHT_SYMTAB)
      symbols = &section;
  if (!symbols)
    return createStringError("a cubin has no symbols");
  StringMap<CubinKernel> kernels, shared;
  for (const ELF::Elf_Shdr &section : *sections) {
    auto name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    if (StringRef kernel = *name; kernel.consume_front(".nv.shared."))
      shared[kernel].shared = unsigned(section.sh_size);
    if (*name != ".nv.info")
      continue;
    auto content = file->getSectionContents(section);
    if (!content)
      return content.takeError();
    if (Error failed = readAttributes(*file, *content, *symbols, kernels))
      return std::move(failed);
  }
  if (kernels.empty())
    return createStringError("a cubin does not list the registers of kernels");
  for (auto &[name, kernel] : kernels)
    kernel.shared = shared.lookup(name).shared;
  return std::move(kernels);
}

} // namespace mp
