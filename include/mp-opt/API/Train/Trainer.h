//===- Trainer.h - Step after step ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_TRAINER_H
#define MPOPT_API_TRAIN_TRAINER_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/API/Train/Batches.h"
#include "mp-opt/API/Train/CheckpointWriter.h"
#include "mp-opt/API/Train/DataPass.h"
#include "mp-opt/API/Train/Evaluation.h"
#include "mp-opt/API/Train/LearningRate.h"
#include "mp-opt/API/Train/StepProgram.h"
#include "mp-opt/API/Train/StepRecord.h"
#include "mp-opt/Collectives/ProcessGroup.h"
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
  /// The length of the run: `steps`, or `epochs` if `steps` is 0.
  uint64_t steps = 0, epochs = 1;
  /// The initial states: a file of parameters and other states by name, or a
  /// folder of checkpoints, of which the newest is used. States that are
  /// missing there, or all if this is empty, start with their defaults.
  std::string init;
  /// The folder of checkpoints; empty for none.
  std::string checkpoints;
  /// Steps between checkpoints, 0 for an epoch; and the number of checkpoints
  /// to keep.
  uint64_t every = 0, keep = 2;
  /// Continues from the newest intact checkpoint, if there is one, with bitwise
  /// equal results. Without this, checkpoints in the folder are an error.
  /// Another run that uses the folder is always an error.
  bool resume = false;
  /// The path of a log with a line of JSON for each step (TrainingLog); empty
  /// for none.
  std::string log;
  /// True if the model has averages of its parameters, which are the result.
  bool average = false;
  /// Data on which the loss is evaluated at the end of each epoch and of the
  /// run; with the averages, if these are the result.
  std::optional<DataSet> validation;
  /// The process group of a run with several ranks; null for a single rank.
  /// Each rank trains on its own batches with a step that reduces gradients
  /// (mp-opt --distribute). Rank 0 reads and writes files.
  ProcessGroup *ranks = nullptr;
  /// Each rank keeps and updates a range of the optimizer's states
  /// (Training/Sharding.h).
  bool shardOptimizer = false;
  /// Reads the step again to find out where a run has diverged; null if that is
  /// not wanted.
  std::function<llvm::Expected<std::unique_ptr<Model>>()> readStep;
  /// Receive messages about unused data, data that are not compared, incomplete
  /// checkpoints, and skipped steps.
  std::function<void(const llvm::Twine &text)> onWarning, onNote;
};

/// Callbacks that observe a run; both may be empty.
struct TrainingObserver {
  /// Called after each step. An error ends the run and is returned unchanged.
  std::function<llvm::Error(const StepRecord &record)> onStep;
  /// Called after each step: true ends the run, with a checkpoint.
  std::function<bool()> shouldStop;
};

enum class TrainingEnd {
  /// All steps are done.
  Finished,
  /// The observer stopped the run.
  Stopped,
  /// The loss or a state is no longer finite. There is no checkpoint of this
  /// state.
  Diverged,
  /// All steps are done, and none has changed a parameter. There is a
  /// checkpoint if they are enabled.
  Unchanged,
};

/// Runs a training step again and again, and hands its states on.
class Trainer {
public:
  /// Compiles `step` for batches of `data`, and initializes its states. Fails
  /// if the model is not a training step as made by mp-opt --train, or if data,
  /// states or the checkpoint do not fit it.
  static llvm::Expected<std::unique_ptr<Trainer>>
  create(std::unique_ptr<Model> step, const DataSet &data,
         TrainerOptions options);

  /// Replaces states by those of the same names; the others stay.
  llvm::Error setStates(llvm::ArrayRef<NamedTensor> states);

  /// Must be called before `run` if there are several ranks: they compare their
  /// settings and take rank 0's states. Fails on all ranks if one differs.
  llvm::Error joinRanks();
  /// Connects devices that reduce over NCCL; called after `joinRanks`. Fails on
  /// the rank that cannot connect.
  llvm::Error connectDevices();

  /// Runs the remaining steps. Fails on file errors and if the model refuses
  /// its inputs.
  llvm::Expected<TrainingEnd> run(const TrainingObserver &observer = {});

