//===- Streams.cpp - Streams and graphs of the emulated device ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <thread>

using namespace mp::emulation;

namespace mp::emulation {

Stream *findStream(State &state, void *handle, int32_t &error) {
  auto found = state.streams.find(static_cast<Stream *>(handle));
  if (found != state.streams.end())
    return found->second.get();
  error = complain(MP_CUDA_INVALID_HANDLE, "there is no such stream");
  return nullptr;
}

/// Streams other than the first are named in the log.
static void writeNumber(const Stream &stream) {
  if (stream.number > 1)
    writeLog("  on stream %u", stream.number);
}

int32_t add(State &state, void *handle, Work work) {
  int32_t error = 0;
  Stream *stream = findStream(state, handle, error);
  if (!stream)
    return error;
  if (stream->isInvalid)
    return complain(MP_CUDA_CAPTURE_INVALIDATED, "the recording has failed");
  writeNumber(*stream);
  if (stream->recorded)
    stream->recorded->work.push_back(std::move(work));
  else
    stream->add(std::move(work));
  return 0;
}

} // namespace mp::emulation

/// Runs queued work up to item number `end`, until an item fails or is not
/// ready.
static int32_t advance(Stream &stream, uint64_t end) {
  while (stream.done < end && !stream.pending.empty()) {
    if (int32_t error = stream.pending.front()())
      return error;
    stream.pending.pop_front();
    ++stream.done;
  }
  return 0;
}

/// Advances the other streams first, as far as possible: a program that forgets
/// to wait for a stream finds its results late, and one that forgets to make a
/// stream wait finds them early.
static void advanceOthers(State &state, const Stream &stream) {
  if (!state.isEarly)
    return;
  for (auto &entry : state.streams)
    if (entry.first != &stream && !entry.second->recorded)
      if (int32_t error = advance(*entry.second, entry.second->getEnd());
          error && error != MP_CUDA_NOT_READY)
        state.sticky = error;
}

/// Runs queued work up to item number `end`, until an item fails or is not
/// ready.
static int32_t finish(State &state, Stream &stream, uint64_t end) {
  if (stream.pending.empty() || stream.done >= end)
    return 0;
  state.memory.open();
  advanceOthers(state, stream);
  int32_t error = state.sticky;
  if (!error)
    error = advance(stream, end);
  state.memory.close();
  if (!error || error == MP_CUDA_NOT_READY)
    return error;
  state.sticky = error;
  for (auto &entry : state.streams)
    entry.second->pending.clear();
  return error;
}

static int32_t waitFor(State &state, Stream &stream, uint64_t end) {
  constexpr std::chrono::microseconds nap(20);
  int32_t error = 0;
  while ((error = finish(state, stream, end)) == MP_CUDA_NOT_READY)
    std::this_thread::sleep_for(nap);
  return error;
}

