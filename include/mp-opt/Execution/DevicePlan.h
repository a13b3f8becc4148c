//===- DevicePlan.h - The work of a device in one call ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the plan of Runtime/Plan.h: it is made from a module, and packed into
// the bytes that the run-time library checks and reads (PlanView.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICEPLAN_H
#define MPOPT_EXECUTION_DEVICEPLAN_H

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Execution/KernelCounts.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace mp {

struct DevicePlan {
  struct Buffer {
    /// Empty for constants.
    std::string name;
    uint64_t bytes = 0;
    /// For an output, the input that it is written over; else -1.
    int64_t state = -1;
  };

  enum class ImageKind { PTX, Cubin, Emulated };
  /// Kernels as one module of the driver.
  struct Image {
    ImageKind kind = ImageKind::Emulated;
    /// 90 for sm_90; any later device can run it if it is PTX. `isSpecific` is
    /// set for sm_90a. 0 if emulated.
    unsigned architecture = 0;
    bool isSpecific = false;
    /// 80 for PTX 8.0.
    unsigned ptxVersion = 0;
    /// PTX without its terminating zero; empty if emulated.
    std::string content;
    /// The number of an earlier image with the same kernels, for which this one
    /// is an alternative on other devices; -1 if kernels refer to this image.
    int insteadOf = -1;
  };

  struct Kernel {
    std::string name;
    unsigned image = 0;
    /// The maxima over all launches: threads of a block, bytes of dynamic
    /// shared memory.
    unsigned threads = 0, shared = 0;
    /// The number of parameters, all of which are pointers.
    unsigned parameters = 0;
    /// Absent unless it was asked for (makeCountedPlan). It is not packed.
    std::optional<KernelCounts> counts = std::nullopt;
  };

  enum class Space { Arena, Input, Output, Constant, Control };
  struct Place {
    Space space = Space::Arena;
    /// The number of the input, output or constant; else 0.
    unsigned index = 0;
    /// The used range: its offset and size.
    uint64_t offset = 0, bytes = 0;
  };

  /// The memory accesses and operations of a record, as in `#device.work`.
  struct Work {
    device::WorkKind kind = device::WorkKind::Copy;
    uint64_t readBytes = 0, writtenBytes = 0;
    /// Multiply-adds.
    uint64_t tensor = 0, fma = 0;
    uint64_t operations = 0, doubles = 0;

    static Work get(device::WorkAttr attribute);
  };

  /// A reduction of memory over ranks (mp_plan_reduction).
  struct Reduction {
    int bucket = 0, operation = 0, type = 1;
    std::vector<Place> members;
    /// A byte that is 0 if the reduction is to be skipped.
    std::optional<Place> condition;
  };

  enum class RecordKind { Launch, Copy, Fill, ReduceStart, ReduceWait };
  struct Record {
    RecordKind kind = RecordKind::Launch;
    /// The kernel of a launch; for a start or wait, the number of the
    /// reduction.
    unsigned kernel = 0;
    std::array<unsigned, 3> grid = {}, block = {};
    unsigned shared = 0;
    /// True if it is not part of a call, but runs after states have been set.
    bool whenSet = false;
    /// The value of a fill, which has 1, 2 or 4 bytes.
    unsigned value = 0, valueBytes = 0;
    /// The parameters of a launch; the source and target of a copy; the target
    /// of a fill; empty for a reduction.
    std::vector<Place> places;
    /// The node from which it comes, for messages; empty if unknown.
    std::string node;
    /// One entry per kind of work; empty if unknown. It is not packed, since
    /// running a plan does not need it.
    std::vector<Work> work;
  };

  uint64_t arenaBytes = 0;
  std::vector<Buffer> inputs, outputs, constants;
  std::vector<Image> images;
  std::vector<Kernel> kernels;
  std::vector<Record> records;
  std::vector<Reduction> reductions;
  /// Error texts that kernels may report.
  std::vector<std::string> errors;

  /// The sizes of inputs that training copies to a device during the step
  /// before (mp_session_set_next): those of more than MP_MAX_DIRECT_BYTES that
  /// are not states. Empty if the plan has no states, so it is not a step.
  std::vector<uint64_t> getNextInputs() const;

  /// Packs the plan into the bytes of Runtime/Plan.h.
  std::string pack() const;

  /// Prints one line per buffer, image, kernel and record, and their totals.
  void print(llvm::raw_ostream &os) const;
};

/// Makes the plan of a module whose `main` is a list of launches and copies
/// (Device.td). It has one emulated image, which the caller replaces by the
/// compiled kernels. The kernels themselves are not inspected. Fails after a
/// diagnostic.
mlir::FailureOr<DevicePlan> makePlan(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICEPLAN_H
