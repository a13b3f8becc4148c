/*===- Dialects.h - The dialects of mp-opt, for MLIR's C API ------*- C -*-===*\
|*                                                                            *|
|* Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.        *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* For compilers: models as modules of MLIR in a context of the caller. Names *|
|* begin with mlir, as in MLIR's C API.                                       *|
|*                                                                            *|
|* The origin of the context matters: MLIR identifies types by addresses, so  *|
|* a process must have only one MLIR. libmp-opt.so contains the functions of  *|
|* mlir-c/IR.h, Pass.h, Diagnostics.h, BuiltinAttributes.h, BuiltinTypes.h,   *|
|* Interfaces.h, Support.h and Transforms.h, based on the libMLIR.so that it  *|
|* was linked with. Link it alone, and create the MlirContext with its        *|
|* mlirContextCreate. A context of the same libMLIR.so works too; one of      *|
|* another MLIR (of a static program, of MLIR's Python package) causes        *|
|* undefined behavior. The headers below mlir-c/ are those of that MLIR       *|
|* (libmlir-22-dev). Its C API is not stable, so programs must be recompiled  *|
|* for another version, and do not start with it until then. The library in   *|
|* the Python package has none of this.                                       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MP_OPT_C_DIALECTS_H
#define MP_OPT_C_DIALECTS_H

#include "mp-opt-c/mp_opt.h"

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/* mlirGetDialectHandle__onnx__() and so on, for mlirDialectHandleInsertDialect,
   -RegisterDialect and -LoadDialect. */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(ONNX, onnx);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(MP, mp);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Runtime, runtime);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Kernel, kernel);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Device, device);

/** Registers these dialects, the dialects of MLIR that lowering uses, and the
 *  interfaces of their operations that lowering needs. Does nothing for a null
 *  registry. */
MP_OPT_API void mlirMPOptRegisterAllDialects(MlirDialectRegistry registry);

/** Imports a model as a module of the onnx dialect, into a context to which
 *  missing dialects are added. `content` is that of a file in any form that
 *  mp-opt reads, and is copied. `name` may be null; it determines the form, as
 *  the name of a file does, and the folder of external data. Errors also go to
 *  the context's handlers. The caller destroys the module, which is null after
 *  a failure. */
MP_OPT_API mp_opt_status mlirMPOptImport(MlirContext context,
                                         const void *content, size_t size,
                                         const char *name, MlirModule *module);

/** The bytes of an ONNX file. Fails if operations are not part of ONNX, or if
 *  tensors must be stored in a separate data file. */
MP_OPT_API mp_opt_status mlirMPOptExport(MlirModule module,
                                         mp_opt_bytes **bytes);

#ifdef __cplusplus
}
#endif

#endif /* MP_OPT_C_DIALECTS_H */
