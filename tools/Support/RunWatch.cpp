//===- RunWatch.cpp - Follows a run, for when it meets a bug --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunWatch.h"
#include "DebugCrash.h"
#include "ExitCodes.h"
#include "InternalErrors.h"

#include "mp-opt/API/Model/ModelOutput.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"

#include <unistd.h>

using namespace mlir;

namespace mp {

llvm::Error WatchOptions::parse(StringRef crash, StringRef write) {
  auto [place, kind] = crash.split(':');
  if (!isCrashKind(kind))
    return llvm::createStringError("--debug-crash-in: unknown kind '" + kind +
                                   "'");
  crashPlace = place.str();
  crashKind = kind.str();
  if (write.empty())
    return llvm::Error::success();
  auto [step, descriptor] = write.split(':');
  unsigned number = 0;
  if (step.getAsInteger(10, number) ||
      descriptor.getAsInteger(10, writeDescriptor))
    return llvm::createStringError(
        "--debug-write-step: expected STEP:DESCRIPTOR");
  writeStep = number;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reproducers
//===----------------------------------------------------------------------===//

/// The size up to which reproducers keep the data of a tensor or attribute: the
/// same size up to which import keeps data visible to all passes.
static constexpr size_t maxBytes = 1024;
static constexpr int64_t maxElements = maxBytes / sizeof(float);

/// All ones: a value that analyses do not look for, and that is in the range of
/// every type. Null if the elements have no such value.
static Attribute getOnes(ShapedType type) {
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return DenseElementsAttr::get(type, FloatAttr::get(element, 1.0));
  if (isa<IntegerType>(element))
    return DenseElementsAttr::get(type, IntegerAttr::get(element, 1));
  return {};
}

/// Replaces big data, in all forms in which a module keeps them.
static void blankWeights(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](DenseResourceElementsAttr data) -> Attribute {
    Attribute ones = getOnes(data.getType());
    return ones ? ones : data;
  });
  replacer.addReplacement([](DenseElementsAttr data) -> Attribute {
    Attribute ones = data.isSplat() || data.getNumElements() <= maxElements
                         ? Attribute()
                         : getOnes(data.getType());
    return ones ? ones : data;
  });
  // Types without a form in MLIR are bytes or lists.
  replacer.addReplacement([](StringAttr text) -> Attribute {
    if (text.size() <= maxBytes || !isa<NoneType>(text.getType()))
      return text;
    return StringAttr::get(text.getContext(), std::string(maxBytes, '\0'));
  });
  replacer.addReplacement([](DenseArrayAttr list) -> Attribute {
    size_t bytes = list.getRawData().size();
    if (bytes <= maxBytes)
      return list;
    return DenseArrayAttr::get(list.getElementType(), list.getSize(),
                               std::vector<char>(bytes));
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/false);
  elideWeights(module);
}

/// Ends the second run.
[[noreturn]] static void endRerun(llvm::raw_fd_ostream &os) {
  os.flush();
  ::_exit(os.has_error() ? exitInternal : exitOk);
}

/// The pipeline of these passes, without those that only this tool has.
static std::string getPipeline(ArrayRef<Pass *> passes) {
  std::string text = "builtin.module(";
  llvm::raw_string_ostream os(text);
  bool isFirst = true;
  for (Pass *pass : passes) {
    std::string one;
    llvm::raw_string_ostream passOS(one);
    pass->printAsTextualPipeline(passOS);
    if (StringRef(one).starts_with("unknown<"))
      continue;
    os << (isFirst ? "" : ",") << one;
    isFirst = false;
  }
  os << ")";
  return text;
}

[[noreturn]] static void
writeReproducer(ModuleOp module, ArrayRef<Pass *> passes, int descriptor) {
  blankWeights(module);
  std::string pipeline = getPipeline(passes);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(maxElements);
  AsmState state(module, flags);
  state.attachResourcePrinter("mlir_reproducer",
                              [&](Operation *, AsmResourceBuilder &builder) {
                                builder.buildString("pipeline", pipeline);
                                builder.buildBool("disable_threading", true);
                                builder.buildBool("verify_each", false);
                              });
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/false);
  os << "// mp-opt " << MPOPT_VERSION << " met a bug after this point of\n"
     << "//   " << getCommandLine() << "\n"
     << "// Big constants are all ones here. The passes that were left:\n"
     << "//   mp-opt FILE --run-reproducer\n";
  module->print(os, state);
  os << "\n";
  endRerun(os);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

static StringRef getNameOf(Pass *pass) {
  return pass->getArgument().empty() ? pass->getName() : pass->getArgument();
}

namespace {

class PassWatch : public PassInstrumentation {
public:
  PassWatch(const RunWatch &watch, const WatchOptions &options, PassManager &pm)
      : watch(watch), options(options), pm(pm) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    SmallVector<Pass *> left = getPassesFrom(pass);
    progress::startPass(getNameOf(pass), !left.empty());
    if (!left.empty() && options.writeStep == progress::getStep())
      if (auto module = dyn_cast<ModuleOp>(op))
        writeReproducer(module, left, options.writeDescriptor);
    watch.reach(getNameOf(pass));
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    progress::finishPass(getNameOf(pass));
    if (getPassesFrom(pass).size() == 1)
      if (auto module = dyn_cast<ModuleOp>(op))
        watch.startWriting(module);
  }
  void runAfterPassFailed(Pass *pass, Operation *) override {
    progress::failPass();
  }

private:
  /// The pass and those after it; empty if it is part of another pass.
  SmallVector<Pass *> getPassesFrom(Pass *pass) const {
    SmallVector<Pass *> passes;
    for (Pass &next : pm.getPasses())
      if (&next == pass || !passes.empty())
        passes.push_back(&next);
    return passes;
  }

  const RunWatch &watch;
  const WatchOptions &options;
  PassManager &pm;
};

} // namespace

void RunWatch::addTo(PassManager &pm) const {
  if (pm.empty())
    progress::startWriting("no pass has run, the input itself is one");
  pm.addInstrumentation(std::make_unique<PassWatch>(*this, options, pm));
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

void RunWatch::startReading(const ModelInput &input, StringRef path) const {
  // Only regular files can be read again.
  if (path == "-")
    progress::setObstacle("the model came from standard input");
  else if (!llvm::sys::fs::is_regular_file(path))
    progress::setObstacle("the model did not come from a regular file");
  bool isONNX = input.getFormat() == Format::ONNX;
  progress::startReading(input.getName(),
                         isONNX ? nullptr : "the model itself is one");
  if (options.writeStep != 0u)
    return;
  llvm::raw_fd_ostream os(options.writeDescriptor, /*shouldClose=*/false);
  writeWithoutData(input.getContent(), os);
  endRerun(os);
}

void RunWatch::startWriting(ModuleOp module) const {
  progress::startWriting(nullptr);
  if (options.writeStep == progress::getStep())
    writeReproducer(module, {}, options.writeDescriptor);
}

void RunWatch::reach(StringRef place) const {
  if (!options.crashPlace.empty() && place == options.crashPlace)
    crashOnPurpose(options.crashKind);
}

} // namespace mp
