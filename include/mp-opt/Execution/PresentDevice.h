//===- PresentDevice.h - The GPU of this machine ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_PRESENTDEVICE_H
#define MPOPT_EXECUTION_PRESENTDEVICE_H

#include "mp-opt/Codegen/Target/DeviceModels.h"

namespace mp {

/// A model of the first GPU that NVIDIA's driver finds, from what the driver
/// says of it. Fails if there is no driver or device, if it does not say its
/// compute capability, or if no device of that generation is known.
llvm::Expected<DeviceModel> findPresentDevice();

} // namespace mp

#endif // MPOPT_EXECUTION_PRESENTDEVICE_H
