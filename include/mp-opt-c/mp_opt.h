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
|* Functions that can fail return a status, and return objects through their  *|
|* last arguments, which are null after a failure. Objects are destroyed by   *|
|* the function of their type, which accepts null. Texts belong to the object *|
|* that returns them.                                                         *|
|*                                                                            *|
|* Threads: an object may be used by several threads; concurrent calls on it  *|
|* are serialized. It must be destroyed by one thread when no other uses it   *|
|* any more. No function ends the process, prints, or throws.                 *|
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

/** Increases when functions are added; existing ones do not change. */
#define MP_OPT_API_VERSION 3

/** The API version of the loaded library, which is at least that of the header
 *  that the program was compiled with. */
MP_OPT_API uint32_t mp_opt_api_version(void);
/** "0.1.0 (LLVM 22.1.8)". */
MP_OPT_API const char *mp_opt_version(void);

/*===----------------------------------------------------------------------===*\
|* Errors and messages
\*===----------------------------------------------------------------------===*/

/** The status of a function, equal to the exit codes of the programs. */
typedef enum mp_opt_status {
  MP_OPT_STATUS_OK = 0,
  /** A file cannot be read or written, is not a model, or data do not fit the
   *  model. */
  MP_OPT_STATUS_BAD_INPUT = 1,
  /** An option does not exist or contradicts another one, an argument is null,
   *  or an object is consumed. */
  MP_OPT_STATUS_USAGE = 2,
  /** Numbers are outside of their tolerance. */
  MP_OPT_STATUS_OUTSIDE = 3,
  /** 16 bit is not possible under `strict`, or the model has operators that
   *  cannot be compiled. */
  MP_OPT_STATUS_NOT_SUPPORTED = 4,
  /** The device was lost or has failed. */
  MP_OPT_STATUS_DEVICE_FAILED = 7,
  /** A bug, or out of memory. */
  MP_OPT_STATUS_INTERNAL = 70
} mp_opt_status;

/** The error of this thread's last failed call; "" if none has failed. Valid
 *  until the next call of this thread. */
MP_OPT_API const char *mp_opt_error_text(void);

typedef enum mp_opt_severity {
  MP_OPT_SEVERITY_NOTE = 0,
  MP_OPT_SEVERITY_WARNING = 1,
  MP_OPT_SEVERITY_ERROR = 2,
  MP_OPT_SEVERITY_REMARK = 3
} mp_opt_severity;

/** One message. Texts are never null, but may be ""; they are valid while the
 *  callback runs. */
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

/** Creates options for the flags of a command: "convert" (mp-opt), "compile"
 *  (mp-run run) or "train" (mp-run train, except flags about data and
 *  files). */
MP_OPT_API mp_opt_status mp_opt_options_create(const char *command,
                                               mp_opt_options **options);
MP_OPT_API void mp_opt_options_destroy(mp_opt_options *options);

/** Sets a flag; `name` has no leading dashes. `value` is null for flags without
 *  a value. Flags that may be repeated on a command line may be set several
 *  times. Fails if the program would refuse the flag. */
MP_OPT_API mp_opt_status mp_opt_options_set(mp_opt_options *options,
                                            const char *name,
                                            const char *value);
/** Sets the receiver of the messages of all calls with these options, and of
 *  the models that are read with them. */
MP_OPT_API mp_opt_status mp_opt_options_set_callback(mp_opt_options *options,
                                                     mp_opt_message_fn callback,
                                                     void *user);
/** Describes all flags, as the programs' --help=json does. */
MP_OPT_API mp_opt_status mp_opt_options_describe(const mp_opt_options *options,
                                                 const char **json);

/*===----------------------------------------------------------------------===*\
|* Models
\*===----------------------------------------------------------------------===*/

/** Bytes owned by the library. */
typedef struct mp_opt_bytes mp_opt_bytes;
/** A zero follows the last byte. */
MP_OPT_API const char *mp_opt_bytes_data(const mp_opt_bytes *bytes);
MP_OPT_API size_t mp_opt_bytes_size(const mp_opt_bytes *bytes);
MP_OPT_API void mp_opt_bytes_destroy(mp_opt_bytes *bytes);

