// RUN: mp-opt %s --mp-set-gpu=chip=gfx1100 | FileCheck %s
// RUN: mp-opt %s --mp-set-gpu | FileCheck %s --check-prefix=DEFAULT
// RUN: not mp-opt %s --mp-set-gpu=chip=sm_80 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: module attributes {device.target = #device.target<chip = "gfx1100">}
// DEFAULT: module attributes {device.target = #device.target<chip = "gfx942">}
// OTHER: error: chip: expected gfx942 or gfx1100, got 'sm_80'
module {
}
