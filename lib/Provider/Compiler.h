//===- Compiler.h - The compiler behind the provider ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owners of the objects of mp-opt's C API, and the options of a session.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_COMPILER_H
#define MPOPT_LIB_PROVIDER_COMPILER_H

#include "Api.h"

#include "mp-opt-c/mp_opt.h"

#include <memory>

namespace mp::ort {

template <auto Destroy> struct Destroyer {
  template <typename Object> void operator()(Object *object) const {
    Destroy(object);
  }
};
using OptionsPtr =
    std::unique_ptr<mp_opt_options, Destroyer<mp_opt_options_destroy>>;
using ModelPtr = std::unique_ptr<mp_opt_model, Destroyer<mp_opt_model_destroy>>;
using ProgramPtr =
    std::unique_ptr<mp_opt_program, Destroyer<mp_opt_program_destroy>>;

/// The name of the provider, and the begin of its options: "ep.mp-opt.".
extern const char *const providerName;

/// The options of a session.
class Settings {
public:
  /// Reads the entries "ep.mp-opt.NAME" of a session's configuration. Throws if
  /// a name or a value is wrong.
  Settings(const Api &api, const SessionOptions *session);

  /// Options for the compiler.
  const mp_opt_options *getOptions() const { return options.get(); }
  /// The number of lists of sizes that code is made for; code for further ones
  /// takes any size.
  size_t getMaxSizes() const { return maxSizes; }

private:
  void set(const std::string &name, const std::string &value);
  void setMaxSizes(const std::string &value);

  OptionsPtr options;
  size_t maxSizes = 1;
};

/// Throws the thread's last error of the compiler unless the status is OK.
/// `what` begins the message.
void checkCompiler(mp_opt_status status, const std::string &what);

/// Checks that a model can be compiled; otherwise returns the reason.
std::string findObstacle(const std::string &model);

/// Compiles a model, whose text the program refers to. `name` is used in
/// messages.
ProgramPtr compileModel(const std::string &model, const std::string &name,
                        const Settings &settings);

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_COMPILER_H
