//===- ProtoMutator.h - Edits of any protobuf message -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FUZZ_PROTOMUTATOR_H
#define MPOPT_FUZZ_PROTOMUTATOR_H

#include "Random.h"

#include <string>

namespace google::protobuf {
class Message;
} // namespace google::protobuf

namespace mp::fuzz {

/// Changes one field somewhere in `root`, whatever it means: another value,
/// none, twice, in another place, or a field that nobody knows.
void mutateMessage(google::protobuf::Message &root, Random &random);

/// Changes one of the bytes of a string, or its length.
void mutateBytes(std::string &bytes, Random &random);

/// A name that somebody did not think of.
std::string oddString(Random &random);

} // namespace mp::fuzz

#endif // MPOPT_FUZZ_PROTOMUTATOR_H
