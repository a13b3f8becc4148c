// RUN: mp-opt %s --split-input-file --verify-diagnostics

func.func @buffer(%bytes: index) -> memref<?xi8> {
  // expected-error@+1 {{attribute 'buffer' failed to satisfy constraint}}
  %0 = runtime.scratch 4, %bytes : memref<?xi8>
  return %0 : memref<?xi8>
}

// -----

func.func @plane(%entry: index, %count: index) {
  // expected-error@+1 {{result #0 must be 1D memref}}
  %memory, %there = runtime.cache_lookup %entry, %count : memref<?x?xf32>
  return
}

// -----

func.func @no_member() {
  // expected-error@+1 {{'runtime.collective_start' op expected at least one member}}
  "runtime.collective_start"() {bucket = 0 : i64, operandSegmentSizes = array<i32: 0, 0, 0>} : () -> ()
  return
}

// -----

func.func @kinds(%a: memref<4xf32>, %b: memref<4xf64>) {
  // expected-error@+1 {{found a member of type 'memref<4xf64>', expected elements of 'f32'}}
  runtime.collective_start %a, %b bucket 0 : memref<4xf32>, memref<4xf64>
  return
}

// -----

func.func @rows(%a: memref<4xf32>, %b: memref<4xf32>, %i: memref<2xi64>) {
  // expected-error@+1 {{found rows of 2 members, expected one member}}
  runtime.collective_start %a, %b rows %i : memref<2xi64>, bucket 0 : memref<4xf32>, memref<4xf32>
  return
}
