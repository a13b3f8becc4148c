//===- DeviceExample.h - A plan for the kernels of DeviceKernels.cpp ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TEST_UNIT_DEVICEEXAMPLE_H
#define MPOPT_TEST_UNIT_DEVICEEXAMPLE_H

#include "mp-opt/Execution/DevicePlan.h"

constexpr unsigned numElements = 100;

/// Inputs x and w, outputs y and w_new, which is written over w, and a constant
/// k of 100 floats each: w += x * k, y = w + the number of the call. The output
/// z of ten elements goes through a fill and a copy.
inline mp::DevicePlan makeExample() {
  using Plan = mp::DevicePlan;
  constexpr uint64_t bytes = 4 * numElements;
  Plan plan;
  plan.arenaBytes = 1024;
  plan.inputs = {{"x", bytes, -1}, {"w", bytes, -1}};
  plan.outputs = {{"y", bytes, -1}, {"w_new", bytes, 1}, {"z", 40, -1}};
  plan.constants = {{"", bytes, -1}};
  plan.errors = {"nothing of the kind",
                 "node 'a' (Log-13): x[%0] is %1, expected no negative number"};
  plan.images = {{}};
  plan.kernels = {{"step", 0, 50, 0, 5}, {"add", 0, 50, 0, 3}};
  auto place = [](Plan::Space space, unsigned index, uint64_t offset,
                  uint64_t size) {
    return Plan::Place{space, index, offset, size};
  };
  Plan::Place x = place(Plan::Space::Input, 0, 0, bytes),
              w = place(Plan::Space::Input, 1, 0, bytes),
              k = place(Plan::Space::Constant, 0, 0, bytes),
              temporary = place(Plan::Space::Arena, 0, 512, bytes),
              filled = place(Plan::Space::Arena, 0, 0, 40),
              y = place(Plan::Space::Output, 0, 0, bytes),
              z = place(Plan::Space::Output, 2, 0, 40),
              control = place(Plan::Space::Control, 0, 0, 64);
  Plan::Record fill, copy, step, add;
  fill.kind = Plan::RecordKind::Fill;
  fill.value = 0x3f800000;
  fill.valueBytes = 4;
  fill.places = {filled};
  copy.kind = Plan::RecordKind::Copy;
  copy.places = {filled, z};
  copy.node = "node 'c' (Identity-13)";
  step.kernel = 0;
  step.grid = {2, 1, 1};
  step.block = {50, 1, 1};
  step.places = {x, w, k, temporary, control};
  step.node = "node 'a' (Log-13)";
  add = step;
  add.kernel = 1;
  add.places = {w, temporary, y};
  plan.records = {fill, step, add, copy};
  return plan;
}

#endif // MPOPT_TEST_UNIT_DEVICEEXAMPLE_H
