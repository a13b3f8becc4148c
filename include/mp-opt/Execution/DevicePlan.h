//===- DevicePlan.h - What a device does in a call of a model ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan of Runtime/Plan.h as a value: made of a module, packed into the
// bytes that the run-time library reads.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICEPLAN_H
#define MPOPT_EXECUTION_DEVICEPLAN_H

#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

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
    /// Of an output, the input that it is written over; else -1.
    int64_t state = -1;
  };

  enum class ImageKind { PTX, Cubin, Emulated };
  /// Kernels as one module of the driver.
  struct Image {
    ImageKind kind = ImageKind::Emulated;
    /// 90 for sm_90, which any later device runs too if it is PTX; `isSpecific`
    /// for sm_90a. 0 if emulated.
    unsigned architecture = 0;
    bool isSpecific = false;
    /// 80 for PTX 8.0.
    unsigned ptxVersion = 0;
    /// Without the zero behind PTX; empty if emulated.
    std::string content;
    /// The image, a smaller number, whose kernels these are, made for other
    /// devices; -1 if kernels refer to this one.
    int insteadOf = -1;
  };

  struct Kernel {
    std::string name;
    unsigned image = 0;
    /// The most of all launches: threads of a block, bytes of dynamic shared
    /// memory.
    unsigned threads = 0, shared = 0;
    /// All are pointers.
    unsigned parameters = 0;
  };

  enum class Space { Arena, Input, Output, Constant, Control };
  struct Place {
    Space space = Space::Arena;
    /// Of the input, output or constant; else 0.
    unsigned index = 0;
    /// Where it begins in there, and what of it is used.
    uint64_t offset = 0, bytes = 0;
  };

  /// What a record moves and computes, as `#device.work` says it.
  struct Work {
    device::WorkKind kind = device::WorkKind::Copy;
    uint64_t readBytes = 0, writtenBytes = 0;
    /// Multiply-adds.
    uint64_t tensor = 0, fma = 0;
    uint64_t operations = 0, doubles = 0;

    static Work get(device::WorkAttr attribute);
  };

  /// What ranks make of memory: a member of a bucket (Runtime.h).
  struct Reduction {
    int bucket = 0, members = 1, operation = 0, type = 1;
    Place memory;
    /// A byte that is 0 where nothing is to be done.
    std::optional<Place> condition;
  };

  enum class RecordKind { Launch, Copy, Fill, ReduceStart, ReduceWait };
  struct Record {
    RecordKind kind = RecordKind::Launch;
    /// Of a launch; of a start or wait, the reduction's number.
    unsigned kernel = 0;
    std::array<unsigned, 3> grid = {}, block = {};
    unsigned shared = 0;
    /// It is no part of a call, but runs where states have been set.
    bool whenSet = false;
    /// Of a fill: a value of 1, 2 or 4 bytes.
    unsigned value = 0, valueBytes = 0;
    /// Parameters; source and target; target; of a reduction none.
    std::vector<Place> places;
    /// The node that it comes from, for messages; empty if that is not known.
    std::string node;
    /// One for each kind; empty if that is not known. It is not packed: nobody
    /// who runs a plan asks for it.
    std::vector<Work> work;
  };

  uint64_t arenaBytes = 0;
  std::vector<Buffer> inputs, outputs, constants;
  std::vector<Image> images;
  std::vector<Kernel> kernels;
  std::vector<Record> records;
  std::vector<Reduction> reductions;
  /// Texts of kernels that fail.
  std::vector<std::string> errors;

  /// The bytes of Runtime/Plan.h.
  std::string pack() const;
  /// The reverse, for any bytes.
  static llvm::Expected<DevicePlan> unpack(llvm::StringRef bytes);

  /// One line for each buffer, image, kernel and record, and their totals.
  void print(llvm::raw_ostream &os) const;
};

/// The plan of a module whose `main` is a list of launches and copies
/// (Device.td), with one emulated image, which is to be replaced by what the
/// kernels become. Kernels themselves are not looked at. Fails after a
/// diagnostic.
mlir::FailureOr<DevicePlan> makePlan(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICEPLAN_H