typedef struct mp_opt_model mp_opt_model;

/** Reads a file in any form that mp-opt reads. `options` may belong to any
 *  command and may be null; `schemas`, `external-data-root` and `check`
 *  (`model-check`) are used. */
MP_OPT_API mp_opt_status mp_opt_model_read(const char *path,
                                           const mp_opt_options *options,
                                           mp_opt_model **model);
/** Reads the content of a file, which is copied. External data are read from
 *  the folder of the file `name`. */
MP_OPT_API mp_opt_status mp_opt_model_parse(const void *content, size_t size,
                                            const char *name,
                                            const mp_opt_options *options,
                                            mp_opt_model **model);
/** Parses the content of a file as mp_opt_model_parse does, but in place: the
 *  bytes must not change, and must outlive the model and the programs that are
 *  made of it. Since API version 3. */
MP_OPT_API mp_opt_status mp_opt_model_view(const void *content, size_t size,
                                           const char *name,
                                           const mp_opt_options *options,
                                           mp_opt_model **model);
MP_OPT_API void mp_opt_model_destroy(mp_opt_model *model);

/** The bytes of an ONNX file. Fails if the model needs a data file next to it.
 *  For an unchanged model these are the bytes that were read. */
MP_OPT_API mp_opt_status mp_opt_model_bytes(mp_opt_model *model,
                                            mp_opt_bytes **bytes);
/** Writes the file atomically, in the form given by `emit` of `options`
 *  ("convert", or null) or else by its name. Writing code consumes the
 *  model. */
MP_OPT_API mp_opt_status mp_opt_model_write(mp_opt_model *model,
                                            const char *path,
                                            const mp_opt_options *options);

/*===----------------------------------------------------------------------===*\
|* Converting
\*===----------------------------------------------------------------------===*/

/** The reports of a conversion. */
typedef struct mp_opt_report mp_opt_report;
/** `kind` is "summary" (the table), "json" (the same and more), "explain",
 *  "html" (a page), "overlay" (for Model Explorer), "verify" or "policy". Null
 *  if it was not requested by `summary`, `explain` or `verify`, or by `kinds`
 * of mp_opt_convert. mp_opt_attribute and mp_opt_tune make "summary" and
 * "json", and the latter, with `target-error`, "policy". */
MP_OPT_API const char *mp_opt_report_text(const mp_opt_report *report,
                                          const char *kind);
MP_OPT_API void mp_opt_report_destroy(mp_opt_report *report);

/** Converts `model` as the options say: to mixed precision, to a training step.
 *  If that fails, the model is consumed. `report` may be null; `kinds` are
 *  "html,overlay,json", or any of them, or null. Files that options name for
 *  reports are written. With `verify`, the status is MP_OPT_STATUS_OUTSIDE if
 *  the result exceeds its error bound, and the report is made nevertheless. */
MP_OPT_API mp_opt_status mp_opt_convert(mp_opt_model *model,
                                        const mp_opt_options *options,
                                        const char *kinds,
                                        mp_opt_report **report);

/** Attributes the error of a conversion to nodes, as the program's command does
 *  (docs/errors.md). `options` are those of "attribute". Consumes the model. */
MP_OPT_API mp_opt_status mp_opt_attribute(mp_opt_model *model,
                                          const mp_opt_options *options,
                                          mp_opt_report **report);

/** Measures error against bytes, and searches for the precision within an
 *  error. `options` are those of "tune". Consumes the model. */
MP_OPT_API mp_opt_status mp_opt_tune(mp_opt_model *model,
                                     const mp_opt_options *options,
                                     mp_opt_report **report);

/** Compares the outputs of `result` with those of `model`, from which it was
 *  made. `text` receives a table with a verdict, whatever the status. */
