//===- NCCL.cpp - NCCL without GPUs ---------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each pair of ranks has a socket with a name derived from the unique
// identifier. A message consists of its size in 8 bytes and its content.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Emulation/EmulatedNCCL.h"

#include "State.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <random>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace mp::emulation;

extern "C" {
#define MP_NCCL_FUNCTION(NAME, PARAMETERS) int32_t MP_EMULATED(NAME) PARAMETERS;
#include "mp-opt/Runtime/NCCLFunctions.def"
const char *MP_EMULATED(ncclGetErrorString)(int32_t error);
const char *MP_EMULATED(ncclGetLastError)(void *communicator);
}

namespace {

struct Communicator {
  ~Communicator() {
    for (int socket : sockets)
      if (socket >= 0)
        close(socket);
  }

  int32_t rank = 0, size = 1;
  /// Indexed by rank; -1 for the own rank.
  std::vector<int> sockets;
  int32_t asyncError = 0;
  bool isAborted = false;
};

/// A message to or from a rank.
struct Message {
  char *data;
  uint64_t bytes;
  int32_t peer;
  bool isSent;
  uint64_t done = 0;
  uint64_t header = 0;
};

struct Operation {
  std::shared_ptr<Communicator> communicator;
  void *stream;
  std::vector<Message> messages;
};

constexpr uint64_t headerBytes = sizeof(uint64_t);

std::map<void *, std::shared_ptr<Communicator>> &getCommunicators() {
  static auto *all = new std::map<void *, std::shared_ptr<Communicator>>;
  return *all;
}

/// The operations of the current thread between ncclGroupStart and
/// ncclGroupEnd.
thread_local std::vector<Operation> group;
thread_local int groupDepth = 0;
thread_local std::string lastError;

} // namespace

