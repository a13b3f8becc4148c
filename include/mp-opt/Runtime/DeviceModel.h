/*===- DeviceModel.h - Models on devices, in libraries ----------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the code of a model for a device calls (`mp-opt --emit=lib
// --device=cuda`). Inputs and outputs are memory of the host, as for models on
// processors. The first call opens the driver and loads the model's plan; what
// calls write over (`written` of mp_value) is on the device between calls.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_DEVICEMODEL_H
#define MPOPT_RUNTIME_DEVICEMODEL_H

#include "mp-opt/Runtime/Driver.h"
#include "mp-opt/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model, as its code has it; the compiler of models writes this. */
typedef struct mp_device_model {
  const mp_interface *interface;
  /* As in mp_session_options (Device.h). */
  const void *plan;
  uint64_t plan_bytes;
  const void *const *constants;
  const void *emulated_image;
  /* mp_cuda_driver or mp_open_emulated_driver. */
  int32_t (*open_driver)(const mp_driver **driver);
  /* The run time's; null at first. */
  void *calls;
} mp_device_model;

/* A call: `PREFIX_run`. An input that calls write over may be without data: it
   is as the last call has left it then, at first its default. With data, its
   next value is written there as well. The output that is this next value is
   copied to where it has `data`, else its `data` is the input's. After a call
   that has failed on the device, such inputs have to be given again. Calls from
   several threads take turns. */
int32_t mp_device_run(mp_device_model *model, const mp_tensor *inputs,
                      mp_tensor *outputs);

/* Which device the calls to come use, as the driver counts them from 0. Fails
   with MP_BAD_INPUT if calls since mp_device_release have used another. */
int32_t mp_device_choose(mp_device_model *model, int32_t number);

/* Gives back all memory on the device, states among it; the next call starts
   anew. No call of the model runs meanwhile. */
void mp_device_release(mp_device_model *model);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_DEVICEMODEL_H */
