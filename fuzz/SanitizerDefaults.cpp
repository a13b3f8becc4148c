//===- SanitizerDefaults.cpp - How sanitized programs run -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sanitizers ask these functions when a program starts; the variables
// ASAN_OPTIONS, UBSAN_OPTIONS and LSAN_OPTIONS still win.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options();
extern "C" const char *__ubsan_default_options();
extern "C" const char *__lsan_default_suppressions();

// - Containers and bump allocators are inline code: objects that our code
//   poisons are grown by libMLIR's copies, which know nothing of it.
// - A report is a signal, not an exit code: tests expect exit codes of mp-opt.
//   Its own handlers, which make an exit code of every signal, stay out.
// - Sizes are checked by us, so a request beyond this one is a bug.
const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:"
         "abort_on_error=1:handle_abort=2:handle_segv=2:handle_sigbus=2:"
         "handle_sigfpe=2:handle_sigill=2:max_allocation_size_mb=2048:"
         "detect_stack_use_after_return=0";
}

const char *__ubsan_default_options() { return "print_stacktrace=1"; }

const char *__lsan_default_suppressions() { return ""; }
