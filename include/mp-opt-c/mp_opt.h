/*===- mp_opt.h - mp-opt as a library, for C ----------------------*- C -*-===*\
|*                                                                            *|
|* Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.        *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Converts, compiles, runs and trains ONNX models in the process that calls. *|
|* Options are set by the names of the programs' flags, as texts, so that     *|
|* there is no structure to version. docs/c-api.md has examples. Names begin  *|
|* with mp_opt_: those of compiled models' headers, mp_, are others.          *|
|*                                                                            *|
|* Functions that can fail return a status, and give what they make through   *|
|* their last arguments, which are null after a failure. What was made is     *|
|* destroyed by the function of its type, which null is fine for. Texts that  *|
|* are handed out belong to the object that hands them out.                   *|
|*                                                                            *|
|* Threads: an object may be used by several threads; calls that need it at   *|
|* the same time take turns. It must be destroyed by one, when no other uses  *|
|* it any more. Nothing here ends the process, prints, or throws.             *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MP_OPT_C_MP_OPT_H
#define MP_OPT_C_MP_OPT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MP_OPT_API __attribute__((visibility("default")))
#else
#define MP_OPT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Grows when functions are added; what is there stays as it is. */
#define MP_OPT_API_VERSION 1

/** The version of the library that is loaded: at least that of the header that
 *  a program was compiled with. */
MP_OPT_API uint32_t mp_opt_api_version(void);
/** "0.1.0 (LLVM 22.1.8)". */
MP_OPT_API const char *mp_opt_version(void);

/*===----------------------------------------------------------------------===*\
|* Errors and messages
\*===----------------------------------------------------------------------===*/

/** What functions return: the exit codes of the programs. */
typedef enum mp_opt_status {
  MP_OPT_STATUS_OK = 0,
  /** A file cannot be read or written, a model is none, data do not fit it. */
  MP_OPT_STATUS_BAD_INPUT = 1,
  /** Options that there are not, or that contradict each other; an argument
   *  that is null, or an object that is used up. */
  MP_OPT_STATUS_USAGE = 2,
  /** Numbers are outside of their tolerance. */
  MP_OPT_STATUS_OUTSIDE = 3,
  /** 16 bit cannot be had, under `strict`; or the model has operators that
   *  cannot be compiled. */
  MP_OPT_STATUS_NOT_SUPPORTED = 4,
  /** The device was lost, or has failed. */
  MP_OPT_STATUS_DEVICE_FAILED = 7,
  /** A bug, or no memory left. */
  MP_OPT_STATUS_INTERNAL = 70
} mp_opt_status;

/** What the last call of this thread that failed has found; "" if none has.
 *  Valid until the next call of this thread. */
MP_OPT_API const char *mp_opt_error_text(void);

typedef enum mp_opt_severity {
  MP_OPT_SEVERITY_NOTE = 0,
  MP_OPT_SEVERITY_WARNING = 1,
  MP_OPT_SEVERITY_ERROR = 2,
  MP_OPT_SEVERITY_REMARK = 3
} mp_opt_severity;

/** One message. Texts are never null, and "" where there is nothing to say;
 *  they are valid while the callback runs. */
typedef struct mp_opt_diagnostic {
  mp_opt_severity severity;
  /** The model, or the file of data. */
  const char *file;
  /** "enc/3/Softmax" and "Softmax-13". */
  const char *node;
  const char *op;
  const char *attribute;
  /** The whole text, node and attribute included. */
  const char *message;
} mp_opt_diagnostic;

/** Called by the thread that has called the library. It must return, and must
 *  not use the objects of the call. */
typedef void (*mp_opt_message_fn)(const mp_opt_diagnostic *diagnostic,
                                  void *user);

/*===----------------------------------------------------------------------===*\
|* Options
\*===----------------------------------------------------------------------===*/

typedef struct mp_opt_options mp_opt_options;

/** Whose flags they are: "convert" (mp-opt's), "compile" (mp-run run's) or
 *  "train" (mp-run train's, as far as they are not about data and files). */
MP_OPT_API mp_opt_status mp_opt_options_create(const char *command,
                                               mp_opt_options **options);
MP_OPT_API void mp_opt_options_destroy(mp_opt_options *options);

/** Sets a flag, whose `name` has no dashes in front. `value` is null for flags
 *  that are given without one; those that are given several times on a command
 *  line are set several times. Fails where the program would refuse it. */
MP_OPT_API mp_opt_status mp_opt_options_set(mp_opt_options *options,
                                            const char *name,
                                            const char *value);
/** Gets the messages of all calls that these options are given to, and of the
 *  models that are read with them. */
MP_OPT_API mp_opt_status mp_opt_options_set_callback(mp_opt_options *options,
                                                     mp_opt_message_fn callback,
                                                     void *user);
/** The flags that there are, as the programs' --help=json prints them. */
MP_OPT_API mp_opt_status mp_opt_options_describe(const mp_opt_options *options,
                                                 const char **json);

