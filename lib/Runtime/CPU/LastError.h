//===- LastError.h - The text of the last error -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_LASTERROR_H
#define MPOPT_LIB_RUNTIME_LASTERROR_H

#include <cstdint>

namespace mp::runtime {

/// The calling thread's text of mp_last_error, of which `lastErrorBytes` can be
/// written.
constexpr int32_t lastErrorBytes = 1024;
char *getLastError();
void clearLastError();

/// Sets the error text, with `%0` and `%1` replaced by the numbers. A text that
/// is too long is cut.
void setLastError(const char *text, int64_t a, int64_t b);

/// Sets the error text in printf's format. Returns `code`.
int32_t refuseWith(int32_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_LASTERROR_H
