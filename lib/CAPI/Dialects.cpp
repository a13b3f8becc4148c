//===- Dialects.cpp - Dialects and modules for MLIR's C API ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt-c/Dialects.h"

#include "Objects.h"

#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "Pipelines/Pipelines.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(ONNX, onnx, mp::onnxir::ONNXDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(MP, mp, mp::MPDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Runtime, runtime,
                                      mp::runtime::RuntimeDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Kernel, kernel, mp::kernel::KernelDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Device, device, mp::device::DeviceDialect)

namespace mp {

namespace {
/// Records the errors of a context during its lifetime. Previous handlers still
/// receive them.
class ErrorListener {
public:
  ErrorListener(MLIRContext *context, MessageSink &sink, StringRef name)
      : handler(context, [&sink, name](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            sink.report(name, diagnostic.getSeverity(), diagnostic.str());
          return failure();
        }) {}

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

static void registerDialects(DialectRegistry &registry) {
  registerModelDialects(registry);
  registerLoweringDialects(registry);
}

static mp_opt_status import(MLIRContext *context, StringRef content,
                            StringRef name, MlirModule &module) {
  MessageSink sink;
  ModelInput input;
  if (llvm::Error failed = input.set(content, name))
    return fail(std::move(failed), &sink, name);
  DialectRegistry registry;
  registerModelDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<onnxir::ONNXDialect, MPDialect>();
  ErrorListener listener(context, sink, name);
  OwningOpRef<ModuleOp> made = input.import(*context, ImportOptions());
  if (!made || failed(verify(*made)))
    return fail(makeError({ErrorKind::BadInput, "the model is invalid"}), &sink,
                name);
  module = wrap(made.release());
  return succeed();
}

static mp_opt_status exportTo(ModuleOp module, mp_opt_bytes **bytes) {
  MessageSink sink;
  ErrorListener listener(module.getContext(), sink, "");
  auto give = [&](const Twine &text) {
    return fail(makeError({ErrorKind::BadInput, text.str()}), &sink);
  };
  std::unique_ptr<ExportedModel> exported = exportONNX(module, "model.onnx");
  if (!exported)
    return give("the module is not a model");
  if (!exported->getKeptFiles().empty() || !exported->getExternalData().empty())
    return give("tensors belong into a data file, since they were in one or "
                "exceed 2 GB: mp_opt_model_write writes both files");
  std::string text;
  llvm::raw_string_ostream os(text);
  printContent(exported->getModel(), os);
  *bytes = new mp_opt_bytes{std::move(text)};
  return succeed();
}

} // namespace mp

using namespace mp;

void mlirMPOptRegisterAllDialects(MlirDialectRegistry registry) {
  if (!mlirDialectRegistryIsNull(registry))
    registerDialects(*unwrap(registry));
}

mp_opt_status mlirMPOptImport(MlirContext context, const void *content,
                              size_t size, const char *name,
                              MlirModule *module) {
  return guard([&] {
    if (module)
      *module = MlirModule{nullptr};
    if (mlirContextIsNull(context) || !module || (size && !content))
      return failUsage("import: no context, no content, or no place for the "
                       "module");
    StringRef text(static_cast<const char *>(content), size);
    return import(unwrap(context), text, name ? name : "", *module);
  });
}

mp_opt_status mlirMPOptExport(MlirModule module, mp_opt_bytes **bytes) {
  return guard([&] {
    if (bytes)
      *bytes = nullptr;
    if (mlirModuleIsNull(module) || !bytes)
      return failUsage("export: no module, or no place for the bytes");
    return exportTo(unwrap(module), bytes);
  });
}
