//===- Trainer.h - Step after step ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAINER_H
#define MPOPT_API_TRAINER_H

#include "mp-opt/API/Batches.h"
#include "mp-opt/API/CheckpointWriter.h"
#include "mp-opt/API/DataPass.h"
#include "mp-opt/API/Evaluation.h"
#include "mp-opt/API/LearningRate.h"
#include "mp-opt/API/Model.h"
#include "mp-opt/API/StepProgram.h"
#include "mp-opt/API/StepRecord.h"
#include "mp-opt/Collectives/Ranks.h"
#include "mp-opt/Data/Checkpoint.h"
#include "mp-opt/Data/CheckpointLock.h"
#include "mp-opt/Training/Sharding.h"

#include <map>

namespace mp {

class FiniteChecks;

struct TrainerOptions {
  CompileOptions compile;
  BatchOptions batches;
  LearningRate rate;
  /// How long, in all: `steps`, or `epochs` where that is 0.
  uint64_t steps = 0, epochs = 1;
  /// A file of parameters and other states to start with, by their names, or a
  /// folder of checkpoints, of which the newest has them; those that it has
  /// not, or all if this is empty, start with their defaults.
  std::string init;
  /// The folder of checkpoints; empty for none.
  std::string checkpoints;
  /// Steps between them, 0 for an epoch; and how many are kept.
  uint64_t every = 0, keep = 2;
  /// Goes on with the newest whole checkpoint, to the same bits, if there is
  /// one; without this, checkpoints in the folder are an error, as another run
  /// that uses the folder is in any case.
  bool resume = false;
  /// A file for a line of JSON for each step (TrainingLog); empty for none.
  std::string log;
  /// The model has averages of its parameters, and they are the result.
  bool average = false;
  /// Data on which the loss is evaluated at the end of each epoch, and of the
  /// run: that of the averages, if these are the result.
  std::optional<DataSet> validation;
  /// Of a run of several, each of which trains on batches of its own, with a
  /// step that reduces gradients (mp-opt --distribute); null for one. Rank 0
  /// reads and writes files.
  Ranks *ranks = nullptr;
  /// Each of these keeps and updates a range of the optimizer's states
  /// (Training/Sharding.h).
  bool shardOptimizer = false;
  /// Reads the step again, to find out where a run has diverged; null if that
  /// is not asked for.
  std::function<llvm::Expected<std::unique_ptr<Model>>()> readStep;
  /// Get what is said of data that are not used or not compared, of checkpoints
  /// that are not whole, of steps that are skipped.
  std::function<void(const llvm::Twine &text)> onWarning, onNote;
};

/// Who watches a run; both may be empty.
struct TrainingObserver {
  /// After each step. An error ends the run as an error of its own.
  std::function<llvm::Error(const StepRecord &record)> onStep;
  /// Asked after each step: true ends the run, with a checkpoint.
  std::function<bool()> shouldStop;
};

enum class TrainingEnd {
  /// All steps are made.
  Finished,
  /// By the observer.
  Stopped,
  /// The loss, or a state, is no finite number any more. There is no checkpoint
  /// of that.
  Diverged,
  /// All steps are made, and none has changed a parameter. There is a
  /// checkpoint, if they are written.
  Unchanged,
};

/// Runs a training step again and again, and hands its states on.
class Trainer {
public:
  /// Compiles `step` for batches of `data`, and fills its states with what they
  /// start with. Fails if the model is no training step, as mp-opt --train
  /// makes it, or if data, states or the checkpoint do not fit it.
  static llvm::Expected<std::unique_ptr<Trainer>>
  create(std::unique_ptr<Model> step, const DataSet &data,
         TrainerOptions options);

  /// Replaces states by those of the same names; the others stay.
  llvm::Error setStates(llvm::ArrayRef<NamedTensor> states);

  /// Of a run of several ranks, before `run`: they compare what they are about
  /// to do, and take rank 0's states. Fails on all where one differs.
  llvm::Error joinRanks();
  /// Behind that, where their devices reduce over NCCL: connects these. Fails
  /// on the rank that cannot.
  llvm::Error connectDevices();

