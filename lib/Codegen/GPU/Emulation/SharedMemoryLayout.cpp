//===- SharedMemoryLayout.cpp - Offsets of shared variables ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemoryLayout.h"

#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp::emulation {

/// The least number of bytes after each variable.
constexpr int64_t gap = 16;
/// The alignment of dynamic memory (lib/Emulation).
constexpr int64_t dynamicAlignment = 1024;

SharedMemoryLayout::SharedMemoryLayout(
    LLVM::LLVMFuncOp function, const llvm::StringMap<LLVM::GlobalOp> &globals) {
  DataLayout data = DataLayout::closest(function);
  SmallVector<StringRef> dynamic;
  int64_t end = 0;
  function.walk([&](LLVM::AddressOfOp op) {
    auto found = globals.find(op.getGlobalName());
    if (found == globals.end() || offsets.contains(op.getGlobalName()))
      return;
    LLVM::GlobalOp global = found->second;
    // Sizes that are far too large must not overflow.
    int64_t bytes = std::min<int64_t>(
        data.getTypeSize(global.getType()).getFixedValue(), INT32_MAX);
    if (bytes == 0) {
      dynamic.push_back(global.getName());
      return;
    }
    int64_t alignment = std::max<int64_t>(
        {gap, static_cast<int64_t>(global.getAlignment().value_or(1)),
         static_cast<int64_t>(data.getTypeABIAlignment(global.getType()))});
    int64_t offset = llvm::alignTo(end ? end + gap : 0, alignment);
    if (end)
      llvm::append_range(gaps,
                         ArrayRef<int32_t>{static_cast<int32_t>(end),
                                           static_cast<int32_t>(offset - end)});
    offsets[global.getName()] = static_cast<int32_t>(offset);
    end = offset + bytes;
  });
  staticBytes = end;
  for (StringRef name : dynamic)
    offsets[name] = static_cast<int32_t>(llvm::alignTo(end, dynamicAlignment));
}

std::optional<int32_t> SharedMemoryLayout::getOffset(StringRef global) const {
  auto found = offsets.find(global);
  if (found == offsets.end())
    return std::nullopt;
  return found->second;
}

} // namespace mp::emulation
