//===- LaunchTimes.cpp - The time of each launch --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchTimes.h"
#include "../CPU/LastError.h"
#include "Session.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mp::runtime {

LaunchTimes::~LaunchTimes() {
  for (uint64_t index = 0; index < most; ++index)
    if (events[index])
      loaded.driver.cuEventDestroy_v2(events[index]);
}

int32_t LaunchTimes::start(uint64_t numRecords) {
  if (!events.resize(numRecords + 1) || !records.resize(numRecords + 1))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  most = numRecords + 1;
  for (uint64_t index = 0; index < most; ++index)
    if (int32_t error = loaded.driver.cuEventCreate(&events[index],
                                                    MP_CUDA_EVENT_DEFAULT)) {
      events[index] = nullptr;
      return loaded.device.fail(error, "cuEventCreate", "timing launches");
    }
  return MP_OK;
}

int32_t LaunchTimes::mark(int64_t record) {
  records[count] = record;
  if (int32_t error =
          loaded.driver.cuEventRecord(events[count++], loaded.stream))
    return loaded.device.fail(error, "cuEventRecord", "timing launches");
  return MP_OK;
}

/// Writes text as a JSON string.
static void writeText(std::FILE *file, const char *text) {
  std::fputc('"', file);
  for (; *text; ++text) {
    auto letter = static_cast<unsigned char>(*text);
    if (letter < ' ')
      std::fprintf(file, "\\u%04x", unsigned(letter));
    else if (letter == '"' || letter == '\\')
      std::fprintf(file, "\\%c", letter);
    else
      std::fputc(letter, file);
  }
  std::fputc('"', file);
}

static void writeRecord(std::FILE *file, const PlanView &plan, int64_t number,
                        float milliseconds) {
  const mp_plan_record &record = plan.getRecords()[number];
  bool isLaunch = record.kind == MP_RECORD_LAUNCH;
  std::fprintf(
      file, "{\"record\": %lld, \"kernel\": ", static_cast<long long>(number));
  writeText(file, isLaunch ? plan.getText(plan.getKernels()[record.kernel].name)
                  : record.kind == MP_RECORD_COPY ? "copy"
                                                  : "fill");
  std::fputs(", \"node\": ", file);
  writeText(file, plan.getText(record.node));
  if (isLaunch)
    std::fprintf(file,
                 ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], "
                 "\"shared\": %u",
                 record.grid[0], record.grid[1], record.grid[2],
                 record.block[0], record.block[1], record.block[2],
                 record.shared);
  std::fprintf(file, ", \"us\": %.3f}\n", double(milliseconds) * 1e3);
}

int32_t LaunchTimes::write(const char *path) {
  if (int32_t error = loaded.driver.cuStreamSynchronize(loaded.stream))
    return loaded.device.fail(error, "cuStreamSynchronize", "timing launches");
  std::FILE *file = std::fopen(path, "a");
  if (!file)
    return refuseWith(MP_BAD_INPUT, "%s: '%.200s': %s", launchTimesVariable,
                      path, std::strerror(errno));
  int32_t error = 0;
  for (uint64_t index = 1; index < count && !error; ++index) {
    float milliseconds = 0;
    error = loaded.driver.cuEventElapsedTime(&milliseconds, events[index - 1],
                                             events[index]);
    if (!error && records[index] >= 0)
      writeRecord(file, loaded.plan, records[index], milliseconds);
  }
  bool isWritten = !std::ferror(file);
  isWritten &= std::fclose(file) == 0;
  if (error)
    return loaded.device.fail(error, "cuEventElapsedTime", "timing launches");
  if (!isWritten)
    return refuseWith(MP_BAD_INPUT, "%s: '%.200s': could not be written whole",
                      launchTimesVariable, path);
  return MP_OK;
}

int32_t launchPiece(mp_session &session, uint64_t number) {
  const Piece &piece = session.pieces[number];
  const char *path = std::getenv(launchTimesVariable);
  if (!path || !*path) {
    if (piece.executable)
      if (int32_t error =
              session.driver.cuGraphLaunch(piece.executable, session.stream))
        return session.device.fail(error, "cuGraphLaunch", "calling the model");
    return MP_OK;
  }
  uint64_t begin = number ? session.pieces[number - 1].end : 0;
  LaunchTimes times(session);
  if (int32_t code = times.start(piece.firstReduction - begin))
    return code;
  if (int32_t code = times.mark(-1))
    return code;
  for (uint64_t index = begin; index < piece.firstReduction; ++index) {
    if (session.plan.getRecords()[index].when_set)
      continue;
    if (int32_t code = session.record(/*whenSet=*/false, index, index + 1))
      return code;
    if (int32_t code = times.mark(static_cast<int64_t>(index)))
      return code;
  }
  return times.write(path);
}

} // namespace mp::runtime