/*===----------------------------------------------------------------------===*\
|* Models
\*===----------------------------------------------------------------------===*/

/** Bytes that the library has made. */
typedef struct mp_opt_bytes mp_opt_bytes;
/** A zero follows the last byte. */
MP_OPT_API const char *mp_opt_bytes_data(const mp_opt_bytes *bytes);
MP_OPT_API size_t mp_opt_bytes_size(const mp_opt_bytes *bytes);
MP_OPT_API void mp_opt_bytes_destroy(mp_opt_bytes *bytes);

typedef struct mp_opt_model mp_opt_model;

/** Reads a file in any form that mp-opt reads. `options` are of any command and
 *  may be null; `schemas`, `external-data-root` and `check` (`model-check`) are
 *  obeyed. */
MP_OPT_API mp_opt_status mp_opt_model_read(const char *path,
                                           const mp_opt_options *options,
                                           mp_opt_model **model);
/** The same of the content of a file, which is copied. External data lie beside
 *  the file that `name` would be. */
MP_OPT_API mp_opt_status mp_opt_model_parse(const void *content, size_t size,
                                            const char *name,
                                            const mp_opt_options *options,
                                            mp_opt_model **model);
MP_OPT_API void mp_opt_model_destroy(mp_opt_model *model);

/** The bytes of an ONNX file. Fails where the model needs a data file beside
 *  it. A model that nothing has changed is the bytes that were read. */
MP_OPT_API mp_opt_status mp_opt_model_bytes(mp_opt_model *model,
                                            mp_opt_bytes **bytes);
/** Writes the file, whole or not at all, in the form that `emit` of `options`
 *  ("convert", or null) or else its name says; code uses the model up. */
MP_OPT_API mp_opt_status mp_opt_model_write(mp_opt_model *model,
                                            const char *path,
                                            const mp_opt_options *options);

/*===----------------------------------------------------------------------===*\
|* Converting
\*===----------------------------------------------------------------------===*/

/** What a conversion has to say. */
typedef struct mp_opt_report mp_opt_report;
/** `kind` is "summary" (the table), "json" (the same and more), "explain",
 *  "html" (a page), "overlay" (for Model Explorer) or "verify". Null where it
 *  was not asked for: by `summary` and `explain`, by mp_opt_convert's `kinds`,
 * by `verify`. */
MP_OPT_API const char *mp_opt_report_text(const mp_opt_report *report,
                                          const char *kind);
MP_OPT_API void mp_opt_report_destroy(mp_opt_report *report);

/** Does to `model` what the options ask for: mixed precision, a training step.
 *  A model for which that fails is used up. `report` may be null; `kinds` are
 *  "html,overlay,json", or any of them, or null. Files that options name for
 *  reports are written. With `verify`, the status is MP_OPT_STATUS_OUTSIDE
 * where the result is further off than it may be, and the report is made. */
MP_OPT_API mp_opt_status mp_opt_convert(mp_opt_model *model,
                                        const mp_opt_options *options,
                                        const char *kinds,
                                        mp_opt_report **report);

/** Runs `result` against `model`, of which it has been made; a table, with a
 *  verdict, in `text`, whatever the status. */
MP_OPT_API mp_opt_status mp_opt_verify(mp_opt_model *model,
                                       mp_opt_model *result,
                                       const mp_opt_options *options,
                                       mp_opt_bytes **text);

/** What differs between two models, as text or JSON. `differs` gets 0 or 1. */
MP_OPT_API mp_opt_status mp_opt_diff(mp_opt_model *before, mp_opt_model *after,
                                     int as_json, mp_opt_bytes **text,
                                     int *differs);

/** The policy that the options of a conversion ask for, in YAML. */
MP_OPT_API mp_opt_status mp_opt_policy_text(const mp_opt_options *options,
                                            mp_opt_bytes **text);

/*===----------------------------------------------------------------------===*\
|* Running
\*===----------------------------------------------------------------------===*/

/** Elements in the machine's order, row by row. */
typedef struct mp_opt_array {
  /** May be null where places say what is meant. */
  const char *name;
  /** The number of the element type in ONNX: 1 float, 7 int64, 10 float16, 16
   *  bfloat16. */
  int32_t type;
  int32_t rank;
  const int64_t *sizes;
  /** Of `bytes` bytes. */
  void *data;
  uint64_t bytes;
} mp_opt_array;

/** An input or output: -1 for sizes that are known only at run time. */
typedef struct mp_opt_value {
  const char *name;
  int32_t type;
  int32_t rank;
  const int64_t *sizes;
  /** Whether an input may be left out. */
  int32_t has_default;
} mp_opt_value;

/** A tensor of the library's, or a share in one. */
typedef struct mp_opt_buffer mp_opt_buffer;
/** What is in it; valid as long as it is. */
MP_OPT_API mp_opt_status mp_opt_buffer_array(const mp_opt_buffer *buffer,
                                             mp_opt_array *array);
