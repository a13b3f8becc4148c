//===- SessionExample.h - The example's plan on the emulated device -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TEST_UNIT_SESSIONEXAMPLE_H
#define MPOPT_TEST_UNIT_SESSIONEXAMPLE_H

#include "DeviceExample.h"
#include "Expect.h"

#include "mp-opt/Emulation/EmulatedDriver.h"
#include "mp-opt/Runtime/Device.h"
#include "mp-opt/Runtime/Plan.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>

using llvm::StringRef;
using llvm::Twine;
using Floats = std::vector<float>;

inline void expectError(int32_t found, int32_t code, StringRef text,
                        const Twine &what) {
  expect(found == code && StringRef(mp_last_error()).contains(text),
         what + ": found " + Twine(found) + " '" + mp_last_error() +
             "', expected " + Twine(code) + " '" + text + "'");
}

inline void expectNothingLeft(const Twine &what) {
  expect(mp_emulated_leaks() == 0,
         what + ": " + Twine(mp_emulated_leaks()) + " things are left");
}

inline const mp_emulated_image image = {MP_EMULATED_MARK, mp_emulated_kernels,
                                        5};

/// A plan and its session.
class Example {
public:
  explicit Example(const mp::DevicePlan &plan = makeExample()) {
    std::string bytes = plan.pack();
    packed.resize((bytes.size() + 7) / 8);
    std::memcpy(packed.data(), bytes.data(), bytes.size());
    options.plan = packed.data();
    options.plan_bytes = bytes.size();
    options.driver = mp_emulated_driver();
    options.constants = constants;
    options.emulated_image = &image;
  }
  ~Example() { mp_session_destroy(session); }

  int32_t create() { return mp_session_create(&options, &session); }
  int32_t setInputs(const Floats &x, const Floats &w) {
    int32_t code = mp_session_set(session, 0, x.data());
    return code ? code : mp_session_set(session, 1, w.data());
  }

  const Floats k = Floats(numElements, 2);
  const void *constants[1] = {k.data()};
  std::vector<uint64_t> packed;
  mp_session_options options = {};
  mp_session *session = nullptr;
};

inline bool isAll(const Floats &values, float expected) {
  return std::all_of(values.begin(), values.end(),
                     [&](float value) { return value == expected; });
}

#endif // MPOPT_TEST_UNIT_SESSIONEXAMPLE_H
