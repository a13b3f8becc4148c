//===- Plugin.cpp - mp-opt as a plugin of mlir-opt ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry points that --load-dialect-plugin and --load-pass-plugin look for.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "InitAllPasses.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

static constexpr const char *pluginName = "mp-opt";
static constexpr const char *pluginVersion = MPOPT_VERSION;

static void registerDialects(mlir::DialectRegistry *registry) {
  registry->insert<mp::device::DeviceDialect, mp::kernel::KernelDialect,
                   mp::onnxir::ONNXDialect, mp::runtime::RuntimeDialect,
                   mp::MPDialect>();
}

static void registerPasses() { mp::registerAllPasses(); }

extern "C" mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, pluginName, pluginVersion, registerDialects};
}

extern "C" mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, pluginName, pluginVersion, registerPasses};
}
