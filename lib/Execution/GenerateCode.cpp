//===- GenerateCode.cpp - From a lowered module to code -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Program.h"

#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Execution/CodeGen.h"
#include "mp-opt/Execution/DeviceCode.h"

using namespace mlir;

namespace mp {

/// Adds object files for this machine.
static llvm::Error addObjects(ProgramCode &code, ModuleOp module,
                              const CompileWatch &watch) {
  DialectRegistry registry;
  registerTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  auto machine = createTargetMachine(CodeTarget());
  if (!machine)
    return machine.takeError();
  auto objects = emitObjects(module, **machine, watch);
  if (!objects)
    return objects.takeError();
  code.objects = std::move(*objects);
  return llvm::Error::success();
}

static FailureOr<ProgramCode> generateDeviceCode(ModuleOp module,
                                                 const CompileOptions &options,
                                                 const CompileWatch &watch) {
  ProgramCode code;
  code.device = options.device;
  FailureOr<ModelInterface> interface = readInterface(module);
  if (failed(interface))
    return failure();
  code.interface = std::move(*interface);
  bool isCUDA = options.device == DeviceKind::CUDA;
  FailureOr<DevicePlan> plan = makeDeviceCode(
      module, isCUDA ? ArrayRef(options.ptx) : ArrayRef<PTXTarget>(), watch);
  if (failed(plan))
    return failure();
  if (!isCUDA)
    if (llvm::Error error = addObjects(code, module, watch))
      return LogicalResult(module.emitError("compilation failed: ")
                           << llvm::toString(std::move(error)));
  code.plan = plan->pack();
  return code;
}

/// Reads the kernels that mp-insert-stamps has listed.
static std::vector<KernelWork> readKernels(ModuleOp module) {
  std::vector<KernelWork> kernels;
  auto list = module->getAttrOfType<ArrayAttr>(mark::timestamped);
  if (!list)
    return kernels;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    KernelWork &kernel = kernels.emplace_back();
    for (StringRef node :
         entry.getAs<ArrayAttr>("nodes").getAsValueRange<StringAttr>())
      kernel.nodes.push_back(node.str());
    kernel.work = DevicePlan::Work::get(entry.getAs<device::WorkAttr>("work"));
  }
  return kernels;
}

FailureOr<ProgramCode> generateCode(ModuleOp module,
                                    const CompileOptions &options,
                                    const CompileWatch &watch) {
  if (options.device != DeviceKind::CPU)
    return generateDeviceCode(module, options, watch);
  ProgramCode code;
  FailureOr<ModelInterface> interface = readInterface(module);
  if (failed(interface))
    return failure();
  code.interface = std::move(*interface);
  code.kernels = readKernels(module);
  if (llvm::Error error = addObjects(code, module, watch))
    return LogicalResult(module.emitError("compilation failed: ")
                         << llvm::toString(std::move(error)));
  return code;
}

} // namespace mp