MP_OPT_API mp_opt_status mp_opt_verify(mp_opt_model *model,
                                       mp_opt_model *result,
                                       const mp_opt_options *options,
                                       mp_opt_bytes **text);

/** Describes the differences between two models, as text or JSON. `differs` is
 *  set to 0 or 1. */
MP_OPT_API mp_opt_status mp_opt_diff(mp_opt_model *before, mp_opt_model *after,
                                     int as_json, mp_opt_bytes **text,
                                     int *differs);

/** The policy requested by the options of a conversion, in YAML. */
MP_OPT_API mp_opt_status mp_opt_policy_text(const mp_opt_options *options,
                                            mp_opt_bytes **text);

/*===----------------------------------------------------------------------===*\
|* Running
\*===----------------------------------------------------------------------===*/

/** An array of elements in the machine's byte order, row by row. */
typedef struct mp_opt_array {
  /** May be null if arrays are identified by position. */
  const char *name;
  /** The number of the element type in ONNX: 1 float, 7 int64, 10 float16, 16
   *  bfloat16. */
  int32_t type;
  int32_t rank;
  const int64_t *sizes;
  /** The elements; their size is `bytes`. */
  void *data;
  uint64_t bytes;
} mp_opt_array;

/** An input or output; sizes are -1 if they are known only at run time. */
typedef struct mp_opt_value {
  const char *name;
  int32_t type;
  int32_t rank;
  const int64_t *sizes;
  /** Nonzero if an input may be omitted. */
  int32_t has_default;
} mp_opt_value;

/** A tensor owned by the library, or a shared reference to one. */
typedef struct mp_opt_buffer mp_opt_buffer;
/** Returns the elements, which are valid as long as the buffer. */
MP_OPT_API mp_opt_status mp_opt_buffer_array(const mp_opt_buffer *buffer,
                                             mp_opt_array *array);
MP_OPT_API void mp_opt_buffer_destroy(mp_opt_buffer *buffer);

/** A model compiled for this machine. */
typedef struct mp_opt_program mp_opt_program;

/** Compiles the model, which is consumed, with options of "compile". */
MP_OPT_API mp_opt_status mp_opt_compile(mp_opt_model *model,
                                        const mp_opt_options *options,
                                        mp_opt_program **program);
/** Checks that every node has a form that mp_opt_compile can make code of, in a
 *  small part of its time. Fails with MP_OPT_STATUS_NOT_SUPPORTED and names the
 *  nodes. Consumes the model. Since API version 3. */
MP_OPT_API mp_opt_status mp_opt_check_compile(mp_opt_model *model);
MP_OPT_API void mp_opt_program_destroy(mp_opt_program *program);
MP_OPT_API size_t mp_opt_program_num_inputs(const mp_opt_program *program);
MP_OPT_API size_t mp_opt_program_num_outputs(const mp_opt_program *program);
MP_OPT_API mp_opt_status mp_opt_program_input(const mp_opt_program *program,
                                              size_t index,
                                              mp_opt_value *value);
MP_OPT_API mp_opt_status mp_opt_program_output(const mp_opt_program *program,
                                               size_t index,
                                               mp_opt_value *value);

/** Runs one call. Arrays with names go to the inputs of these names, others to
 *  the inputs at their positions; their bytes are read, not copied. Elements of
 *  another type are converted in a copy if no value changes or if the input is
 *  float; the first such call gives a note. `outputs` receives one buffer per
 *  output. */
MP_OPT_API mp_opt_status mp_opt_program_run(mp_opt_program *program,
                                            const mp_opt_array *inputs,
                                            size_t num_inputs,
                                            mp_opt_buffer **outputs);

/** Returns the memory for output number `output`, at an address that is a
 *  multiple of the size of its elements; null if there is none. */
typedef void *(*mp_opt_output_fn)(size_t output, const int64_t *sizes,
                                  int32_t rank, void *user);

