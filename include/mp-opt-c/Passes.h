/*===- Passes.h - The passes of mp-opt, for MLIR's C API ----------*- C -*-===*\
|*                                                                            *|
|* Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.        *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Passes and pipelines for a pass manager in a context of yours; Dialects.h  *|
|* says where that must come from. What passes find goes to the handlers of   *|
|* the context, and mlirPassManagerRunOnOp says whether they have failed.     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MP_OPT_C_PASSES_H
#define MP_OPT_C_PASSES_H

#include "mp-opt-c/mp_opt.h"

/* For each pass, mlirCreateMPOptGraphFixSizes() and
   mlirRegisterMPOptGraphFixSizes(); for each stage,
   mlirRegisterMPOptGraphPasses(). */
#include "mp-opt-c/AutodiffPasses.capi.h.inc"
#include "mp-opt-c/DistributionPasses.capi.h.inc"
#include "mp-opt-c/GraphPasses.capi.h.inc"
#include "mp-opt-c/LossScalingPasses.capi.h.inc"
#include "mp-opt-c/LoweringPasses.capi.h.inc"
#include "mp-opt-c/PrecisionPasses.capi.h.inc"

#ifdef __cplusplus
extern "C" {
#endif

/** Passes and pipelines become known by name, to mlirParsePassPipeline too.
 *  May be called again, by any thread. */
MP_OPT_API void mlirMPOptRegisterAllPasses(void);

/** Adds the pass or pipeline `name` ("mp-classify", "mp-mixed-precision") with
 *  `options` as mlir-opt takes them ("precision=fp16 distribute"), which may be
 *  null. Registers all of them. Fails, and adds nothing, for a name or options
 *  that there are not; what is wrong with a value of a pass is found when it
 *  runs. (LLVM prints on standard error what it cannot read as a number.) */
MP_OPT_API mp_opt_status mlirMPOptAddPipeline(MlirOpPassManager manager,
                                              const char *name,
                                              const char *options);

#ifdef __cplusplus
}
#endif

#endif /* MP_OPT_C_PASSES_H */
