//===- Collectives.cpp - Collectives of distributed steps -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "LastError.h"

using namespace mp::runtime;

namespace {
const mp_collectives *collectives = nullptr;
} // namespace

const mp_collectives *mp::runtime::getCollectives() { return collectives; }

/// Ends the call if a collective has failed.
static void check(int32_t code) {
  if (code == 0)
    return;
  refuseWith(MP_RANKS_FAILED, "%s", collectives->error(collectives->context));
  endCall(MP_RANKS_FAILED);
}

extern "C" {

void mp_set_collectives(const mp_collectives *given) { collectives = given; }

void mp_reduce_start(int32_t condition, int32_t bucket, int32_t members,
                     int32_t operation, int32_t type, void *data, int64_t count,
                     const int64_t *rows, int64_t num_rows, int64_t size) {
  if (!collectives || !condition)
    return;
  mp_member member = {operation, type, data, count, rows, num_rows, size};
  check(collectives->start(collectives->context, bucket, members, &member));
}

void mp_reduce_wait(int32_t condition, int32_t bucket) {
  if (collectives && condition)
    check(collectives->wait(collectives->context, bucket));
}

} // extern "C"
