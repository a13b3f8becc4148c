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
