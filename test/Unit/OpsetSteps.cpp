//===- OpsetSteps.cpp - Every step from opset 7 on ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the treatment of each step of each op of the default domain, from
// opset 7 to the newest in the registry. Fails if a step has none: changes in a
// newer ONNX cannot be missed.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/OpsetUpgrade.h"

#include "llvm/Support/raw_ostream.h"

using namespace mp;

static constexpr llvm::StringLiteral kindNames[] = {
    "types", "additions", "inputs", "adapter", "unknown"};

int main() {
  const int oldest = 7;
  // The registry that the counts below were read from has 368 steps.
  const unsigned least = 368;
  unsigned steps = 0, unknown = 0;
  const SchemaRegistry &registry = SchemaRegistry::builtin();
  for (const OpFamily *family : registry.getFamilies()) {
    if (!family->domain.empty())
      continue;
    const OpFamily::Versions &versions = family->getVersions();
    for (size_t index = 1; index < versions.size(); ++index) {
      const OpSchema &before = *versions[index - 1];
      const OpSchema &after = *versions[index];
      if (after.since <= oldest)
        continue;
      OpsetStep step = classifyStep(before, after);
      llvm::outs() << family->name << " " << before.since << " " << after.since
                   << " " << kindNames[step.kind]
                   << (step.except.empty() ? "" : ", but: ") << step.except
                   << "\n";
      ++steps;
      unknown += step.kind == OpsetStep::Unknown;
    }
  }
  llvm::outs() << steps << " steps, " << unknown << " unknown\n";
  return unknown || steps < least ? 1 : 0;
}
