//===- Internal.h - What the parts of the run-time share --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_INTERNAL_H
#define MPOPT_LIB_RUNTIME_INTERNAL_H

#include "mp-opt/Runtime/Runtime.h"

extern "C" {

/// The call that the thread works for: that of the thread that made it.
void *mp_current_call(void);
void mp_set_current_call(void *call);
}

#endif // MPOPT_LIB_RUNTIME_INTERNAL_H