  /// Makes the remaining steps. Errors are for files and for what the model
  /// refuses.
  llvm::Expected<TrainingEnd> run(const TrainingObserver &observer = {});

  /// Steps made, those of a run that this one goes on with included; and how
  /// many there will be.
  uint64_t getStep() const { return step; }
  uint64_t getTotal() const { return total; }
  /// That of the newest checkpoint of this run.
  std::optional<uint64_t> getCheckpointStep() const { return writer.getStep(); }
  const StepRecord &getLast() const { return last; }
  /// Steps in an epoch, and rows in a step, of all ranks together, 0 if batches
  /// are not made of rows.
  uint64_t getEpochSteps() const { return batches.getCount(); }
  uint64_t getBatchSize() const {
    return batches.getBatchSize() * options.batches.ranks;
  }
  /// Of the optimizer's states that ranks share, what this one has, and all.
  std::pair<uint64_t, uint64_t> getShardedBytes() const;
  /// Null for a run of one.
  const Ranks *getRanks() const { return options.ranks; }
  /// The newest loss on validation data, and the time that this run's steps
  /// took.
  std::optional<double> getValidation() const { return validation; }
  double getStepSeconds() const { return stepSeconds; }
  /// "the loss of step 12 is NaN; the last checkpoint is that of step 8".
  std::string describeDivergence() const;
  /// Why no step has changed a parameter, and what helps.
  std::string describeUnchanged() const;

  /// Writes a checkpoint of the states as they are, wherever that is: for runs
  /// that ended before they could be kept.
  llvm::Error writeCheckpoint(llvm::StringRef folder);
  /// True if a step has failed on its way: it may have changed some states.
  bool isStepBroken() const { return compiled->isBroken(); }
  /// False if a state is no longer finite, which `describeDivergence` then
  /// tells of; an error if a device does not give them.
  llvm::Expected<bool> hasFiniteStates();

  /// Parameters and all else that steps hand on. They share their memory with
  /// the trainer, whose steps write over it. An error if a device does not give
  /// them.
  llvm::Expected<std::vector<NamedTensor>> getStates() const;
  /// The same or, if they are asked for, with averages in their places.
  llvm::Expected<std::vector<NamedTensor>> getResult() const;

private:
  Trainer(std::unique_ptr<Model> model, TrainingStep step, Batches batches,
          TrainerOptions options);

  static void beOneOfMany(TrainerOptions &options);
  DataAttributes describeRun();
  llvm::Error compareRuns();
  llvm::Error shareStates();
  llvm::Error compareStates();
  llvm::Error shareSums();
  void flipForTest();

  llvm::Error shardStates();
  void findShards();
  llvm::Error setStates(llvm::ArrayRef<NamedTensor> states, bool needsAll);
  void putWholes(std::vector<NamedTensor> &states) const;
  bool isRange(unsigned input) const;
  llvm::Error shareRange(unsigned input);
  llvm::Error gatherShard(unsigned input, const ShardedState &shard);
  llvm::Error gatherShards();
  std::vector<uint16_t> getSharedBits(unsigned input) const;
  llvm::Expected<bool> agreeOnStop(bool isStopped);
  llvm::Expected<std::optional<TrainingEnd>>
  agreeOnEnd(std::optional<TrainingEnd> end);

  void say(const llvm::Twine &what, const DataRemarks &remarks) const;
  llvm::Error readCheckpoint();
  llvm::Error makeEvaluation();
  llvm::Error compile();
  llvm::Error findRate();
  llvm::Error checkAverages();
  llvm::Expected<std::vector<NamedTensor>> readInitStates() const;
  llvm::Error readInit();
  llvm::Error resume();

  llvm::Error setRate();
  llvm::Error makeStep();
  void readOutputs();
  void addToEpoch();
  void countSkipped(std::optional<double> before);
  llvm::Error judgeLoss();
  llvm::Error evaluate();
  bool hasDiverged() const;
  std::optional<uint64_t> hashFloats(bool hasSums) const;
  void noteStart();
  llvm::Expected<TrainingEnd> checkChanges();

