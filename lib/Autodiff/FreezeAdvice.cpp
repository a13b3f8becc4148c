//===- FreezeAdvice.cpp - Suggestions for --freeze ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of parameters are module paths. The advice names the shortest paths of
// parameters before a node that are not a prefix of any other parameter.
//
//===----------------------------------------------------------------------===//

#include "FreezeAdvice.h"

#include "mp-opt/Autodiff/Autodiff.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// All values that the nodes' operands are computed from.
static llvm::DenseSet<Value> findSources(ArrayRef<Operation *> nodes) {
  llvm::DenseSet<Value> found;
  std::vector<Operation *> queue(nodes.begin(), nodes.end());
  while (!queue.empty()) {
    Operation *op = queue.back();
    queue.pop_back();
    for (Value input : getGradientInputs(op))
      if (holdsDifferentiable(input) && found.insert(input).second)
        if (Operation *definer = input.getDefiningOp();
            definer && passesGradients(definer))
          queue.push_back(definer);
  }
  return found;
}

/// A pattern that matches `name` and its module, but none of `others`.
static std::string makePattern(StringRef name, ArrayRef<StringRef> others) {
  for (size_t end = name.find_first_of("./"); end != StringRef::npos;
       end = name.find_first_of("./", end + 1)) {
    StringRef module = name.take_front(end + 1);
    if (llvm::none_of(
            others, [&](StringRef other) { return other.starts_with(module); }))
      return llvm::Regex::escape(module) + ".*";
  }
  return llvm::Regex::escape(name);
}

/// For example "'a', 'b' and 3 more".
static std::string listNames(ArrayRef<StringRef> names) {
  constexpr size_t maxNames = 5;
  std::string text;
  for (StringRef name : names.take_front(maxNames))
    text += (text.empty() ? "'" : ", '") + name.str() + "'";
  if (names.size() > maxNames)
    text += " and " + std::to_string(names.size() - maxNames) + " more";
  return text;
}

std::string adviseFreezing(ArrayRef<Operation *> nodes,
                           ArrayRef<Value> parameters) {
  llvm::DenseSet<Value> sources = findSources(nodes);
  SmallVector<StringRef> before, others;
  for (Value parameter : parameters)
    (sources.contains(parameter) ? before : others)
        .push_back(onnxir::getValueName(parameter));
  std::string place = nodes.size() == 1
                          ? "it"
                          : "one of " + std::to_string(nodes.size()) +
                                " nodes without a gradient";
  if (others.empty())
    return "all parameters come before " + place;
  llvm::StringSet<> seen;
  std::string text;
  for (StringRef name : before)
    if (std::string pattern = makePattern(name, others);
        seen.insert(pattern).second)
      text += (text.empty() ? "" : "|") + pattern;
  return "--freeze='" + text + "' trains the " + std::to_string(others.size()) +
         " of " + std::to_string(parameters.size()) +
         " parameters that do not come before " + place +
         "; untrained then: " + listNames(before);
}

} // namespace mp
