/*===- Dialects.h - The dialects of mp-opt, for MLIR's C API ------*- C -*-===*\
|*                                                                            *|
|* Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.        *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* For compilers: models as modules of MLIR in a context of yours. The names  *|
|* begin with mlir, as those of MLIR's C API do.                              *|
|*                                                                            *|
|* Where the context comes from: MLIR knows types by addresses, so that a     *|
|* process must have one MLIR. libmp-opt.so has the functions of mlir-c/IR.h, *|
|* Pass.h, Diagnostics.h, BuiltinAttributes.h, BuiltinTypes.h, Interfaces.h,  *|
|* Support.h and Transforms.h, over the libMLIR.so that it was linked with:   *|
|* link it alone, and make the MlirContext by its mlirContextCreate. One of   *|
|* the same libMLIR.so is as good; one of another MLIR (of a static program,  *|
|* of MLIR's Python package) ends in undefined behaviour. The headers below   *|
|* mlir-c/ are those of that MLIR (libmlir-22-dev); its C API is not stable,  *|
|* so that programs are compiled anew for another version, and refuse to      *|
|* start with it until then. The library in the Python package has none of    *|
|* this.                                                                      *|
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

/** These, those of MLIR that lowering goes through, and what lowering asks of
 *  their operations. Does nothing for a null registry. */
MP_OPT_API void mlirMPOptRegisterAllDialects(MlirDialectRegistry registry);

/** A model as a module of the onnx dialect, in a context that gets the dialects
 *  it lacks. `content` is that of a file in any form that mp-opt reads, and is
 *  copied; `name` says which form, as a file's does, and may be null; external
 *  data lie beside the file that it would be. Errors go to the context's
 *  handlers as well. The caller destroys the module, which is null after a
 *  failure. */
MP_OPT_API mp_opt_status mlirMPOptImport(MlirContext context,
                                         const void *content, size_t size,
                                         const char *name, MlirModule *module);

/** The bytes of an ONNX file. Fails where operations are none of ONNX, and
 *  where tensors belong into a data file of their own. */
MP_OPT_API mp_opt_status mlirMPOptExport(MlirModule module,
                                         mp_opt_bytes **bytes);

#ifdef __cplusplus
}
#endif

#endif /* MP_OPT_C_DIALECTS_H */
