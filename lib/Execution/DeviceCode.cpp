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

static llvm::Error addCounts(DevicePlan &plan, ModuleOp module, StringRef chip,
                             const CompileWatch &watch) {
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(device::kernelsName);
  if (!kernels || plan.kernels.empty())
    return llvm::Error::success();
  LaunchShapes shapes;
  for (const DevicePlan::Record &record : plan.records) {
    if (record.kind != DevicePlan::RecordKind::Launch)
      continue;
    LaunchShape &shape = shapes[plan.kernels[record.kernel].name];
    shape.blocks = std::max(shape.blocks,
                            record.grid[0] * record.grid[1] * record.grid[2]);
    shape.threads = std::max(shape.threads, record.block[0] * record.block[1] *
                                                record.block[2]);
  }
  auto images = countPTX(kernels, chip, shapes, watch);
  if (!images)
    return images.takeError();
  llvm::StringMap<const KernelCounts *> found;
  for (const PTXImage &image : *images)
    for (auto [name, counts] : llvm::zip_equal(image.kernels, image.counts))
      found[name] = &counts;
  for (DevicePlan::Kernel &kernel : plan.kernels)
    if (const KernelCounts *counts = found.lookup(kernel.name))
      kernel.counts = *counts;
  return llvm::Error::success();
}

FailureOr<DevicePlan> makeCountedPlan(ModuleOp module, StringRef chip,
                                      const CompileWatch &watch) {
  FailureOr<DevicePlan> plan = makePlan(module);
  if (failed(plan))
    return failure();
  if (llvm::Error error = addCounts(*plan, module, chip, watch))
    return LogicalResult(
        module.emitError("kernels for " + chip + " cannot be counted: ")
        << llvm::toString(std::move(error)));
  return plan;
}

} // namespace mp
