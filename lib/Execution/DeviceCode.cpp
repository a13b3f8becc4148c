//===- DeviceCode.cpp - Code for devices ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/DeviceCode.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Execution/EmitPTX.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace mp {

/// Kernels refer to the images of the first target.
static llvm::Error setPlaces(DevicePlan &plan, ArrayRef<PTXImage> images) {
  llvm::StringMap<unsigned> places;
  for (auto [place, image] : llvm::enumerate(images))
    for (const std::string &kernel : image.kernels)
      places[kernel] = place;
  for (DevicePlan::Kernel &kernel : plan.kernels) {
    auto place = places.find(kernel.name);
    if (place == places.end())
      return llvm::createStringError("found no kernel '" + kernel.name + "'");
    kernel.image = place->second;
  }
  return llvm::Error::success();
}

/// The kernels of the module as images of the plan.
static llvm::Error addImages(DevicePlan &plan, ModuleOp module,
                             ArrayRef<PTXTarget> targets,
                             const CompileWatch &watch) {
  plan.images.clear();
  if (plan.kernels.empty())
    return llvm::Error::success();
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(device::kernelsName);
  if (!kernels)
    return llvm::createStringError("found no gpu.module '" +
                                   device::kernelsName + "'");
  std::vector<PTXImage> first;
  for (const PTXTarget &target : targets) {
    auto images = emitPTX(kernels, target, watch);
    if (!images)
      return images.takeError();
    bool isFirst = plan.images.empty();
    for (auto [place, image] : llvm::enumerate(*images)) {
      if (!isFirst &&
          (place >= first.size() || image.kernels != first[place].kernels))
        return llvm::createStringError("kernels for " + target.chip +
                                       " are divided in another way than "
                                       "those for " +
                                       targets.front().chip);
      image.image.insteadOf = isFirst ? -1 : int(place);
      plan.images.push_back(std::move(image.image));
    }
    if (isFirst)
      first = std::move(*images);
  }
  return setPlaces(plan, first);
}

FailureOr<DevicePlan> makeDeviceCode(ModuleOp module,
                                     ArrayRef<PTXTarget> targets,
                                     const CompileWatch &watch) {
  FailureOr<DevicePlan> plan = makePlan(module);
  if (failed(plan))
    return failure();
  module.lookupSymbol<func::FuncOp>("main").erase();
  if (targets.empty())
    return plan;
  if (llvm::Error error = addImages(*plan, module, targets, watch))
    return LogicalResult(module.emitError("compilation failed: ")
                         << llvm::toString(std::move(error)));
  return plan;
}

} // namespace mp