  /// Before a step.
  struct KeptStates {
    uint64_t step = 0;
    std::vector<NamedTensor> states;
  };
  llvm::Expected<KeptStates> findKeptStates(const FiniteChecks &checks) const;
  std::vector<NamedTensor> nameInputs() const;
  llvm::Expected<bool> replay(KeptStates &kept, uint64_t end);
  llvm::Expected<std::vector<unsigned>> check(FiniteChecks &checks,
                                              const KeptStates &kept);
  llvm::Expected<std::string> findOrigin();
  void traceDivergence();
  llvm::Expected<std::optional<TrainingEnd>> endStep(bool isStopped);

  llvm::Expected<TrainingEnd> runSteps(const TrainingObserver &observer);
  llvm::Expected<Checkpoint> makeCheckpoint();
  llvm::Error writeCheckpoint();
  bool takeStopFile() const;
  DataAttributes getSettings() const;
  std::string hashStates() const;
  llvm::Error convertCheckpoint(Checkpoint &checkpoint) const;
  llvm::Error checkOrigin(const Checkpoint &checkpoint) const;
  llvm::Error checkSettings(const Checkpoint &checkpoint) const;
  llvm::Error checkData(const Checkpoint &checkpoint);
  llvm::Error readData();
  llvm::Error judgeData();
  const DataAttributes &getDataHash();

  /// Of the folder of checkpoints, for as long as anything may write there.
  CheckpointLock lock;
  /// In this order: the programs need the model's context.
  std::unique_ptr<Model> model;
  std::unique_ptr<StepProgram> compiled;
  std::unique_ptr<Evaluation> evaluation;
  TrainingStep form;
  Batches batches;
  TrainerOptions options;
  /// To go on with, until that is done.
  std::optional<Checkpoint> checkpoint;
  /// Of the data: known from a checkpoint, or on its way.
  std::string dataPath, dataVersion;
  DataAttributes knownData;
  std::unique_ptr<DataPass> reading;
  /// Of the model's file.
  const std::string content;
  /// Of what other steps of the same model may have in common; empty without
  /// checkpoints.
  std::string stateHash;
  const uint64_t total, every;
  /// By input, states of which the rank owns a range; on rank 0, these as they
  /// were after a step.
  std::vector<ShardedState> shardList;
  std::map<unsigned, const ShardedState *> shards;
  std::map<unsigned, Tensor> wholes;
  std::optional<uint64_t> gatheredStep;
  uint64_t step = 0;
  CheckpointWriter writer;
  StepRecord last;
  std::optional<double> validation;
  double stepSeconds = 0;
  /// Steps in a row, up to the last one.
  unsigned skippedInRow = 0;
  /// Counts before the first step of this run: steps, those that were
  /// skipped, and hashes of float states, without and with sums of accumulated
  /// gradients.
  uint64_t firstStep = 0;
  double skippedBefore = 0;
  std::array<std::optional<uint64_t>, 2> hashesBefore;
  /// The last loss is no number, and all states are: a mean over nothing. How
  /// many of these there have been without another one in between.
  bool isVoid = false;
  unsigned voidInRow = 0;
  /// The last loss is no number, nor are sums of its open window, whose update
  /// will be skipped.
  bool isPending = false;
  /// A loss of the window up to the last step, or of this step, is no number;
  /// and whether the step before the next one leaves its window open.
  bool hasInfiniteLoss = false, wasWindowOpen = false;
  bool hasWarnedOfVoid = false;
  /// Of this epoch's finite losses.
  double epochSum = 0;
  uint64_t epochCount = 0;
  /// The state that is no longer finite; empty if there is none.
  std::string infiniteState;
  /// Which node has yielded it first; empty if that is not known.
  std::string origin;
};

} // namespace mp

#endif // MPOPT_API_TRAINER_H