static int32_t refuse(int32_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int32_t refuse(int32_t error, const char *format, ...) {
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  lastError = text;
  writeLog("NCCL's error %d: %s", error, text);
  return error;
}

/// The result of a function that must not continue.
static int32_t refuseCall(const Call &call, const char *name) {
  bool isInjected = call.error == call.state.injected;
  return refuse(isInjected ? call.error : int32_t(MP_NCCL_CUDA_ERROR),
                "%s cannot be called", name);
}

static std::shared_ptr<Communicator> find(void *handle) {
  auto found = getCommunicators().find(handle);
  return found == getCommunicators().end() ? nullptr : found->second;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Transfers as many bytes as possible without blocking; false if the peer has
/// gone.
static bool transfer(int socket, void *data, uint64_t bytes, bool isSent,
                     uint64_t &done) {
  while (done < bytes) {
    char *at = static_cast<char *>(data) + done;
    ssize_t moved =
        isSent ? send(socket, at, bytes - done, MSG_DONTWAIT | MSG_NOSIGNAL)
               : recv(socket, at, bytes - done, MSG_DONTWAIT);
    if (moved < 0 && errno == EINTR)
      continue;
    if (moved < 0)
      return errno == EAGAIN || errno == EWOULDBLOCK;
    if (moved == 0)
      return false;
    done += uint64_t(moved);
  }
  return true;
}

/// `done` counts the header, too.
static bool transfer(int socket, Message &message) {
  if (message.isSent)
    message.header = message.bytes;
  if (message.done < headerBytes &&
      !transfer(socket, &message.header, headerBytes, message.isSent,
                message.done))
    return false;
  if (message.done < headerBytes)
    return true;
  uint64_t done = message.done - headerBytes;
  bool isThere =
      transfer(socket, message.data, message.bytes, message.isSent, done);
  message.done = headerBytes + done;
  return isThere;
}

static bool isComplete(const Message &message) {
  return message.done == headerBytes + message.bytes;
}

/// Copies the messages that a rank sends to itself, matching them in order.
static void copyOwn(Operation &operation) {
  std::vector<Message *> sent, received;
  for (Message &message : operation.messages)
    if (message.peer == operation.communicator->rank)
      (message.isSent ? sent : received).push_back(&message);
  for (size_t index = 0; index < sent.size(); ++index) {
    Message &from = *sent[index], &to = *received[index];
    if (isComplete(from))
      continue;
    if (from.data != to.data)
      std::memmove(to.data, from.data, from.bytes);
    from.done = to.done = headerBytes + from.bytes;
  }
}

/// Transfers the messages of each rank, in both directions, one after the
/// other.
static int32_t progress(Operation &operation) {
  Communicator &communicator = *operation.communicator;
  if (communicator.isAborted)
    return 0;
  copyOwn(operation);
  bool isDone = true;
  for (int32_t peer = 0; peer < communicator.size; ++peer)
    for (bool isSent : {false, true})
      for (Message &message : operation.messages) {
        if (message.peer != peer || message.isSent != isSent ||
            isComplete(message))
          continue;
        if (communicator.asyncError)
          return MP_CUDA_NOT_READY;
        if (!transfer(communicator.sockets[size_t(peer)], message)) {
          writeLog("  rank %d has gone", peer);
          communicator.asyncError = MP_NCCL_REMOTE_ERROR;
          return MP_CUDA_NOT_READY;
        }
        if (message.done >= headerBytes && message.header != message.bytes)
          return complain(MP_CUDA_LAUNCH_FAILED,
                          "rank %d has sent %llu bytes, rank %d expects %llu",
                          peer, static_cast<unsigned long long>(message.header),
                          communicator.rank,
                          static_cast<unsigned long long>(message.bytes));
        if (!isComplete(message)) {
          isDone = false;
          break;
        }
      }
  return isDone ? 0 : MP_CUDA_NOT_READY;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static int32_t checkOwn(const Operation &operation) {
  std::vector<uint64_t> sent, received;
  for (const Message &message : operation.messages)
    if (message.peer == operation.communicator->rank)
      (message.isSent ? sent : received).push_back(message.bytes);
  if (sent == received)
    return 0;
  return refuse(MP_NCCL_INVALID_USAGE,
                "rank %d does not send itself what it expects of itself",
                operation.communicator->rank);
}

/// All operations of the group on one stream become a single work item.
static int32_t endGroup(State &state) {
  std::vector<Operation> operations = std::move(group);
  group.clear();
  for (Operation &operation : operations) {
    if (int32_t error = checkOwn(operation))
      return error;
    auto work = std::make_shared<Operation>(std::move(operation));
    if (add(state, work->stream, [work] { return progress(*work); }))
      return refuse(MP_NCCL_CUDA_ERROR, "there is no such stream");
  }
  return 0;
}

static int32_t addMessages(State &state, void *handle, void *stream,
                           const std::vector<Message> &messages) {
  std::shared_ptr<Communicator> communicator = find(handle);
  if (!communicator || communicator->isAborted)
    return refuse(MP_NCCL_INVALID_ARGUMENT, "there is no such communicator");
  int32_t error = 0;
  Stream *found = findStream(state, stream, error);
  if (!found)
    return refuse(MP_NCCL_INVALID_ARGUMENT, "there is no such stream");
  if (found->recorded)
    return refuse(MP_NCCL_INVALID_USAGE, "the stream is recorded");
  for (const Message &message : messages) {
    auto address = reinterpret_cast<mp_device_address>(message.data);
    if (message.peer < 0 || message.peer >= communicator->size)
      return refuse(MP_NCCL_INVALID_ARGUMENT, "found rank %d of %d",
                    message.peer, communicator->size);
    if (!state.memory.contains(address, message.bytes))
      return refuse(MP_NCCL_INVALID_ARGUMENT,
                    "%llu bytes are not in the memory of the device",
                    static_cast<unsigned long long>(message.bytes));
  }
  auto same =
      std::find_if(group.begin(), group.end(), [&](const Operation &other) {
        return other.communicator == communicator && other.stream == stream;
      });
  if (same == group.end())
    same = group.insert(group.end(), Operation{communicator, stream, {}});
  same->messages.insert(same->messages.end(), messages.begin(), messages.end());
  return groupDepth ? 0 : endGroup(state);
}

static int32_t checkType(int32_t type) {
  if (type == MP_NCCL_BYTES)
    return 0;
  return refuse(MP_NCCL_INVALID_ARGUMENT, "found type %d, expected bytes",
                type);
}

//===----------------------------------------------------------------------===//
// The start
//===----------------------------------------------------------------------===//

static sockaddr_un getName(const mp_nccl_id &id, int32_t rank,
                           socklen_t &length) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  // A name that begins with a zero byte is not a file.
  int count = std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                            "mp-emulated-nccl-%.32s-%d", id.bytes, rank);
  length = socklen_t(offsetof(sockaddr_un, sun_path)) + 1 + socklen_t(count);
  return name;
}

static int32_t failSystem(const char *what) {
  return refuse(MP_NCCL_SYSTEM_ERROR, "%s: %s", what, std::strerror(errno));
}

/// Connects to ranks with lower numbers, which may not have started yet.
static int connectTo(const mp_nccl_id &id, int32_t peer, int32_t own) {
  constexpr std::chrono::milliseconds nap(2);
  socklen_t length;
  sockaddr_un name = getName(id, peer, length);
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  while (made >= 0 &&
         connect(made, reinterpret_cast<sockaddr *>(&name), length) != 0) {
    if (errno != ECONNREFUSED && errno != EINTR && errno != EAGAIN) {
      close(made);
      return -1;
    }
    std::this_thread::sleep_for(nap);
  }
  if (made >= 0 && send(made, &own, sizeof(own), MSG_NOSIGNAL) != sizeof(own)) {
    close(made);
    return -1;
  }
  return made;
}

static int32_t join(Communicator &made, const mp_nccl_id &id) {
  made.sockets.assign(size_t(made.size), -1);
  socklen_t length;
  sockaddr_un name = getName(id, made.rank, length);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0)
    return failSystem("socket");
  if (bind(listener, reinterpret_cast<sockaddr *>(&name), length) != 0 ||
      listen(listener, made.size) != 0) {
    int32_t error = failSystem("bind");
    close(listener);
    return error;
  }
  for (int32_t peer = 0; peer < made.rank; ++peer) {
    int &socket = made.sockets[size_t(peer)];
    if ((socket = connectTo(id, peer, made.rank)) < 0) {
      int32_t error = failSystem("connect");
      close(listener);
      return error;
    }
  }
  for (int32_t count = made.rank + 1; count < made.size; ++count) {
    int accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    int32_t peer = -1;
    if (accepted < 0 || recv(accepted, &peer, sizeof(peer), MSG_WAITALL) !=
                            ssize_t(sizeof(peer)))
      peer = -1;
    if (peer <= made.rank || peer >= made.size) {
      int32_t error = failSystem("accept");
      close(listener);
      return error;
    }
    made.sockets[size_t(peer)] = accepted;
  }
  close(listener);
  return 0;
}