MP_OPT_API void mp_opt_buffer_destroy(mp_opt_buffer *buffer);

/** A model compiled for this machine. */
typedef struct mp_opt_program mp_opt_program;

/** Compiles the model, which is used up, as options of "compile" say. */
MP_OPT_API mp_opt_status mp_opt_compile(mp_opt_model *model,
                                        const mp_opt_options *options,
                                        mp_opt_program **program);
MP_OPT_API void mp_opt_program_destroy(mp_opt_program *program);
MP_OPT_API size_t mp_opt_program_num_inputs(const mp_opt_program *program);
MP_OPT_API size_t mp_opt_program_num_outputs(const mp_opt_program *program);
MP_OPT_API mp_opt_status mp_opt_program_input(const mp_opt_program *program,
                                              size_t index,
                                              mp_opt_value *value);
MP_OPT_API mp_opt_status mp_opt_program_output(const mp_opt_program *program,
                                               size_t index,
                                               mp_opt_value *value);

/** One call. Arrays with names go to the inputs of these names, others to those
 *  of their places; their bytes are read, not copied. Elements of another type
 *  become those of the input's in a copy, where no value changes or where the
 *  input is float; a note says so in the first such call. `outputs` gets one
 *  for each output. */
MP_OPT_API mp_opt_status mp_opt_program_run(mp_opt_program *program,
                                            const mp_opt_array *inputs,
                                            size_t num_inputs,
                                            mp_opt_buffer **outputs);

/*===----------------------------------------------------------------------===*\
|* Training
\*===----------------------------------------------------------------------===*/

/** A compiled training step, as mp-opt --train makes it, with its states. */
typedef struct mp_opt_step mp_opt_step;

/** Compiles the model, which is used up, as options of "train" say. */
MP_OPT_API mp_opt_status mp_opt_step_create(mp_opt_model *model,
                                            const mp_opt_options *options,
                                            mp_opt_step **step);
MP_OPT_API void mp_opt_step_destroy(mp_opt_step *step);

/** What calls take (inputs, in turn) and give: the outputs that are no
 *  states. */
MP_OPT_API size_t mp_opt_step_num_inputs(const mp_opt_step *step);
MP_OPT_API size_t mp_opt_step_num_outputs(const mp_opt_step *step);
MP_OPT_API size_t mp_opt_step_num_states(const mp_opt_step *step);
MP_OPT_API mp_opt_status mp_opt_step_input(const mp_opt_step *step,
                                           size_t index, mp_opt_value *value);
MP_OPT_API mp_opt_status mp_opt_step_state(const mp_opt_step *step,
                                           size_t index, mp_opt_value *value);

/** One step, with a learning rate of its own in place of that of the options,
 *  if it is no NaN. Arrays are those of mp_opt_program_run. If their names,
 *  types, sizes or class numbers are wrong, the step has not begun, and another
 *  one can be made. `outputs` gets one for each. */
MP_OPT_API mp_opt_status mp_opt_step_run(mp_opt_step *step,
                                         const mp_opt_array *batch,
                                         size_t count, double rate,
                                         mp_opt_buffer **outputs);
/** The name of an output; null behind the last. */
MP_OPT_API const char *mp_opt_step_output_name(const mp_opt_step *step,
                                               size_t index);
/** Steps made, and the learning rate of the last one, NaN where there is
 *  none. */
MP_OPT_API uint64_t mp_opt_step_count(const mp_opt_step *step);
MP_OPT_API double mp_opt_step_rate(const mp_opt_step *step);

/** Copies of the states, as many as there are. */
MP_OPT_API mp_opt_status mp_opt_step_get_states(mp_opt_step *step,
                                                mp_opt_buffer **states);
/** Replaces states by copies of arrays of their names. With `needs_all`, none
 *  may be missing. `count` is the number of steps made so far. */
MP_OPT_API mp_opt_status mp_opt_step_set_states(mp_opt_step *step,
                                                const mp_opt_array *states,
                                                size_t num_states,
                                                int needs_all, uint64_t count);

/** Adds a checkpoint to a folder, of the form of mp-run's, and removes all but
 *  the newest `keep`; or, where the path ends in .npz or .safetensors, writes
 *  the states to that file. */
MP_OPT_API mp_opt_status mp_opt_step_save(mp_opt_step *step, const char *path,
                                          uint32_t keep);
/** Goes on with the newest whole checkpoint in a folder, or with the states in
 *  a file. */
MP_OPT_API mp_opt_status mp_opt_step_load(mp_opt_step *step, const char *path);

/*===----------------------------------------------------------------------===*\
|* Programs
\*===----------------------------------------------------------------------===*/

/** Threads that models of this process run on: at least 1. */
MP_OPT_API mp_opt_status mp_opt_set_num_threads(uint32_t count);
MP_OPT_API uint32_t mp_opt_num_threads(void);

#ifdef __cplusplus
}
#endif

#endif /* MP_OPT_C_MP_OPT_H */
