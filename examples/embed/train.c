// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trains the classifier of examples/training on a GPU, using a library of its
// step (docs/gpus.md says how to make it). Parameters and the optimizer's
// states are not given: they begin with the model's values, and stay on the
// device. The last call requests one of them.

#include "step.h"

#include <stdio.h>

enum { batch = 8, steps = 50 };

/// Numbers whose largest is their class.
static void makeBatch(float (*x)[4], int64_t *labels) {
  for (int row = 0; row < batch; ++row) {
    labels[row] = row % 3;
    for (int i = 0; i < 4; ++i)
      x[row][i] = (float)((5 * row + 3 * i) % 7) / 7 + 2 * (i == labels[row]);
  }
}

int main(void) {
  float x[batch][4], loss, scores[batch][3], bias[3];
  int64_t labels[batch];
  makeBatch(x, labels);
  mp_tensor inputs[step_num_inputs] = {{0, 0}};
  mp_tensor outputs[step_num_outputs] = {{0, 0}};
  inputs[step_in_x].data = x;
  inputs[step_in_labels].data = labels;
  outputs[step_out_loss].data = &loss;
  outputs[step_out_scores].data = scores;
  for (int step = 1; step <= steps; ++step) {
    if (step == steps)
      outputs[step_out_head_bias_new].data = bias;
    if (step_run(inputs, outputs) != MP_OK) {
      fprintf(stderr, "%s\n", mp_last_error());
      return 1;
    }
    if (step == 1 || step == steps)
      printf("step %d: loss %.2f\n", step, loss);
  }
  printf("head.bias: %.2f %.2f %.2f\n", bias[0], bias[1], bias[2]);
  step_release();
  return 0;
}
