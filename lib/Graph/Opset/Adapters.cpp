//===- Adapters.cpp - Upgrades of single nodes ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adapters.h"

using namespace mlir;

namespace mp {

const OpsetAdapter *findAdapter(StringRef opType, int version) {
  for (ArrayRef<OpsetAdapter> family :
       {getInputAdapters(), getNormalizationAdapters(), getResizeAdapters(),
        getScanAdapters()})
    for (const OpsetAdapter &adapter : family)
      if (adapter.version == version && adapter.opType == opType)
        return &adapter;
  return nullptr;
}

} // namespace mp
