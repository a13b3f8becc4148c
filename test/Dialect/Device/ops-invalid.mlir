// RUN: mp-opt %s --split-input-file --verify-diagnostics

func.func @main(%a: memref<8xf32>) {
  // expected-error@+1 {{found no function '@kernels::@add'}}
  device.launch @kernels::@add grid [1, 1, 1] block [32, 1, 1] (%a) : memref<8xf32>
  return
}

// -----

gpu.module @kernels {
  gpu.func @add(%a: memref<8xf32>) kernel {
    gpu.return
  }
}
func.func @main(%a: memref<8xf32>) {
  // expected-error@+1 {{found 2 operands, but '@kernels::@add' takes 1}}
  device.launch @kernels::@add grid [1, 1, 1] block [32, 1, 1] (%a, %a) : memref<8xf32>, memref<8xf32>
  return
}

// -----

func.func @main(%a: memref<8xf32>) {
  // expected-error@+1 {{found blocks of 2048 threads, expected at most 1024}}
  device.launch @kernels::@add grid [1, 1, 1] block [2048, 1, 1] (%a) : memref<8xf32>
  return
}

// -----

func.func @main(%a: memref<8xf32>) {
  // expected-error@+1 {{expected three positive sizes of grid and block}}
  device.launch @kernels::@add grid [1, 0, 1] block [32, 1, 1] (%a) : memref<8xf32>
  return
}

// -----

func.func @main(%a: memref<8xf32>) {
  // expected-error@+1 {{attribute 'work' failed to satisfy constraint: work by kinds}}
  device.launch @kernels::@add grid [1, 1, 1] block [32, 1, 1] (%a) {work = [3]} : memref<8xf32>
  return
}

// -----

func.func @main(%a: memref<?xf32>) {
  // expected-error@+1 {{found an operand of 'memref<?xf32>', expected known sizes}}
  device.launch @kernels::@add grid [1, 1, 1] block [32, 1, 1] (%a) : memref<?xf32>
  return
}

// -----

func.func @main() {
  // expected-error@+1 {{of the kind 'elementwise' cannot be divided by tiles}}
  device.group elementwise strategy <by = tiles, blocks = 1, threads = 32> {
  }
  return
}

// -----

func.func @main() {
  // expected-error@+1 {{of the kind 'collective' cannot be divided by blocks}}
  device.group collective strategy <by = blocks, blocks = 1, threads = 32> {
  }
  return
}

// -----

func.func @main() {
  // expected-error@+1 {{found 2 blocks, expected one}}
  device.group single_block strategy <by = blocks, blocks = 2, threads = 32> {
  }
  return
}

// -----

func.func @main() {
  device.group fused {
    // expected-error@+1 {{is not a group, as each part of a fused one is}}
    %zero = arith.constant 0 : index
  }
  return
}

// -----

func.func @main() {
  // expected-error@+1 {{found 3 blocks, but its parts have 2}}
  device.group fused strategy <by = blocks, blocks = 3, threads = 256> {
    device.group elementwise strategy <by = threads, blocks = 1, threads = 256> {
    }
    device.group elementwise strategy <by = threads, blocks = 1, threads = 256> {
    }
  }
  return
}

// -----

func.func @main() {
  device.group fused strategy <by = blocks, blocks = 1, threads = 256> {
    // expected-error@+1 {{expected a strategy of 256 threads, as the fused group has}}
    device.group elementwise strategy <by = threads, blocks = 1, threads = 128> {
    }
  }
  return
}

// -----

// expected-error@+1 {{found blocks of 48 threads, expected a multiple of 32 up to 1024}}
func.func private @threads() attributes {strategy = #device.strategy<by = threads, blocks = 1, threads = 48>}

// -----

// expected-error@+1 {{found 48 of 64 threads per row, expected a power of two that divides them}}
#rows = #device.strategy<by = rows, blocks = 1, threads = 64, per_row = 48>

// -----

// expected-error@+1 {{found 32 threads per row, but work is divided by blocks}}
#rows = #device.strategy<by = blocks, blocks = 1, threads = 64, per_row = 32>

// -----

// expected-error@+1 {{found -1 blocks, expected 0 to 2147483647}}
func.func private @blocks() attributes {strategy = #device.strategy<by = threads, blocks = -1, threads = 32>}

// -----

// expected-error@+1 {{'device.target': expected #device.target, found "sm_90"}}
module attributes {device.target = "sm_90"} {
}

// -----

// expected-error@+1 {{'device.target' belongs to a module}}
func.func private @target() attributes {device.target = #device.target<chip = "sm_80">}
