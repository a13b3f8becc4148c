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
