//===- ProfileTimes.cpp - Times of a model's kernels ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfileTimes.h"

#include "mp-opt/Support/ConfigFile.h"
#include "mp-opt/Support/FlatJSON.h"

using namespace llvm;

namespace mp {

/// The name between the quotes of "node 'NAME' (OP)".
static StringRef getName(StringRef node) {
  return node.split('\'').second.rsplit("' (").first;
}

/// Found by argument-dependent lookup.
static bool fromJSON(const json::Value &value, ProfiledKernel &kernel,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("kind", kernel.kind) ||
      !map.map("seconds", kernel.seconds) ||
      !map.map("roofline", kernel.roofline) || !map.map("nodes", kernel.nodes))
    return false;
  for (std::string &node : kernel.nodes)
    node = getName(node).str();
  return true;
}

Expected<std::vector<ProfiledKernel>> readProfile(StringRef path) {
  auto fail = [&](const Twine &why) {
    return createStringError("'" + path + "': " + why +
                             "; expected what `mp-run bench MODEL --profile "
                             "--json` prints");
  };
  Expected<std::string> text = readTextFile(path);
  if (!text)
    return text.takeError();
  Expected<json::Value> document = parseFlatJSON(*text, /*maxDepth=*/16);
  if (!document)
    return fail(toString(document.takeError()));
  std::vector<ProfiledKernel> kernels;
  json::Path::Root root("profile");
  json::ObjectMapper map(*document, root);
  if (!map || !map.map("kernels", kernels))
    return fail(toString(root.getError()));
  return kernels;
}

} // namespace mp
