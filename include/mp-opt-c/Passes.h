/*===- Passes.h - The passes of mp-opt, for MLIR's C API ----------*- C -*-===*\
|*                                                                            *|
|* Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.        *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Passes and pipelines for a pass manager in a context of the caller. See    *|
|* Dialects.h for the origin of that context. Errors go to the handlers of    *|
|* the context, and mlirPassManagerRunOnOp returns if passes have failed.     *|
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

/** Registers passes and pipelines by name, also for mlirParsePassPipeline. May
 *  be called repeatedly, by any thread. */
MP_OPT_API void mlirMPOptRegisterAllPasses(void);

/** Adds the pass or pipeline `name` ("mp-classify", "mp-mixed-precision") with
 *  `options` in the syntax of mlir-opt ("precision=fp16 distribute"), which may
 *  be null. Registers all passes. Fails, and adds nothing, if the name or an
 *  option does not exist. An invalid value of a pass is found when the pass
 *  runs. (LLVM prints invalid numbers to standard error.) */
MP_OPT_API mp_opt_status mlirMPOptAddPipeline(MlirOpPassManager manager,
                                              const char *name,
                                              const char *options);

#ifdef __cplusplus
}
#endif

#endif /* MP_OPT_C_PASSES_H */
