// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the model of examples/mlp.onnxtxt, compiled to a shared library for a
// batch of one:
//   mp-opt examples/mlp.onnxtxt --mixed-bf16 --emit=lib --dim=batch=1 -o libmlp.so
//   cc examples/embed/main.c -I. -L. -lmlp -Wl,-rpath,. -o main

#include "mlp.h"

#include <stdio.h>

int main(void) {
  float features[4] = {1, 2, 3, 4}, probabilities[3];
  int64_t features_sizes[2] = {1, 4}, probabilities_sizes[2];
  mp_tensor inputs[mlp_num_inputs] = {{0, 0}}; // Others have defaults.
  mp_tensor outputs[mlp_num_outputs] = {{0, 0}};
  inputs[mlp_in_features].data = features;
  inputs[mlp_in_features].sizes = features_sizes;
  outputs[mlp_out_probabilities].data = probabilities;
  outputs[mlp_out_probabilities].sizes = probabilities_sizes;
  if (mlp_run(inputs, outputs) != MP_OK) {
    fprintf(stderr, "%s\n", mp_last_error());
    return 1;
  }
  printf("%.2f %.2f %.2f\n", probabilities[0], probabilities[1],
         probabilities[2]);
  return 0;
}
