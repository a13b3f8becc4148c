//===- LastError.cpp - The text of the last error -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LastError.h"

#include "Internal.h"

#include <cstdarg>
#include <cstdio>

namespace mp::runtime {

static thread_local char lastError[lastErrorBytes];

char *getLastError() { return lastError; }
void clearLastError() { lastError[0] = 0; }

void setLastError(const char *text, int64_t a, int64_t b) {
  size_t length = 0;
  auto left = [&] { return sizeof(lastError) - 1 - length; };
  for (; *text && left() > 20; ++text) {
    if (*text == '%' && (text[1] == '0' || text[1] == '1'))
      length += std::snprintf(lastError + length, left(), "%lld",
                              static_cast<long long>(*++text == '0' ? a : b));
    else
      lastError[length++] = *text;
  }
  lastError[length] = 0;
}

int32_t refuseWith(int32_t code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(lastError, sizeof(lastError), format, arguments);
  va_end(arguments);
  return code;
}

int32_t refuse(int32_t code, const char *name, const char *what) {
  return name ? refuseWith(code, "input '%s': %s", name, what)
              : refuseWith(code, "%s", what);
}

} // namespace mp::runtime

const char *mp_last_error(void) { return mp::runtime::getLastError(); }