/** Runs one call with arrays for all inputs in order, of exactly their types,
 *  and with outputs in the caller's memory. `place` is called once for each
 *  output by the calling thread, before the model runs if the sizes are known.
 *  Unlike other functions on programs, concurrent calls run at the same time.
 *  Programs with `in-place` or for a device are refused. Since API version
 *  3. */
MP_OPT_API mp_opt_status mp_opt_program_run_into(mp_opt_program *program,
                                                 const mp_opt_array *inputs,
                                                 size_t num_inputs,
                                                 mp_opt_output_fn place,
                                                 void *user);

/*===----------------------------------------------------------------------===*\
|* Training
\*===----------------------------------------------------------------------===*/

/** A compiled training step, as mp-opt --train makes it, with its states. */
typedef struct mp_opt_step mp_opt_step;

/** Compiles the model, which is consumed, with options of "train". */
MP_OPT_API mp_opt_status mp_opt_step_create(mp_opt_model *model,
                                            const mp_opt_options *options,
                                            mp_opt_step **step);
MP_OPT_API void mp_opt_step_destroy(mp_opt_step *step);

/** The inputs of calls in order, and the outputs that are not states. */
MP_OPT_API size_t mp_opt_step_num_inputs(const mp_opt_step *step);
MP_OPT_API size_t mp_opt_step_num_outputs(const mp_opt_step *step);
MP_OPT_API size_t mp_opt_step_num_states(const mp_opt_step *step);
MP_OPT_API mp_opt_status mp_opt_step_input(const mp_opt_step *step,
                                           size_t index, mp_opt_value *value);
MP_OPT_API mp_opt_status mp_opt_step_state(const mp_opt_step *step,
                                           size_t index, mp_opt_value *value);

/** Runs one step. A `rate` other than NaN replaces the learning rate of the
 *  options. Arrays are as for mp_opt_program_run. If their names, types, sizes
 *  or class numbers are wrong, the step has not begun, and another one can be
 *  made. `outputs` receives one buffer per output. */
MP_OPT_API mp_opt_status mp_opt_step_run(mp_opt_step *step,
                                         const mp_opt_array *batch,
                                         size_t count, double rate,
                                         mp_opt_buffer **outputs);
/** The name of an output; null after the last one. */
MP_OPT_API const char *mp_opt_step_output_name(const mp_opt_step *step,
                                               size_t index);
/** The number of steps done, and the learning rate of the last one, NaN if
 *  there is none. */
MP_OPT_API uint64_t mp_opt_step_count(const mp_opt_step *step);
MP_OPT_API double mp_opt_step_rate(const mp_opt_step *step);

/** Returns copies of all states. */
MP_OPT_API mp_opt_status mp_opt_step_get_states(mp_opt_step *step,
                                                mp_opt_buffer **states);
/** Replaces states by copies of the arrays with their names. With `needs_all`,
 *  no state may be missing. `count` is the number of steps done so far. */
MP_OPT_API mp_opt_status mp_opt_step_set_states(mp_opt_step *step,
                                                const mp_opt_array *states,
                                                size_t num_states,
                                                int needs_all, uint64_t count);

/** Adds a checkpoint to a folder, in the format of mp-run, and removes all but
 *  the newest `keep`. If the path ends in .npz or .safetensors, writes the
 *  states to that file instead. */
MP_OPT_API mp_opt_status mp_opt_step_save(mp_opt_step *step, const char *path,
                                          uint32_t keep);
/** Continues from the newest intact checkpoint in a folder, or from the states
 *  in a file. */
MP_OPT_API mp_opt_status mp_opt_step_load(mp_opt_step *step, const char *path);

/*===----------------------------------------------------------------------===*\
|* Programs
\*===----------------------------------------------------------------------===*/

/** Sets the number of threads for models of this process, at least 1. */
MP_OPT_API mp_opt_status mp_opt_set_num_threads(uint32_t count);
MP_OPT_API uint32_t mp_opt_num_threads(void);

#ifdef __cplusplus
}
#endif

#endif /* MP_OPT_C_MP_OPT_H */