  /// The number of steps done, including those of a resumed run, and the total
  /// number of steps.
  uint64_t getStep() const { return step; }
  uint64_t getTotal() const { return total; }
  /// The step of the newest checkpoint of this run.
  std::optional<uint64_t> getCheckpointStep() const { return writer.getStep(); }
  const StepRecord &getLast() const { return last; }
  /// Steps in an epoch, and rows in a step, of all ranks together, 0 if batches
  /// are not made of rows.
  uint64_t getEpochSteps() const { return batches.getCount(); }
  uint64_t getBatchSize() const {
    return batches.getBatchSize() * options.batches.ranks;
  }
  /// The bytes of sharded optimizer states: those of this rank, and those of
  /// all.
  std::pair<uint64_t, uint64_t> getShardedBytes() const;
  /// Null for a run of one.
  const ProcessGroup *getRanks() const { return options.ranks; }
  /// The newest loss on validation data, and the time that this run's steps
  /// took.
  std::optional<double> getValidation() const { return validation; }
  double getStepSeconds() const { return stepSeconds; }
  /// "the loss of step 12 is NaN; the last checkpoint is that of step 8".
  std::string describeDivergence() const;
  /// Explains why no step has changed a parameter, and how to fix that.
  std::string describeUnchanged() const;

  /// Writes a checkpoint of the states as they are, wherever that is: for runs
  /// that ended before they could be kept.
  llvm::Error writeCheckpoint(llvm::StringRef folder);
  /// True if a step has failed on its way: it may have changed some states.
  bool isStepBroken() const { return compiled->isBroken(); }
  /// False if a state is no longer finite, which `describeDivergence` then
  /// mentions. Fails if a device does not return the states.
  llvm::Expected<bool> hasFiniteStates();

  /// Parameters and all other states. They share memory with the trainer, whose
  /// steps overwrite it. Fails if a device does not return them.
  llvm::Expected<std::vector<NamedTensor>> getStates() const;
  /// Returns the same or, if requested, the averages in place of the
  /// parameters.
  llvm::Expected<std::vector<NamedTensor>> getResult() const;

private:
  Trainer(std::unique_ptr<Model> model, TrainingStep step, Batches batches,
          TrainerOptions options);

  static void configureRank(TrainerOptions &options);
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

  void report(const llvm::Twine &what, const DataRemarks &remarks) const;
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

  /// States before a step.
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

  /// Held for the folder of checkpoints as long as anything may be written to
  /// it.
  CheckpointLock lock;
  /// The order matters: the programs need the model's context.
  std::unique_ptr<Model> model;
  std::unique_ptr<StepProgram> compiled;
  std::unique_ptr<Evaluation> evaluation;
  TrainingStep form;
  Batches batches;
  TrainerOptions options;
  /// The checkpoint to resume from, until it is loaded.
  std::optional<Checkpoint> checkpoint;
  /// The hash of the data: known from a checkpoint, or being computed.
  std::string dataPath, dataVersion;
  DataAttributes knownData;
  std::unique_ptr<DataPass> reading;
  /// The hash of the model's file.
  const std::string content;
  /// The hash of the parts that other steps of the same model may share; empty
  /// without checkpoints.
  std::string stateHash;
  const uint64_t total, every;
  /// States of which the rank owns a range, by input. On rank 0, also the whole
  /// states as they were after a step.
  std::vector<ShardedState> shardList;
  std::map<unsigned, const ShardedState *> shards;
  std::map<unsigned, Tensor> wholes;
  std::optional<uint64_t> gatheredStep;
  uint64_t step = 0;
  CheckpointWriter writer;
  StepRecord last;
  std::optional<double> validation;
  double stepSeconds = 0;
  /// The number of consecutive skipped steps up to the last one.
  unsigned skippedInRow = 0;
  /// Counts before the first step of this run: steps, those that were
  /// skipped, and hashes of float states, without and with sums of accumulated
  /// gradients.
  uint64_t firstStep = 0;
  double skippedBefore = 0;
  std::array<std::optional<uint64_t>, 2> hashesBefore;
  /// True if the last loss is not finite but all states are, as for a mean over
  /// nothing; and the number of such steps in a row.
  bool isVoid = false;
  unsigned voidInRow = 0;
  /// The last loss and sums of its open window are not finite. The update of
  /// this window will be skipped.
  bool isPending = false;
  /// True if a loss of the window up to the last step, or of this step, is not
  /// finite; and if the step before the next one leaves its window open.
  bool hasInfiniteLoss = false, wasWindowOpen = false;
  bool hasWarnedOfVoid = false;
  /// Over the finite losses of this epoch.
  double epochSum = 0;
  uint64_t epochCount = 0;
  /// The name of the state that is no longer finite; empty if there is none.
  std::string infiniteState;
  /// The node that first produced a non-finite value; empty if unknown.
  std::string origin;
};

} // namespace mp

#endif // MPOPT_API_TRAIN_TRAINER_H
