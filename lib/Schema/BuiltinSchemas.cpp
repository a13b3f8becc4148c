//===- BuiltinSchemas.cpp - The schemas that are part of the program ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/Schema.h"

using namespace llvm;

namespace mp {

extern const char packedSchemas[];
extern const size_t packedSchemasSize;

std::unique_ptr<SchemaRegistry> SchemaRegistry::createBuiltin() {
  std::unique_ptr<SchemaRegistry> registry(new SchemaRegistry());
  registry->addPacked({packedSchemas, packedSchemasSize});
  return registry;
}

const SchemaRegistry &SchemaRegistry::builtin() {
  static const SchemaRegistry *registry = createBuiltin().release();
  return *registry;
}

} // namespace mp