/// A stream whose work may run now; null after a complaint.
static Stream *findToRun(State &state, void *handle, const char *function,
                         int32_t &error) {
  Stream *stream = findStream(state, handle, error);
  if (!stream || !state.isRecording())
    return stream;
  error = checkQuiet(state, function);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

int32_t MP_EMULATED(cuStreamCreate)(void **result, uint32_t flags) {
  Call call(Call::Context, "cuStreamCreate %u", flags);
  if (call.error)
    return call.error;
  auto stream = std::make_unique<Stream>();
  stream->number = ++call.state.numStreams;
  *result = stream.get();
  call.state.streams[stream.get()] = std::move(stream);
  return 0;
}

int32_t MP_EMULATED(cuStreamDestroy_v2)(void *handle) {
  Call call(Call::Context, "cuStreamDestroy");
  if (call.error && call.error != call.state.sticky)
    return call.error;
  int32_t error = 0;
  Stream *stream = findStream(call.state, handle, error);
  if (!stream)
    return error;
  if (!call.error && (!stream->pending.empty() || stream->recorded))
    return complain(MP_CUDA_INVALID_VALUE,
                    "a stream is destroyed that has work in line");
  call.state.streams.erase(stream);
  return call.error;
}

int32_t MP_EMULATED(cuStreamSynchronize)(void *handle) {
  Call call(Call::Context, "cuStreamSynchronize");
  int32_t error = call.error;
  Stream *stream =
      error ? nullptr
            : findToRun(call.state, handle, "cuStreamSynchronize", error);
  if (!stream)
    return error;
  return waitFor(call.state, *stream, stream->getEnd());
}

/// The first query of a stream with queued work always returns "not ready".
int32_t MP_EMULATED(cuStreamQuery)(void *handle) {
  Call call(Call::Context, "cuStreamQuery");
  int32_t error = call.error;
  Stream *stream =
      error ? nullptr : findToRun(call.state, handle, "cuStreamQuery", error);
  if (!stream)
    return error;
  if (stream->asked != stream->getEnd()) {
    stream->asked = stream->getEnd();
    if (!stream->pending.empty())
      return MP_CUDA_NOT_READY;
  }
  return finish(call.state, *stream, stream->getEnd());
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static std::shared_ptr<Event> findEvent(State &state, void *handle) {
  auto found = state.events.find(static_cast<Event *>(handle));
  if (found != state.events.end())
    return found->second;
  complain(MP_CUDA_INVALID_HANDLE, "there is no such event");
  return nullptr;
}

int32_t MP_EMULATED(cuEventCreate)(void **result, uint32_t flags) {
  Call call(Call::Context, "cuEventCreate %u", flags);
  if (call.error)
    return call.error;
  auto event = std::make_shared<Event>();
  event->hasTime = !(flags & MP_CUDA_EVENT_DISABLE_TIMING);
  *result = event.get();
  call.state.events[event.get()] = std::move(event);
  return 0;
}

int32_t MP_EMULATED(cuEventDestroy_v2)(void *handle) {
  Call call(Call::Context, "cuEventDestroy");
  if (call.error && call.error != call.state.sticky)
    return call.error;
  if (!call.state.events.erase(static_cast<Event *>(handle)))
    return complain(MP_CUDA_INVALID_HANDLE, "there is no such event");
  return call.error;
}

int32_t MP_EMULATED(cuEventRecord)(void *handle, void *to) {
  Call call(Call::Context, "cuEventRecord");
  if (call.error)
    return call.error;
  int32_t error = 0;
  Stream *stream = findStream(call.state, to, error);
  std::shared_ptr<Event> event = findEvent(call.state, handle);
  if (!stream || !event)
    return MP_CUDA_INVALID_HANDLE;
  if (stream->recorded)
    return checkQuiet(call.state, "cuEventRecord");
  writeNumber(*stream);
  if (event->hasTime)
    stream->add([event] {
      event->time = std::chrono::steady_clock::now();
      return 0;
    });
  event->stream = stream;
  event->end = stream->getEnd();
  return 0;
}

static bool isDone(const State &state, const Event &event) {
  auto found = state.streams.find(event.stream);
  return found == state.streams.end() || found->second->done >= event.end;
}

int32_t MP_EMULATED(cuEventQuery)(void *handle) {
  Call call(Call::Context, "cuEventQuery");
  if (call.error)
    return call.error;
  std::shared_ptr<Event> event = findEvent(call.state, handle);
  if (!event)
    return MP_CUDA_INVALID_HANDLE;
  return isDone(call.state, *event) ? 0 : MP_CUDA_NOT_READY;
}

int32_t MP_EMULATED(cuEventSynchronize)(void *handle) {
  Call call(Call::Context, "cuEventSynchronize");
  if (call.error)
    return call.error;
  std::shared_ptr<Event> event = findEvent(call.state, handle);
  if (!event)
    return MP_CUDA_INVALID_HANDLE;
  if (call.state.isRecording())
    return checkQuiet(call.state, "cuEventSynchronize");
  if (isDone(call.state, *event))
    return 0;
  return waitFor(call.state, *event->stream, event->end);
}

int32_t MP_EMULATED(cuEventElapsedTime)(float *milliseconds, void *from,
                                        void *to) {
  Call call(Call::Context, "cuEventElapsedTime");
  if (call.error)
    return call.error;
  std::shared_ptr<Event> begin = findEvent(call.state, from);
  std::shared_ptr<Event> end = findEvent(call.state, to);
  if (!begin || !end)
    return MP_CUDA_INVALID_HANDLE;
  if (!begin->hasTime || !end->hasTime || !begin->stream || !end->stream)
    return complain(MP_CUDA_INVALID_HANDLE, "an event has no time");
  if (!isDone(call.state, *begin) || !isDone(call.state, *end))
    return MP_CUDA_NOT_READY;
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return 0;
}

/// Waits for the work that the event represents now, even if the event is
/// recorded again later.
int32_t MP_EMULATED(cuStreamWaitEvent)(void *handle, void *of, uint32_t flags) {
  Call call(Call::Context, "cuStreamWaitEvent %u", flags);
  if (call.error)
    return call.error;
  int32_t error = 0;
  Stream *stream = findStream(call.state, handle, error);
  std::shared_ptr<Event> event = findEvent(call.state, of);
  if (!stream || !event)
    return MP_CUDA_INVALID_HANDLE;
  if (stream->recorded)
    return checkQuiet(call.state, "cuStreamWaitEvent");
  // An event that was never recorded is not waited for.
  if (!event->stream)
    return 0;
  State &state = call.state;
  return add(state, handle, [&state, other = event->stream, end = event->end] {
    auto found = state.streams.find(other);
    return found == state.streams.end() ? 0 : advance(*found->second, end);
  });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

int32_t MP_EMULATED(cuStreamBeginCapture_v2)(void *handle, int32_t mode) {
  Call call(Call::Context, "cuStreamBeginCapture %d", mode);
  if (call.error)
    return call.error;
  int32_t error = 0;
  Stream *stream = findStream(call.state, handle, error);
  if (!stream)
    return error;
  if (stream->recorded)
    return complain(MP_CUDA_INVALID_VALUE, "the stream is recorded already");
  stream->recorded = std::make_unique<Graph>();
  stream->isInvalid = false;
  return 0;
}

int32_t MP_EMULATED(cuStreamEndCapture)(void *handle, void **result) {
  Call call(Call::Context, "cuStreamEndCapture");
  *result = nullptr;
  int32_t error = 0;
  Stream *stream = findStream(call.state, handle, error);
  if (!stream)
    return error;
  if (!stream->recorded)
    return complain(MP_CUDA_INVALID_VALUE, "the stream is not recorded");
  // End the recording even if the call is to fail, since nothing else could
  // proceed.
  std::unique_ptr<Graph> graph = std::move(stream->recorded);
  bool isInvalid = stream->isInvalid;
  stream->isInvalid = false;
  if (call.error)
    return call.error;
  if (isInvalid)
    return complain(MP_CUDA_CAPTURE_INVALIDATED, "the recording has failed");
  writeLog("  %zu nodes", graph->work.size());
  *result = graph.get();
  call.state.graphs[graph.get()] = std::move(graph);
  return 0;
}

int32_t MP_EMULATED(cuGraphInstantiateWithFlags)(void **result, void *handle,
                                                 uint64_t flags) {
  Call call(Call::Context, "cuGraphInstantiateWithFlags %llu",
            static_cast<unsigned long long>(flags));
  if (call.error)
    return call.error;
  auto graph = call.state.graphs.find(static_cast<Graph *>(handle));
  if (graph == call.state.graphs.end())
    return complain(MP_CUDA_INVALID_HANDLE, "there is no such graph");
  auto executable = std::make_shared<Graph>(*graph->second);
  *result = executable.get();
  call.state.executables[executable.get()] = std::move(executable);
  return 0;
}

int32_t MP_EMULATED(cuGraphLaunch)(void *handle, void *stream) {
  Call call(Call::Context, "cuGraphLaunch");
  if (call.error)
    return call.error;
  auto found = call.state.executables.find(static_cast<Graph *>(handle));
  if (found == call.state.executables.end())
    return complain(MP_CUDA_INVALID_HANDLE, "there is no such graph");
  std::shared_ptr<Graph> graph = found->second;
  return add(call.state, stream, [graph] {
    for (const Work &work : graph->work)
      if (int32_t error = work())
        return error;
    return 0;
  });
}

int32_t MP_EMULATED(cuGraphDestroy)(void *handle) {
  Call call(Call::Context, "cuGraphDestroy");
  if (call.error && call.error != call.state.sticky)
    return call.error;
  if (!call.state.graphs.erase(static_cast<Graph *>(handle)))
    return complain(MP_CUDA_INVALID_HANDLE, "there is no such graph");
  return call.error;
}

int32_t MP_EMULATED(cuGraphExecDestroy)(void *handle) {
  Call call(Call::Context, "cuGraphExecDestroy");
  if (call.error && call.error != call.state.sticky)
    return call.error;
  if (!call.state.executables.erase(static_cast<Graph *>(handle)))
    return complain(MP_CUDA_INVALID_HANDLE, "there is no such graph");
  return call.error;
}
