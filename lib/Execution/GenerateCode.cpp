//===- GenerateCode.cpp - From a lowered module to code -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Program.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Execution/CodeGen.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Execution/EmitPTX.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace mp {

/// For this machine.
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

/// The kernels of the module as images of the plan.
static llvm::Error addImages(DevicePlan &plan, ModuleOp module,
                             const PTXTarget &target,
                             const CompileWatch &watch) {
  plan.images.clear();
  if (plan.kernels.empty())
    return llvm::Error::success();
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(device::kernelsName);
  if (!kernels)
    return llvm::createStringError("found no gpu.module '" +
                                   device::kernelsName + "'");
  auto images = emitPTX(kernels, target, watch);
  if (!images)
    return images.takeError();
  llvm::StringMap<unsigned> places;
  for (PTXImage &image : *images) {
    for (const std::string &kernel : image.kernels)
      places[kernel] = plan.images.size();
    plan.images.push_back(std::move(image.image));
  }
  for (DevicePlan::Kernel &kernel : plan.kernels) {
    auto place = places.find(kernel.name);
    if (place == places.end())
      return llvm::createStringError("found no kernel '" + kernel.name + "'");
    kernel.image = place->second;
  }
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
  FailureOr<DevicePlan> plan = makePlan(module);
  if (failed(plan))
    return failure();
  // The plan has all of it.
  module.lookupSymbol<func::FuncOp>("main").erase();
  llvm::Error error = options.device == DeviceKind::CUDA
                          ? addImages(*plan, module, options.ptx, watch)
                          : addObjects(code, module, watch);
  if (error)
    return LogicalResult(module.emitError("compilation failed: ")
                         << llvm::toString(std::move(error)));
  code.plan = plan->pack();
  return code;
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
  if (llvm::Error error = addObjects(code, module, watch))
    return LogicalResult(module.emitError("compilation failed: ")
                         << llvm::toString(std::move(error)));
  return code;
}

} // namespace mp
