//===- RunStates.cpp - States of a run ------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunStates.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Training/Optimizers.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace mp {

bool isOfAccumulation(StringRef state) {
  return state == accumulatedSteps || isAccumulatedSum(state);
}

Error RunStates::set(ArrayRef<NamedTensor> given, bool needsAll) {
  auto others = shards.takeWholes(given, needsAll);
  return others ? program.setStates(*others, needsAll) : others.takeError();
}

Expected<std::vector<NamedTensor>> RunStates::get() const {
  writer.wait();
  if (!shards.areWhole())
    return createStringError("the ranks have parts of the states, which were "
                             "not put together after step " +
                             Twine(session.getCount()));
  auto states = program.fetchStates();
  if (!states)
    return addContext("the states after step " + Twine(session.getCount()),
                      states.takeError());
  shards.putWholes(*states);
  return states;
}

std::vector<Tensor> RunStates::getWholeValues() const {
  std::vector<Tensor> values = std::as_const(program).getValues();
  for (const auto &[index, whole] : shards.getWholes())
    values[index] = whole;
  return values;
}

Expected<std::string> RunStates::findInfinite() const {
  writer.wait();
  Expected<const ProgramValue *> infinite = program.findInfinite();
  if (!infinite)
    return addContext("the states after step " + Twine(session.getCount()),
                      infinite.takeError());
  if (*infinite)
    return (*infinite)->name;
  for (const auto &[index, whole] : shards.getWholes())
    if (!isFinite(whole))
      return program.getInputs()[index].name;
  return std::string();
}

static uint64_t hashElements(const Tensor &tensor) {
  return xxh3_64bits(ArrayRef<uint8_t>(
      static_cast<const uint8_t *>(tensor.getData()), tensor.getNumBytes()));
}

std::optional<uint64_t> RunStates::hashFloats(bool hasSums) const {
  std::vector<uint64_t> hashes;
  for (unsigned index : program.getFiniteStates()) {
    StringRef name = program.getInputs()[index].name;
    const Tensor &state = program.getValues()[index];
    if (!name.starts_with(scaleName) && (hasSums || !isAccumulatedSum(name)) &&
        !isInteger(state.getKind()))
      hashes.push_back(hashElements(state));
  }
  if (hashes.empty())
    return std::nullopt;
  return xxh3_64bits(
      ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(hashes.data()),
                        hashes.size() * sizeof(uint64_t)));
}

std::string RunStates::hashOrigin() const {
  ArrayRef<ProgramValue> takes = program.getInputs();
  StringSet<> names;
  for (unsigned index : program.getStates())
    names.insert(takes[index].name);
  std::string text;
  raw_string_ostream os(text);
  for (unsigned index : program.getStates()) {
    StringRef name = takes[index].name;
    if (isOfAccumulation(name))
      continue;
    const Tensor &initial = program.getValues()[index];
    ArrayRef<int64_t> sizes =
        shards.isRange(index) ? shards.getSizes(index) : initial.getSizes();
    os << name << " " << describeType(takes[index].kind, sizes) << "\n";
    // States of an optimizer have the parameter's name as a prefix.
    if (names.contains(name.rsplit('.').first) && name.contains('.'))
      continue;
    os << hashElements(initial) << "\n";
  }
  return getContentName(text);
}

} // namespace mp
