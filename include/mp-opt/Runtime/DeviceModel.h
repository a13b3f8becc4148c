/*===- DeviceModel.h - Models on devices, in libraries ----------*- C -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions called by the code of a model for a device (`mp-opt --emit=lib
// --device=cuda`). Inputs and outputs are memory of the host, as for models on
// processors. The first call opens the driver and loads the model's plan.
// Values that calls overwrite (`written` of mp_value) stay on the device
// between calls.
//
//===----------------------------------------------------------------------===*/

#ifndef MPOPT_RUNTIME_DEVICEMODEL_H
#define MPOPT_RUNTIME_DEVICEMODEL_H

#include "mp-opt/Runtime/Driver.h"
#include "mp-opt/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model in generated code; the compiler of models writes this structure. */
typedef struct mp_device_model {
  const mp_interface *interface;
  /* As in mp_session_options (Device.h). */
  const void *plan;
  uint64_t plan_bytes;
  const void *const *constants;
  const void *emulated_image;
  /* mp_cuda_driver or mp_open_emulated_driver. */
  int32_t (*open_driver)(const mp_driver **driver);
  /* Used by the run time; null at first. */
  void *calls;
} mp_device_model;

/* Implements `PREFIX_run`. An input that calls overwrite may be passed without
   data: it then has the value left by the last call, at first its default. If
   it has data, its next value is also written there. The output that is this
   next value is copied to its `data`, or if that is null, its `data` is set to
   that of the input. After a call that failed on the device, such inputs must
   be passed again. Concurrent calls from several threads are serialized. */
int32_t mp_device_run(mp_device_model *model, const mp_tensor *inputs,
                      mp_tensor *outputs);

/* Sets the driver's number, from 0, of the device for later calls. Fails with
   MP_BAD_INPUT if calls since mp_device_release have used another device. */
int32_t mp_device_choose(mp_device_model *model, int32_t number);

/* Frees all memory on the device, including states; the next call starts anew.
   No call of the model may run at the same time. */
void mp_device_release(mp_device_model *model);

#ifdef __cplusplus
}
#endif

#endif /* MPOPT_RUNTIME_DEVICEMODEL_H */
