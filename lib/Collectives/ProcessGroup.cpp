//===- ProcessGroup.cpp - The ranks of a training run ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Collectives/ProcessGroup.h"

#include "DeviceProcessGroup.h"
#include "OrderedReduce.h"
#include "Watchdog.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

using namespace llvm;

namespace mp {

using Clock = std::chrono::steady_clock;

static double getSeconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

namespace {

struct BucketMember {
  explicit BucketMember(const mp_member &given)
      : operation(given.operation), type(given.type), data(given.data),
        count(given.count), size(given.size) {
    // A sparse member may have no rows on one rank.
    if (size == 0)
      return;
    rows.emplace(given.rows, given.rows + given.num_rows);
    for (int64_t &row : *rows)
      row += row < 0 ? size : 0;
    std::sort(rows->begin(), rows->end());
    rows->erase(std::unique(rows->begin(), rows->end()), rows->end());
  }

  int32_t operation, type;
  void *data;
  int64_t count, size;
  /// The nonzero rows, unique and sorted; absent if all rows count.
  std::optional<std::vector<int64_t>> rows;
};

/// A collective operation, which the thread makes.
struct Job {
  std::string what;
  std::function<Error(Communicator &, uint64_t &sent)> run;
  /// True for a bucket of a step, false for operations between steps.
  bool isOfStep = false;
  bool isDone = false;
};

} // namespace

struct ProcessGroup::Impl {
  ProcessGroupOptions options;
  /// Begins lines of a process that the time limit ends.
  std::string who;
  std::unique_ptr<Communicator> communicator;
  /// Null if devices do not reduce.
  const mp_nccl *nccl = nullptr;
  mp_nccl_id ncclId = {};
  RankDevice device;
  std::unique_ptr<DeviceProcessGroup> devices;
  std::string deviceNote;
  std::optional<Watchdog> watchdog;

  std::thread thread;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> jobs;
  bool isOver = false, isAbandoned = false;
  /// The first failure; later jobs are skipped.
  std::string failure;
  ProcessGroupFigures figures;

  // Used only by the model's thread.
  struct Bucket {
    /// Members of an operation that has not begun.
    std::vector<BucketMember> members;
    std::shared_ptr<Job> job;
  };
  std::map<int32_t, Bucket> buckets;
  std::string text;
  mp_collectives collectives = {};
  bool isServing = false;

  void serve();
  void serveToTheEnd();
  void make(Job &job);
  std::shared_ptr<Job> add(std::string what,
                           std::function<Error(Communicator &, uint64_t &)> run,
                           bool isOfStep = false);
  /// False after a failure.
  bool wait(Job &job);
  Error finish(Job &job);

  int32_t startMember(int32_t bucket, int32_t members, BucketMember member);
  int32_t waitForBucket(int32_t bucket);
};

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void ProcessGroup::Impl::make(Job &job) {
  Clock::time_point start = Clock::now();
  uint64_t sent = 0;
  watchdog->begin(job.what);
  Error failed = job.run(*communicator, sent);
  watchdog->end();
  if (options.secondsPerByte > 0)
    std::this_thread::sleep_for(
        std::chrono::duration<double>(options.secondsPerByte * double(sent)));
  std::lock_guard<std::mutex> lock(mutex);
  if (job.isOfStep) {
    figures.bytes += sent;
    figures.busySeconds += getSeconds(start);
  }
  if (failed) {
    failure = job.what + ": " + toString(std::move(failed));
    jobs.clear();
  }
  job.isDone = true;
}

void ProcessGroup::Impl::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return isOver || !jobs.empty(); });
    if (jobs.empty())
      return;
    std::shared_ptr<Job> job = jobs.front();
    jobs.pop_front();
    lock.unlock();
    make(*job);
    changed.notify_all();
    lock.lock();
  }
}

void ProcessGroup::Impl::serveToTheEnd() {
  serve();
  if (isAbandoned) {
    // Its destructor would wait.
    (void)communicator.release();
    return;
  }
  watchdog->begin("the end of MPI");
  communicator.reset();
  watchdog->end();
}

