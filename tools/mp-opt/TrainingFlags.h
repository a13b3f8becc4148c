//===- TrainingFlags.h - What the command line says of training -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_TRAININGFLAGS_H
#define MPOPT_TOOLS_TRAININGFLAGS_H

#include "Pipelines/Pipelines.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace mp {

/// Prints what --help=train says.
void printTrainingHelp();

/// The flags of training, as LLVM's parser knows them.
struct TrainingFlags {
  explicit TrainingFlags(llvm::cl::OptionCategory &category)
      : category(category) {}

  /// Fails where they contradict themselves or each other.
  llvm::Error check(bool isMixed) const;
  llvm::Error checkOptimizer() const;
  void fill(TrainingOptions &options) const;

  llvm::cl::OptionCategory &category;
  llvm::cl::opt<bool> train{"train", llvm::cl::desc("make a training step"),
                            llvm::cl::cat(category)};
  llvm::cl::list<std::string> loss{"loss", llvm::cl::desc("what is minimized"),
                                   llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> classAxis{"class-axis", llvm::cl::init(1),
                                   llvm::cl::desc("axis of the loss's classes"),
                                   llvm::cl::cat(category)};
  llvm::cl::opt<std::string> optimizer{
      "optimizer", llvm::cl::init("sgd"),
      llvm::cl::desc("optimizer with its numbers"), llvm::cl::cat(category)};
  llvm::cl::opt<double> learningRate{"lr", llvm::cl::init(0.001),
                                     llvm::cl::desc("learning rate"),
                                     llvm::cl::cat(category)};
  llvm::cl::opt<double> weightDecay{"weight-decay", llvm::cl::init(0),
                                    llvm::cl::desc("decay of the parameters"),
                                    llvm::cl::cat(category)};
  llvm::cl::opt<double> clipNorm{"clip-norm", llvm::cl::init(0),
                                 llvm::cl::desc("bound of the gradients' norm"),
                                 llvm::cl::cat(category)};
  llvm::cl::opt<double> clipValue{
      "clip-value", llvm::cl::init(0),
      llvm::cl::desc("bound of the gradients' elements"),
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> groups{
      "group", llvm::cl::desc("settings of parameters by their names"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> average{
      "average", llvm::cl::desc("average of the parameters"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> accumulate{
      "accumulate", llvm::cl::init(1),
      llvm::cl::desc("steps whose gradients make one update"),
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> trainOnly{
      "train-only", llvm::cl::desc("parameters that are trained"),
      llvm::cl::value_desc("regex|@file"), llvm::cl::cat(category)};
  llvm::cl::list<std::string> tie{
      "tie", llvm::cl::desc("initializers that become one parameter"),
      llvm::cl::value_desc("name,name"), llvm::cl::cat(category)};
  llvm::cl::list<std::string> untie{
      "untie", llvm::cl::desc("parameters that modules get copies of"),
      llvm::cl::value_desc("regex"), llvm::cl::cat(category)};
  llvm::cl::list<std::string> freeze{
      "freeze", llvm::cl::desc("parameters that are not trained"),
      llvm::cl::value_desc("regex|@file"), llvm::cl::cat(category)};
  llvm::cl::list<std::string> fixed{
      "fix", llvm::cl::CommaSeparated,
      llvm::cl::desc("sizes of inputs that the step is for"),
      llvm::cl::value_desc("NAME=SIZE"), llvm::cl::cat(category)};
  llvm::cl::opt<bool> straightThrough{
      "straight-through",
      llvm::cl::desc("pass gradients by quantization that is undone at once"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> lossScale{
      "loss-scale", llvm::cl::init("auto"),
      llvm::cl::desc("none, a number or dynamic"), llvm::cl::cat(category)};
};

} // namespace mp

#endif // MPOPT_TOOLS_TRAININGFLAGS_H
