//===- Provider.h - The execution provider of a session ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_PROVIDER_H
#define MPOPT_LIB_PROVIDER_PROVIDER_H

#include "Compiler.h"

namespace mp::ort {

/// The provider of one session.
class Provider : public Ep {
public:
  /// Throws if an option of the session is wrong. `api` and `logger` must
  /// outlive the provider.
  Provider(const Api &api, const SessionOptions *session, const Logger *logger);

private:
  void takeNodes(const Graph *graph, GraphSupport *support);
  void compileGraphs(const Graph **graphs, const Node **fusedNodes,
                     size_t count, ComputeInfo **infos);
  void log(const std::string &text) const;

  const Api &api;
  const Logger *logger;
  Settings settings;
};

/// Makes providers.
class ProviderFactory : public EpFactory {
public:
  /// Throws if onnxruntime is too old.
  explicit ProviderFactory(const ApiBase &base);

private:
  void findDevices(const HardwareDevice *const *hardware, size_t numHardware,
                   Device **devices, size_t maxDevices, size_t *numDevices);

  const Api api;
};

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_PROVIDER_H
