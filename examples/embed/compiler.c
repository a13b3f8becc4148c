/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   The compiler in a program of yours: makes a training step of a model, in
   mixed precision, trains with it, and saves what it has learnt.

     cc compiler.c -lmp-opt -o compiler
     ./compiler classifier.onnxtxt states.safetensors                        */

#include <mp-opt-c/mp_opt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 32, features = 4, classes = 3, steps = 60 };

/* Ends with the status as exit code where a call has failed. */
static void check(mp_opt_status status) {
  if (status != MP_OPT_STATUS_OK) {
    fprintf(stderr, "%s\n", mp_opt_error_text());
    exit(status);
  }
}

static void print(const mp_opt_diagnostic *diagnostic, void *user) {
  if (diagnostic->severity == MP_OPT_SEVERITY_WARNING)
    fprintf((FILE *)user, "%s: warning: %s\n", diagnostic->file,
            diagnostic->message);
}

static mp_opt_options *make_options(const char *command,
                                    const char *const (*flags)[2]) {
  mp_opt_options *options;
  check(mp_opt_options_create(command, &options));
  check(mp_opt_options_set_callback(options, print, stderr));
  for (; (*flags)[0]; ++flags)
    check(mp_opt_options_set(options, (*flags)[0], (*flags)[1]));
  return options;
}

/* The forward model becomes one step of training: forward, backward, AdamW and
   loss scaling, most of it in fp16. */
static mp_opt_model *make_step(const char *path) {
  static const char *const flags[][2] = {{"train", NULL},
                                         {"loss", "softmax-cross-entropy"},
                                         {"optimizer", "adamw"},
                                         {"lr", "0.05"},
                                         {"mixed-fp16", NULL},
                                         {NULL, NULL}};
  mp_opt_options *options = make_options("convert", flags);
  mp_opt_model *model;
  mp_opt_report *report;
  check(mp_opt_model_read(path, options, &model));
  check(mp_opt_convert(model, options, NULL, &report));
  printf("%s", mp_opt_report_text(report, "summary"));
  mp_opt_report_destroy(report);
  mp_opt_options_destroy(options);
  return model;
}

/* Rows whose largest number is their class. */
static void make_batch(float (*x)[features], int64_t *labels) {
  int row, i;
  for (row = 0; row < rows; ++row) {
    labels[row] = row % classes;
    for (i = 0; i < features; ++i)
      x[row][i] = (float)((5 * row + 3 * i) % 7) / 7 + 2 * (i == labels[row]);
  }
}

static double train(mp_opt_step *step) {
  static float x[rows][features];
  static int64_t labels[rows];
  const int64_t x_sizes[] = {rows, features}, label_sizes[] = {rows};
  mp_opt_array batch[2], value;
  mp_opt_buffer *outputs[8];
  double loss = 0;
  size_t i;
  int count;
  make_batch(x, labels);
  batch[0] = (mp_opt_array){"x", 1, 2, x_sizes, x, sizeof(x)};
  batch[1] = (mp_opt_array){"labels", 7, 1, label_sizes, labels, sizeof(labels)};
  if (mp_opt_step_num_outputs(step) > 8)
    exit(1);
  for (count = 0; count < steps; ++count) {
    check(mp_opt_step_run(step, batch, 2, NAN, outputs));
    for (i = 0; i < mp_opt_step_num_outputs(step); ++i) {
      check(mp_opt_buffer_array(outputs[i], &value));
      if (value.name[0] == 'l' && value.rank == 0)
        loss = *(float *)value.data;
      mp_opt_buffer_destroy(outputs[i]);
    }
    if (count == 0)
      printf("first loss %.3f\n", loss);
  }
  return loss;
}

int main(int argc, char **argv) {
  static const char *const flags[][2] = {
      {"dim", "batch=32"}, {"lr-schedule", "cosine"}, {"steps", "60"},
      {NULL, NULL}};
  mp_opt_options *options;
  mp_opt_model *model;
  mp_opt_step *step;
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL STATES\n", argv[0]);
    return 2;
  }
  model = make_step(argv[1]);
  options = make_options("train", flags);
  check(mp_opt_step_create(model, options, &step));
  mp_opt_model_destroy(model);
  printf("last loss %.3f\n", train(step));
  printf("%u steps, rate %.4f\n", (unsigned)mp_opt_step_count(step),
         mp_opt_step_rate(step));
  check(mp_opt_step_save(step, argv[2], 1));
  mp_opt_step_destroy(step);
  mp_opt_options_destroy(options);
  return 0;
}
