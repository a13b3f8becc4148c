//===- ModelInterface.cpp - Modules that are no programs ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module that was not lowered, or whose attributes are not those that
// lowering writes, is an error.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/ModelInterface.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace {

struct Case {
  const char *attributes;
  /// Empty if the module is a program.
  const char *error;
};

} // namespace

static bool check(MLIRContext &context, const Case &expected) {
  std::string text = "module attributes {" + std::string(expected.attributes) +
                     "} {}",
              found;
  ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
    found = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return false;
  bool isProgram = succeeded(mp::readInterface(*module));
  StringRef error = expected.error;
  bool isGood = isProgram == error.empty() && StringRef(found).contains(error);
  if (!isGood)
    llvm::errs() << text << ": found '" << found << "', expected '" << error
                 << "'\n";
  return isGood;
}

int main() {
  MLIRContext context;
  context.allowUnregisteredDialects();
  static const Case cases[] = {
      {"mp.inputs = [], mp.outputs = []", ""},
      {"mp.outputs = []", "expected a module with 'mp.inputs'"},
      {"mp.inputs = []", "expected a module with 'mp.outputs'"},
      {"mp.inputs = [{}], mp.outputs = []",
       "found {} in 'mp.inputs', expected what mp-bind-arguments writes"},
      {"mp.inputs = [1], mp.outputs = []", "in 'mp.inputs', expected what"},
      {"mp.inputs = [], mp.outputs = [{type = i32}]",
       "in 'mp.outputs', expected what"},
      {"mp.inputs = [], mp.outputs = [], mp.constants = [{}]",
       "found {}, expected the elements of a constant"},
      {"mp.inputs = [], mp.outputs = [], mp.constants = [1]",
       "expected the elements of a constant"},
  };
  bool isGood = true;
  for (const Case &expected : cases)
    isGood &= check(context, expected);
  return isGood ? 0 : 1;
}
