//===- Subgraph.h - A compiled group of nodes -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_SUBGRAPH_H
#define MPOPT_LIB_PROVIDER_SUBGRAPH_H

#include "Compiler.h"
#include "ModelWriter.h"

#include <mutex>
#include <shared_mutex>

namespace mp::ort {

/// A group of nodes that onnxruntime runs as one node. Several threads may run
/// it at the same time.
class Subgraph : public ComputeInfo {
public:
  /// Copies the constants. Programs for known sizes are compiled at once,
  /// others in the first run with their sizes. `settings` must outlive this.
  Subgraph(const Api &api, const Settings &settings, const Graph *graph,
           const Node *fused);

private:
  using SharedProgram = std::shared_ptr<mp_opt_program>;
  /// A program and the sizes of all inputs that it takes, one after the other.
  struct Form {
    std::vector<int64_t> sizes;
    SharedProgram program;
  };
  struct Call;

  void addConstants(const GraphView &view, GraphPart &part) const;
  void run(KernelContext *context);
  SharedProgram getProgram(const std::vector<mp_opt_array> &arrays);
  SharedProgram find(const std::vector<int64_t> &sizes) const;
  bool compileGeneral();
  SharedProgram compile(const std::vector<mp_opt_array> *arrays);

  const Api &api;
  const Settings &settings;
  std::string name;
  /// The model and the size of its part without the inputs.
  std::string model;
  size_t modelSize = 0;
  std::vector<ModelInput> inputs;
  size_t numOutputs = 0;
  bool isStatic = true;
  /// False if there cannot be a program for any sizes.
  bool canBeGeneral = true;

  /// Guards the programs.
  mutable std::shared_mutex mutex;
  /// The oldest first.
  std::vector<Form> forms;
  /// The program for any sizes.
  SharedProgram general;
  /// Held while a program is compiled.
  std::mutex compiling;
};

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_SUBGRAPH_H
