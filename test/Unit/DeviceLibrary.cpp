//===- DeviceLibrary.cpp - Drivers that are there, old, broken or not -----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: device-library good|old|broken|idle
//
// LD_LIBRARY_PATH gives the libcuda.so.1 of each case: the emulated driver,
// which runs PTX by kernels of the same names; a library without functions; no
// library; one without a device.
//
//===----------------------------------------------------------------------===//

#include "DeviceExample.h"

#include "mp-opt/Runtime/Device.h"

#include "llvm/Support/raw_ostream.h"

#include <cstring>

using llvm::StringRef;

static int complain(const llvm::Twine &what) {
  llvm::errs() << what << "\n";
  return 1;
}

static const char *const ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry step(.param .u64 a, .param .u64 b, .param .u64 c,
                     .param .u64 d, .param .u64 e) { ret; }
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
)";

/// One call by the driver.
static int run(const mp_driver &driver, const char *text, std::string &error) {
  mp::DevicePlan plan = makeExample();
  plan.images[0] = {mp::DevicePlan::ImageKind::PTX, 80, false, 80, text};
  std::string bytes = plan.pack();
  std::vector<uint64_t> packed(bytes.size() / 8);
  std::memcpy(packed.data(), bytes.data(), bytes.size());
  std::vector<float> x(numElements, 3), w(numElements, 1), k(numElements, 2);
  const void *constants[] = {k.data()};
  mp_session_options options = {};
  options.plan = packed.data();
  options.plan_bytes = bytes.size();
  options.driver = &driver;
  options.constants = constants;
  mp_session *session = nullptr;
  int32_t code = mp_session_create(&options, &session);
  code = code ? code : mp_session_set(session, 0, x.data());
  code = code ? code : mp_session_set(session, 1, w.data());
  code = code ? code : mp_session_run(session, 0);
  code = code ? code : mp_session_get(session, 1, w.data());
  code = code ? code : mp_session_wait(session);
  error = mp_last_error();
  mp_session_destroy(session);
  if (code == MP_OK && w[99] != 7)
    error = "found another state";
  return code;
}

static int checkGood(const mp_driver &driver) {
  const mp_driver *again = nullptr;
  if (mp_cuda_driver(&again) || again != &driver)
    return complain("the driver is opened twice");
  std::string error;
  if (run(driver, ptx, error) || !error.empty())
    return complain(error);
  if (run(driver, ".version 8.0\n.visible .entry other() {}", error) !=
          MP_DEVICE_FAILED ||
      !StringRef(error).contains("there is no emulated 'other'"))
    return complain("PTX without kernels: " + error);
  if (run(driver, ".version 8.0\n.visible .entry add(.param .u64 a) {}",
          error) != MP_DEVICE_FAILED ||
      !StringRef(error).contains("1 parameters in PTX, 3 if emulated"))
    return complain("PTX with other parameters: " + error);
  return 0;
}

int main(int argc, char **argv) {
  StringRef kind = argc > 1 ? argv[1] : "";
  const mp_driver *driver = nullptr;
  int32_t code = mp_cuda_driver(&driver);
  if (kind == "good")
    return code ? complain(mp_last_error()) : checkGood(*driver);
  StringRef expected =
      kind == "old"    ? "the NVIDIA driver is too old: libcuda.so.1 has no cu"
      : kind == "idle" ? "the NVIDIA driver finds no device"
                       : "there is no NVIDIA driver: ";
  StringRef found = mp_last_error();
  if (code != MP_NO_DEVICE || driver || !found.contains(expected))
    return complain("found '" + found + "', expected '" + expected + "'");
  return 0;
}
