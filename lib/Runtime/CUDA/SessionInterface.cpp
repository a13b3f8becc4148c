//===- SessionInterface.cpp - Functions of sessions in C ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CPU/LastError.h"
#include "Session.h"

#include <new>

using namespace mp::runtime;

int32_t mp_session_create(const mp_session_options *options,
                          mp_session **result) {
  clearLastError();
  *result = nullptr;
  void *memory = std::malloc(sizeof(mp_session));
  if (!memory)
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  auto *session = new (memory) mp_session(*options);
  if (int32_t code = session->create(*options)) {
    mp_session_destroy(session);
    return code;
  }
  *result = session;
  return MP_OK;
}

void mp_session_destroy(mp_session *session) {
  if (!session)
    return;
  session->destroy();
  session->~mp_session();
  std::free(session);
}

int32_t mp_session_set(mp_session *session, uint32_t input, const void *data) {
  clearLastError();
  return session->set(input, data);
}

int32_t mp_session_run(mp_session *session, int64_t number) {
  clearLastError();
  return session->run(number);
}

int32_t mp_session_get_output(mp_session *session, uint32_t output,
                              void *data) {
  clearLastError();
  const PlanView &plan = session->plan;
  if (output >= plan.head->outputs.count)
    return refuseWith(
        MP_BAD_INPUT, "found output %u, expected one of %llu", output,
        static_cast<unsigned long long>(plan.head->outputs.count));
  const mp_plan_buffer &buffer = plan.getOutputs()[output];
  if (buffer.state >= 0)
    return mp_session_get(session, static_cast<uint32_t>(buffer.state), data);
  return session->get(session->outputs[output], buffer.bytes, data,
                      plan.getText(buffer.name));
}

int32_t mp_session_get(mp_session *session, uint32_t input, void *data) {
  clearLastError();
  const PlanView &plan = session->plan;
  if (input >= plan.head->inputs.count)
    return refuseWith(MP_BAD_INPUT, "found input %u, expected one of %llu",
                      input,
                      static_cast<unsigned long long>(plan.head->inputs.count));
  const mp_plan_buffer &buffer = plan.getInputs()[input];
  if (!session->isSet[input])
    return refuseWith(MP_BAD_INPUT, "input '%s': no data",
                      plan.getText(buffer.name));
  return session->get(session->inputs[input], buffer.bytes, data,
                      plan.getText(buffer.name));
}

int32_t mp_session_wait(mp_session *session) {
  clearLastError();
  return session->wait();
}

uint64_t mp_session_bytes(const mp_session *session) { return session->bytes; }