//===----------------------------------------------------------------------===//
// NCCL
//===----------------------------------------------------------------------===//

int32_t MP_EMULATED(ncclGetVersion)(int32_t *version) {
  *version = 22700;
  return 0;
}

int32_t MP_EMULATED(ncclGetUniqueId)(mp_nccl_id *id) {
  Call call(Call::Nothing, "ncclGetUniqueId");
  if (call.error)
    return refuseCall(call, "ncclGetUniqueId");
  std::random_device random;
  *id = {};
  std::snprintf(id->bytes, sizeof(id->bytes), "%08x%08x%08x", random(),
                random(), random());
  return 0;
}

int32_t MP_EMULATED(ncclCommInitRank)(void **result, int32_t size,
                                      mp_nccl_id id, int32_t rank) {
  {
    Call call(Call::Context, "ncclCommInitRank %d of %d", rank, size);
    if (call.error)
      return refuseCall(call, "ncclCommInitRank");
  }
  if (rank < 0 || rank >= size)
    return refuse(MP_NCCL_INVALID_ARGUMENT, "found rank %d of %d", rank, size);
  auto made = std::make_shared<Communicator>();
  made->rank = rank;
  made->size = size;
  // Joining may take long, since it waits for other ranks.
  if (int32_t error = join(*made, id))
    return error;
  std::lock_guard<std::mutex> lock(getState().mutex);
  *result = made.get();
  getCommunicators()[made.get()] = std::move(made);
  return 0;
}

int32_t MP_EMULATED(ncclCommDestroy)(void *handle) {
  Call call(Call::Nothing, "ncclCommDestroy");
  if (!getCommunicators().erase(handle))
    return refuse(MP_NCCL_INVALID_ARGUMENT, "there is no such communicator");
  return call.error;
}