std::shared_ptr<Job>
ProcessGroup::Impl::add(std::string what,
                        std::function<Error(Communicator &, uint64_t &)> run,
                        bool isOfStep) {
  auto job = std::make_shared<Job>();
  job->what = std::move(what);
  job->run = std::move(run);
  job->isOfStep = isOfStep;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.empty())
      jobs.push_back(job);
  }
  changed.notify_all();
  return job;
}

bool ProcessGroup::Impl::wait(Job &job) {
  Clock::time_point start = Clock::now();
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return job.isDone || !failure.empty(); });
  if (job.isOfStep)
    figures.waitSeconds += getSeconds(start);
  return failure.empty();
}

Error ProcessGroup::Impl::finish(Job &job) {
  if (wait(job))
    return Error::success();
  std::lock_guard<std::mutex> lock(mutex);
  return createStringError(failure);
}

ProcessGroup::ProcessGroup(std::unique_ptr<Impl> made) : impl(std::move(made)) {
  impl->collectives.context = impl.get();
  impl->collectives.start = [](void *context, int32_t bucket, int32_t members,
                               const mp_member *member) {
    return static_cast<Impl *>(context)->startMember(bucket, members,
                                                     BucketMember(*member));
  };
  impl->collectives.wait = [](void *context, int32_t bucket) {
    return static_cast<Impl *>(context)->waitForBucket(bucket);
  };
  impl->collectives.error = [](void *context) {
    return static_cast<Impl *>(context)->text.c_str();
  };
}

Expected<std::unique_ptr<ProcessGroup>>
ProcessGroup::join(const Launch &launch, ProcessGroupOptions options) {
  return join([launch] { return connect(launch); },
              "mp-run: rank " + std::to_string(launch.rank), options);
}

Expected<std::unique_ptr<ProcessGroup>>
ProcessGroup::join(ConnectFn connect, std::string who,
                   ProcessGroupOptions options) {
  auto impl = std::make_unique<Impl>();
  Impl *made = impl.get();
  made->options = options;
  made->who = who;
  made->watchdog.emplace(options.timeout, std::move(who));
  // The thread that starts MPI makes all calls of it, the last one included.
  std::string failure;
  bool isConnected = false;
  std::unique_lock<std::mutex> lock(made->mutex);
  made->thread = std::thread([made, &connect, &failure, &isConnected] {
    made->watchdog->begin("the start of MPI");
    auto communicator = connect();
    made->watchdog->end();
    bool isThere = bool(communicator);
    {
      std::lock_guard<std::mutex> inner(made->mutex);
      isConnected = true;
      if (isThere)
        made->communicator = std::move(*communicator);
      else
        failure = toString(communicator.takeError());
      made->changed.notify_all();
    }
    if (isThere)
      made->serveToTheEnd();
  });
  made->changed.wait(lock, [&] { return isConnected; });
  lock.unlock();
  std::unique_ptr<ProcessGroup> ranks(new ProcessGroup(std::move(impl)));
  if (!failure.empty())
    return createStringError(failure);
  return ranks;
}

void ProcessGroup::abandon() {
  if (impl->devices)
    impl->devices->abandon();
  std::lock_guard<std::mutex> lock(impl->mutex);
  impl->isAbandoned = true;
  impl->jobs.clear();
}

ProcessGroup::~ProcessGroup() {
  if (impl->isServing)
    mp_set_collectives(nullptr);
  impl->devices.reset();
  {
    std::lock_guard<std::mutex> lock(impl->mutex);
    impl->isOver = true;
  }
  impl->changed.notify_all();
  impl->thread.join();
}

int ProcessGroup::getRank() const { return impl->communicator->getRank(); }
int ProcessGroup::getSize() const { return impl->communicator->getSize(); }
const std::string &ProcessGroup::getLibrary() const {
  return impl->communicator->getLibrary();
}

const ProcessGroupOptions &ProcessGroup::getOptions() const {
  return impl->options;
}

ProcessGroupFigures ProcessGroup::getFigures() const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  ProcessGroupFigures figures = impl->figures;
  if (impl->devices) {
    ProcessGroupFigures own = impl->devices->getFigures();
    figures.bytes += own.bytes;
    figures.busySeconds += own.busySeconds;
    figures.waitSeconds += own.waitSeconds;
  }
  return figures;
}

