// RUN: mp-opt %s | mp-opt - | FileCheck %s
// RUN: mp-opt %s --mlir-print-op-generic | mp-opt - | FileCheck %s

// CHECK: module attributes {device.target = #device.target<chip = "gfx942", fp32_products = tf32>}
module attributes {device.target = #device.target<chip = "gfx942", fp32_products = tf32>} {

gpu.module @kernels {
  gpu.func @add(%a: memref<8xf32>, %c: memref<8xi64>) kernel {
    %i = arith.constant 1 : index
    // CHECK: device.fail %{{.*}}, 0(%{{.*}}, %{{.*}}) ends : memref<8xi64>
    device.fail %c, 0 (%i, %i) ends : memref<8xi64>
    // CHECK: device.draw %{{.*}}, 42 after 1 : memref<8xi64>
    %seed = device.draw %c, 42 after 1 : memref<8xi64>
    gpu.return
  }
}

// CHECK-LABEL: func.func @main
func.func @main(%a: memref<8xf32>) {
  // CHECK: %[[C:.*]] = device.control : memref<8xi64>
  %c = device.control : memref<8xi64>
  // CHECK: device.group elementwise {
  device.group elementwise {
    %x = arith.constant 1.0 : f32
    linalg.fill ins(%x : f32) outs(%a : memref<8xf32>)
  }
  // CHECK: device.launch @kernels::@add grid [1, 1, 1] block [32, 1, 1](%{{.*}}, %[[C]]) : memref<8xf32>, memref<8xi64>
  device.launch @kernels::@add grid [1, 1, 1] block [32, 1, 1] (%a, %c) : memref<8xf32>, memref<8xi64>
  // CHECK: device.launch @kernels::@add grid [2, 1, 1] block [32, 1, 1] shared 4096(%{{.*}}, %[[C]])
  device.launch @kernels::@add grid [2, 1, 1] block [32, 1, 1] shared 4096 (%a, %c) : memref<8xf32>, memref<8xi64>
  // CHECK: (%{{.*}}, %[[C]]) {work = [#device.work<kind = map, read = 32, operations = 8>, #device.work<kind = update, read = 1, written = 2, tensor = 3, fma = 4, operations = 5, doubles = 6>]} : memref<8xf32>, memref<8xi64>
  device.launch @kernels::@add grid [1, 1, 1] block [32, 1, 1] (%a, %c) {work = [#device.work<kind = map, read = 32, written = 0, operations = 8>, #device.work<kind = update, read = 1, written = 2, tensor = 3, fma = 4, operations = 5, doubles = 6>]} : memref<8xf32>, memref<8xi64>
  // CHECK: device.group single_block strategy <by = blocks, blocks = 1, threads = 32> {
  device.group single_block strategy <by = blocks, blocks = 1, threads = 32> {
  }
  // CHECK: %[[COPY:.*]] = device.shadow %{{.*}} : memref<8xf32> as memref<8xbf16>
  %copy = device.shadow %a : memref<8xf32> as memref<8xbf16>
  // CHECK: device.group elementwise attributes {when_set} {
  device.group elementwise attributes {when_set} {
    %y = arith.constant 1.0 : bf16
    linalg.fill ins(%y : bf16) outs(%copy : memref<8xbf16>)
  }
  // CHECK: (%{{.*}}, %[[C]]) {when_set} : memref<8xf32>, memref<8xi64>
  device.launch @kernels::@add grid [1, 1, 1] block [32, 1, 1] (%a, %c) {when_set} : memref<8xf32>, memref<8xi64>
  return
}
}