/// Ends queued operations without waiting for other ranks.
int32_t MP_EMULATED(ncclCommAbort)(void *handle) {
  Call call(Call::Nothing, "ncclCommAbort");
  std::shared_ptr<Communicator> found = find(handle);
  if (!found)
    return refuse(MP_NCCL_INVALID_ARGUMENT, "there is no such communicator");
  found->isAborted = true;
  getCommunicators().erase(handle);
  return 0;
}

int32_t MP_EMULATED(ncclCommGetAsyncError)(void *handle, int32_t *error) {
  std::lock_guard<std::mutex> lock(getState().mutex);
  std::shared_ptr<Communicator> found = find(handle);
  if (!found)
    return refuse(MP_NCCL_INVALID_ARGUMENT, "there is no such communicator");
  *error = found->asyncError;
  return 0;
}

int32_t MP_EMULATED(ncclGroupStart)(void) {
  ++groupDepth;
  return 0;
}

int32_t MP_EMULATED(ncclGroupEnd)(void) {
  Call call(Call::Context, "ncclGroupEnd");
  if (groupDepth == 0)
    return refuse(MP_NCCL_INVALID_USAGE, "no group has begun");
  --groupDepth;
  if (call.error) {
    group.clear();
    return refuseCall(call, "ncclGroupEnd");
  }
  return groupDepth ? 0 : endGroup(call.state);
}

int32_t MP_EMULATED(ncclSend)(const void *from, size_t count, int32_t type,
                              int32_t peer, void *communicator, void *stream) {
  Call call(Call::Context, "ncclSend %zu to %d", count, peer);
  if (call.error)
    return refuseCall(call, "ncclSend");
  if (int32_t error = checkType(type))
    return error;
  auto *data = static_cast<char *>(const_cast<void *>(from));
  return addMessages(call.state, communicator, stream,
                     {{data, count, peer, /*isSent=*/true}});
}

int32_t MP_EMULATED(ncclRecv)(void *to, size_t count, int32_t type,
                              int32_t peer, void *communicator, void *stream) {
  Call call(Call::Context, "ncclRecv %zu from %d", count, peer);
  if (call.error)
    return refuseCall(call, "ncclRecv");
  if (int32_t error = checkType(type))
    return error;
  return addMessages(
      call.state, communicator, stream,
      {{static_cast<char *>(to), count, peer, /*isSent=*/false}});
}

int32_t MP_EMULATED(ncclAllGather)(const void *from, void *to, size_t count,
                                   int32_t type, void *communicator,
                                   void *stream) {
  Call call(Call::Context, "ncclAllGather %zu", count);
  if (call.error)
    return refuseCall(call, "ncclAllGather");
  if (int32_t error = checkType(type))
    return error;
  std::shared_ptr<Communicator> found = find(communicator);
  if (!found)
    return refuse(MP_NCCL_INVALID_ARGUMENT, "there is no such communicator");
  std::vector<Message> messages;
  for (int32_t peer = 0; peer < found->size; ++peer) {
    auto *own = static_cast<char *>(const_cast<void *>(from));
    char *part = static_cast<char *>(to) + size_t(peer) * count;
    messages.push_back({own, count, peer, /*isSent=*/true});
    messages.push_back({part, count, peer, /*isSent=*/false});
  }
  return addMessages(call.state, communicator, stream, messages);
}

const char *MP_EMULATED(ncclGetErrorString)(int32_t error) {
  switch (error) {
  case 0:
    return "no error";
  case MP_NCCL_CUDA_ERROR:
    return "unhandled cuda error";
  case MP_NCCL_SYSTEM_ERROR:
    return "unhandled system error";
  case MP_NCCL_INVALID_ARGUMENT:
    return "invalid argument";
  case MP_NCCL_INVALID_USAGE:
    return "invalid usage";
  case MP_NCCL_REMOTE_ERROR:
    return "remote process exited or there was a network error";
  default:
    return "unknown result code";
  }
}

const char *MP_EMULATED(ncclGetLastError)(void *) { return lastError.c_str(); }

const mp_nccl *mp_emulated_nccl(void) {
  static const mp_nccl functions = {
#define MP_NCCL_FUNCTION(NAME, PARAMETERS) MP_EMULATED(NAME),
#include "mp-opt/Runtime/NCCLFunctions.def"
      MP_EMULATED(ncclGetErrorString), MP_EMULATED(ncclGetLastError)};
  return &functions;
}
