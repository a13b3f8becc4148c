//===- Streams.cpp - Streams and graphs of the emulated device ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace mp::emulation;

namespace mp::emulation {

Stream *findStream(State &state, void *handle, int32_t &error) {
  auto found = state.streams.find(static_cast<Stream *>(handle));
  if (found != state.streams.end())
    return found->second.get();
  error = complain(MP_CUDA_INVALID_HANDLE, "there is no such stream");
  return nullptr;
}

int32_t add(State &state, void *handle, Work work) {
  int32_t error = 0;
  Stream *stream = findStream(state, handle, error);
  if (!stream)
    return error;
  if (stream->isInvalid)
    return complain(MP_CUDA_CAPTURE_INVALIDATED, "the recording has failed");
  std::vector<Work> &line =
      stream->recorded ? stream->recorded->work : stream->pending;
  line.push_back(std::move(work));
  return 0;
}

} // namespace mp::emulation

/// All that is in line, until something fails.
static int32_t finish(State &state, Stream &stream) {
  std::vector<Work> pending = std::move(stream.pending);
  stream.pending.clear();
  if (pending.empty())
    return 0;
  state.memory.open();
  int32_t error = 0;
  for (const Work &work : pending)
    if ((error = work()))
      break;
  state.memory.close();
  state.sticky = error;
  return error;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

int32_t MP_EMULATED(cuStreamCreate)(void **result, uint32_t flags) {
  Call call(Call::Context, "cuStreamCreate %u", flags);
  if (call.error)
    return call.error;
  auto stream = std::make_unique<Stream>();
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
  if (call.error)
    return call.error;
  int32_t error = 0;
  Stream *stream = findStream(call.state, handle, error);
  if (!stream)
    return error;
  if (call.state.isRecording())
    return checkQuiet(call.state, "cuStreamSynchronize");
  return finish(call.state, *stream);
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
  // Even where it is to fail: nothing could go on.
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