//===----------------------------------------------------------------------===//
// Between steps
//===----------------------------------------------------------------------===//

Error ProcessGroup::broadcast(void *data, size_t bytes) {
  auto job = impl->add("what rank 0 sends to all",
                       [=](Communicator &ranks, uint64_t &sent) {
                         sent += bytes;
                         return ranks.broadcast(data, bytes);
                       });
  return impl->finish(*job);
}

Expected<std::vector<char>> ProcessGroup::allGather(ArrayRef<char> own) {
  std::vector<char> all(own.size() * size_t(getSize()));
  auto job = impl->add(
      "what ranks tell each other", [&](Communicator &ranks, uint64_t &sent) {
        sent += own.size() * (all.size() / own.size() - 1);
        return ranks.allGather(own.data(), all.data(), own.size());
      });
  if (Error failed = impl->finish(*job))
    return failed;
  return all;
}

Error ProcessGroup::average(MutableArrayRef<float> elements) {
  auto job =
      impl->add("a mean over ranks", [=](Communicator &ranks, uint64_t &sent) {
        return orderedReduce<float>(ranks, elements, MP_MEAN,
                                    /*isWireBF16=*/false, sent);
      });
  return impl->finish(*job);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

ArrayRef<StringRef> getCollectivesWords() {
  static constexpr StringRef words[] = {"auto", "nccl", "mpi"};
  return words;
}

namespace {
/// Facts about a rank's device that are exchanged with the others.
struct DeviceFacts {
  /// The version of NCCL; 0 without it, with `reason` set.
  int32_t version = 0;
  char uuid[MP_CUDA_UUID_BYTES] = {};
  char reason[240] = {};
  /// Only set by rank 0.
  mp_nccl_id id = {};

  void refuse(const std::string &text) {
    version = 0;
    std::strncpy(reason, text.c_str(), sizeof(reason) - 1);
  }
};
} // namespace

static DeviceFacts getFacts(const RankDevice &device, int rank,
                            const mp_nccl *&nccl,
                            function_ref<Expected<const mp_nccl *>()> open) {
  DeviceFacts facts;
  Expected<const mp_nccl *> opened = open();
  if (!opened) {
    facts.refuse(toString(opened.takeError()));
    return facts;
  }
  nccl = *opened;
  int32_t number = 0;
  if (nccl->ncclGetVersion(&facts.version) != 0)
    facts.refuse("ncclGetVersion fails");
  else if (device.driver->cuDeviceGet(&number, device.number) ||
           device.driver->cuDeviceGetUuid_v2(facts.uuid, number))
    facts.refuse("the device has no identifier");
  else if (int32_t error = rank == 0 ? nccl->ncclGetUniqueId(&facts.id) : 0)
    facts.refuse(std::string("ncclGetUniqueId: ") +
                 nccl->ncclGetErrorString(error));
  return facts;
}

/// The reason why the devices cannot be connected; empty if they can.
static std::string findObstacle(ArrayRef<DeviceFacts> ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].version)
      return ("rank " + Twine(rank) + " has no NCCL: " + ranks[rank].reason)
          .str();
    if (ranks[rank].version != ranks[0].version)
      return ("rank " + Twine(rank) + " has NCCL " +
              printNCCLVersion(ranks[rank].version) + ", rank 0 " +
              printNCCLVersion(ranks[0].version))
          .str();
    for (size_t other = 0; other < rank; ++other)
      if (!std::memcmp(ranks[rank].uuid, ranks[other].uuid,
                       sizeof(DeviceFacts::uuid)))
        return ("ranks " + Twine(other) + " and " + Twine(rank) +
                " have the same device")
            .str();
  }
  return "";
}

