// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy | FileCheck %s

#last_image = affine_map<(n, i, j, c, k, l) -> (n, i * 3 + k - 1, j * 3 + l - 1, c)>
#last_weight = affine_map<(n, i, j, c, k, l) -> (c, k, l)>
#last_result = affine_map<(n, i, j, c, k, l) -> (n, i, j, c)>
#row_image = affine_map<(n, i, j, f, k, l, c) -> (n, i + k - 1, j + l - 1, c)>
#colours = affine_map<(n, i, j, f, k, l, c) -> (n, c, i * 2 + k - 1, j * 2 + l - 1)>
#row_weight = affine_map<(n, i, j, f, k, l, c) -> (f, c, k, l)>
#row_result = affine_map<(n, i, j, f, k, l, c) -> (n, i, j, f)>

// Where channels are last, vectors are of these, whatever the stride is; 10
// pixels are two blocks of 5; constant weights are packed once. Windows of many
// channels are rows in place, as are those of few colours.
// CHECK-LABEL: func.func @channels_last
// CHECK: strategy = depthwise, products = widen, mr = 5, nr = 16, lanes = 16, cached = lhs>
// CHECK: strategy = blocked, {{.*}}lhs = in_place,
// CHECK: strategy = blocked, {{.*}}lhs = in_place,
// CHECK: strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, mc
func.func @channels_last(%x: memref<2x28x28x40xf32>, %w: memref<40x3x3xf32>, %y: memref<2x10x10x40xf32>,
                         %v: memref<50x40x3x3xf32>, %z: memref<2x28x28x50xf32>, %r: memref<2x3x56x56xf32>,
                         %u: memref<50x3x3x3xf32>, %s: memref<2x33x56x56xf32>, %t: memref<50x33x3x3xf32>) {
  kernel.contract {indexing_maps = [#last_image, #last_weight, #last_result], kernel.constant = 1 : i64}
      ins(%x, %w : memref<2x28x28x40xf32>, memref<40x3x3xf32>) outs(%y : memref<2x10x10x40xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#row_image, #row_weight, #row_result]}
      ins(%x, %v : memref<2x28x28x40xf32>, memref<50x40x3x3xf32>) outs(%z : memref<2x28x28x50xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#colours, #row_weight, #row_result]}
      ins(%r, %u : memref<2x3x56x56xf32>, memref<50x3x3x3xf32>) outs(%z : memref<2x28x28x50xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#colours, #row_weight, #row_result]}
      ins(%s, %t : memref<2x33x56x56xf32>, memref<50x33x3x3xf32>) outs(%z : memref<2x28x28x50xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

#sum_gradient = affine_map<(c, k, l, n, i, j) -> (n, i, j, c)>
#sum_image = affine_map<(c, k, l, n, i, j) -> (n, i * 2 + k - 1, j * 2 + l - 1, c)>
#sum_weight = affine_map<(c, k, l, n, i, j) -> (c, k, l)>
#part_gradient = affine_map<(n, i, j, c, k, l) -> (n, i - k + 1, j - l, c)>
#part_weight = affine_map<(n, i, j, c, k, l) -> (c, k * 2, l * 2 + 1)>
#part_image = affine_map<(n, i, j, c, k, l) -> (n, i * 2 + 1, j * 2, c)>
#filter_gradient = affine_map<(n, i, j, c) -> (n, i, j, c)>
#filter_weight = affine_map<(n, i, j, c) -> (c, 1, 1)>
#filter_image = affine_map<(n, i, j, c) -> (n, i * 2, j * 2, c)>

// Gradients of such convolutions: of weights, sums over pixels; of the image at
// stride 2, four parts, one of which has a single filter position.
// CHECK-LABEL: func.func @gradients_of_channels
// CHECK: strategy = depthwise, products = widen, mr = 7, nr = 16, lanes = 16>
// CHECK: strategy = depthwise, products = widen, mr = 7, nr = 16, lanes = 16>
// CHECK: strategy = depthwise, products = widen, mr = 7, nr = 16, lanes = 16>
func.func @gradients_of_channels(%g: memref<2x14x14x40xf32>, %x: memref<2x28x28x40xf32>,
                                 %w: memref<40x3x3xf32>) {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  kernel.contract {indexing_maps = [#sum_gradient, #sum_image, #sum_weight]}
      ins(%g, %x : memref<2x14x14x40xf32>, memref<2x28x28x40xf32>) outs(%w : memref<40x3x3xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  %size = arith.constant 14 : index
  kernel.contract {indexing_maps = [#part_gradient, #part_weight, #part_image]}
      ins(%g, %w : memref<2x14x14x40xf32>, memref<40x3x3xf32>)
      sizes(%size, %size, %two, %one) outs(%x : memref<2x28x28x40xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#filter_gradient, #filter_weight, #filter_image]}
      ins(%g, %w : memref<2x14x14x40xf32>, memref<40x3x3xf32>) outs(%x : memref<2x28x28x40xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