Error ProcessGroup::agreeOnDevices(
    const RankDevice &device, function_ref<Expected<const mp_nccl *>()> open) {
  if (impl->options.deviceCollectives == DeviceCollectives::MPI) {
    impl->deviceNote = "what devices reduce goes through the host";
    return Error::success();
  }
  const mp_nccl *nccl = nullptr;
  auto facts = allGatherNumbers(getFacts(device, getRank(), nccl, open));
  if (!facts)
    return facts.takeError();
  std::string obstacle = findObstacle(*facts);
  if (obstacle.empty()) {
    impl->device = device;
    impl->nccl = nccl;
    impl->ncclId = facts->front().id;
    impl->deviceNote =
        "devices reduce by NCCL " + printNCCLVersion(facts->front().version);
    return Error::success();
  }
  if (impl->options.deviceCollectives == DeviceCollectives::NCCL)
    return createStringError("--collectives=nccl: " + obstacle);
  impl->deviceNote = "what devices reduce goes through the host: " + obstacle;
  return Error::success();
}

Error ProcessGroup::connectDevices() {
  if (!impl->nccl)
    return Error::success();
  auto made = DeviceProcessGroup::create(*impl->nccl, impl->device,
                                         impl->ncclId, getRank(), getSize(),
                                         impl->options, impl->who);
  if (!made) {
    // If rank 0 has failed in the same way, the launcher ends this rank in the
    // meantime.
    if (getRank() > 0)
      std::this_thread::sleep_for(timeToEnd);
    return createStringError(toString(made.takeError()) +
                             "; --collectives=mpi does without");
  }
  impl->devices = std::move(*made);
  impl->devices->serveSessions();
  return Error::success();
}

const std::string &ProcessGroup::getDeviceNote() const {
  return impl->deviceNote;
}

//===----------------------------------------------------------------------===//
// Operations within steps
//===----------------------------------------------------------------------===//

template <typename T>
static std::vector<Member<T>> getMembers(ArrayRef<BucketMember> members) {
  std::vector<Member<T>> typed;
  for (const BucketMember &member : members)
    typed.emplace_back(static_cast<T *>(member.data), size_t(member.count));
  return typed;
}

/// Reduces a table in which few rows are nonzero; false if it remains to be
/// reduced.
static Expected<bool> reduceRows(Communicator &ranks, const BucketMember &table,
                                 bool isWireBF16, uint64_t &sent) {
  if (!table.rows || table.operation != MP_MEAN || table.type != MP_FLOAT)
    return false;
  return allReduceRowMean(
      ranks, {static_cast<float *>(table.data), size_t(table.count)},
      *table.rows, table.size, isWireBF16, sent);
}

/// All members have the operation and the type of the first.
static Error reduce(Communicator &ranks, ArrayRef<BucketMember> members,
                    bool isWireBF16, uint64_t &sent) {
  if (members.size() == 1) {
    auto isDone = reduceRows(ranks, members.front(), isWireBF16, sent);
    if (!isDone || *isDone)
      return isDone.takeError();
  }
  int32_t operation = members.front().operation;
  switch (members.front().type) {
  case MP_FLOAT:
    return orderedReduce<float>(ranks, getMembers<float>(members), operation,
                                isWireBF16, sent);
  case MP_DOUBLE:
    return orderedReduce<double>(ranks, getMembers<double>(members), operation,
                                 isWireBF16, sent);
  default:
    return allReduceAnd(ranks, getMembers<char>(members), sent);
  }
}

int32_t ProcessGroup::Impl::startMember(int32_t number, int32_t count,
                                        BucketMember member) {
  Bucket &bucket = buckets[number];
  bucket.members.push_back(std::move(member));
  if (bucket.members.size() < size_t(count))
    return 0;
  auto run = [members = std::exchange(bucket.members, {}),
              isWireBF16 = options.isWireBF16](Communicator &ranks,
                                               uint64_t &sent) {
    return reduce(ranks, members, isWireBF16, sent);
  };
  bucket.job = add("bucket " + std::to_string(number) + " of gradients",
                   std::move(run), /*isOfStep=*/true);
  return 0;
}

int32_t ProcessGroup::Impl::waitForBucket(int32_t number) {
  Bucket &bucket = buckets[number];
  if (!bucket.job || wait(*bucket.job))
    return 0;
  std::lock_guard<std::mutex> lock(mutex);
  text = failure;
  return 1;
}

const mp_collectives &ProcessGroup::getCollectives() const {
  return impl->collectives;
}

void ProcessGroup::serveModels() {
  impl->isServing = true;
  mp_set_collectives(&impl->collectives);
}

} // namespace mp
