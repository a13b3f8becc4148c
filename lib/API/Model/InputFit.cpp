//===- InputFit.cpp - Arrays in the form that a model takes ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/InputFit.h"

#include "mp-opt/API/Model/DataRules.h"
#include "mp-opt/Data/Convert.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Advice
//===----------------------------------------------------------------------===//

namespace {
/// Finds a call of numpy that converts an array to the sizes of an input.
class FormAdvice {
public:
  FormAdvice(const ModelValue &input, ElementKind kind, ArrayRef<int64_t> sizes)
      : input(input), kind(kind), sizes(sizes),
        name(isIdentifier(input.name) ? input.name : "array") {}

  std::string find() const;

private:
  static bool isIdentifier(StringRef name) {
    return !name.empty() && !isDigit(name.front()) &&
           llvm::all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
  }
  bool fits(ArrayRef<int64_t> given) const;
  SmallVector<int64_t> without(size_t axis) const;
  std::optional<int64_t> getRow(ArrayRef<int64_t> of) const;
  std::string dropAxis() const;
  std::string dropClasses() const;
  std::string addAxis() const;
  std::string addClasses() const;
  std::string moveAxes() const;
  std::string takeRows() const;
  std::string reshape() const;

  const ModelValue &input;
  ElementKind kind;
  ArrayRef<int64_t> sizes;
  std::string name;
};
} // namespace

bool FormAdvice::fits(ArrayRef<int64_t> given) const {
  return given.size() == input.sizes.size() &&
         llvm::all_of(llvm::zip(given, input.sizes), [](auto pair) {
           auto [found, expected] = pair;
           return expected < 0 || found == expected;
         });
}

SmallVector<int64_t> FormAdvice::without(size_t axis) const {
  SmallVector<int64_t> rest(sizes);
  rest.erase(rest.begin() + axis);
  return rest;
}

/// The number of elements at one index of the first axis, i.e. in a row; absent
/// if another size is unknown or there are no axes.
std::optional<int64_t> FormAdvice::getRow(ArrayRef<int64_t> of) const {
  return of.empty() ? std::nullopt : getByteCount(of.drop_front(), 1);
}

/// Advice to drop a superfluous axis of size 1.
std::string FormAdvice::dropAxis() const {
  if (sizes.size() != input.sizes.size() + 1)
    return "";
  for (size_t axis = sizes.size(); axis-- > 1;) {
    if (sizes[axis] != 1 || !fits(without(axis)))
      continue;
    std::string call =
        sizes.size() == 2 ? "[:, 0]" : ".squeeze(" + std::to_string(axis) + ")";
    return name + call + " drops the axis of size 1";
  }
  return "";
}

/// Advice for class numbers where scores of all classes are given.
std::string FormAdvice::dropClasses() const {
  size_t rank = sizes.size();
  if (rank != input.sizes.size() + 1 || rank < 2 || !isInteger(input.kind))
    return "";
  size_t axis = StringRef(input.name).starts_with("labels") ? 1 : rank - 1;
  if (!fits(without(axis)))
    axis = rank - 1;
  if (sizes[axis] < 2 || !fits(without(axis)))
    return "";
  return name + ".argmax(" + std::to_string(axis) +
         ") makes class numbers of one-hot rows";
}

std::string FormAdvice::addAxis() const {
  SmallVector<int64_t> more(sizes);
  more.insert(more.begin(), 1);
  if (fits(more))
    return name + "[None] is a batch of one";
  if (sizes.empty() || sizes.size() + 1 != input.sizes.size())
    return "";
  more.erase(more.begin());
  for (size_t axis = 1; axis <= sizes.size(); ++axis) {
    SmallVector<int64_t> wide(sizes);
    wide.insert(wide.begin() + axis, 1);
    if (input.sizes[axis] == 1 && fits(wide))
      return name + "[" + join(SmallVector<StringRef>(axis, ":"), ", ") +
             ", None] adds the axis of size 1";
  }
  return "";
}

/// Advice for targets of a regression loss where class numbers are given.
std::string FormAdvice::addClasses() const {
  bool isOne = isInteger(kind) && isFloat(input.kind) &&
               sizes.size() + 1 == input.sizes.size() && !input.sizes.empty() &&
               input.sizes.back() > 1;
  if (!isOne || !StringRef(input.name).starts_with("labels"))
    return "";
  return "class numbers need a loss for them (softmax-cross-entropy), or "
         "become one-hot by numpy.eye(" +
         std::to_string(input.sizes.back()) + ", dtype=\"float32\")[" + name +
         "]";
}

/// Advice to transpose: channels-last to channels-first, the reverse, and
/// matrices.
std::string FormAdvice::moveAxes() const {
  size_t rank = sizes.size();
  if (rank != input.sizes.size() || rank < 2)
    return "";
  if (rank == 2)
    return fits({sizes[1], sizes[0]}) ? name + ".T has these sizes" : "";
  for (auto [from, to] :
       {std::pair(rank - 1, size_t(1)), std::pair(size_t(1), rank - 1)}) {
    SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, rank));
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, from);
    SmallVector<int64_t> moved;
    for (size_t axis : order)
      moved.push_back(sizes[axis]);
    if (!fits(moved))
      continue;
    auto strings = llvm::map_range(
        order, [](size_t axis) { return std::to_string(axis); });
    return name + ".transpose(" + join(strings, ", ") + ") moves its channels";
  }
  return "";
}

/// Advice for more rows than the model's fixed number.
std::string FormAdvice::takeRows() const {
  if (sizes.empty() || sizes.size() != input.sizes.size())
    return "";
  int64_t rows = input.sizes.front();
  SmallVector<int64_t> taken(sizes);
  taken.front() = rows;
  if (rows < 1 || rows >= sizes.front() || !fits(taken))
    return "";
  return name + "[:" + std::to_string(rows) +
         "] has the model's number of rows";
}

std::string FormAdvice::reshape() const {
  std::optional<int64_t> expected = getRow(input.sizes), found = getRow(sizes);
  if (!expected || expected != found || *expected == 0)
    return "";
  // The number of rows stays.
  if (input.sizes.front() >= 0 && input.sizes.front() != sizes.front())
    return "";
  std::string call = name + ".reshape(-1";
  for (int64_t size : ArrayRef(input.sizes).drop_front())
    call += ", " + std::to_string(size);
  return call + ") has these sizes";
}

std::string FormAdvice::find() const {
  for (auto rule :
       {&FormAdvice::dropAxis, &FormAdvice::addAxis, &FormAdvice::dropClasses,
        &FormAdvice::addClasses, &FormAdvice::moveAxes, &FormAdvice::takeRows,
        &FormAdvice::reshape})
    if (std::string text = (this->*rule)(); !text.empty())
      return text;
  return "";
}

std::string adviseForm(const ModelValue &input, ElementKind kind,
                       ArrayRef<int64_t> sizes) {
  std::string text = FormAdvice(input, kind, sizes).find();
  return text.empty() ? text : ": " + text;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

Error checkSizes(const ModelValue &input, const Tensor &tensor) {
  ArrayRef<int64_t> sizes = tensor.getSizes();
  bool fits = input.sizes.size() == sizes.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i)
    fits = input.sizes[i] < 0 || input.sizes[i] == sizes[i];
  if (fits)
    return Error::success();
  return createStringError("input '" + input.name + "': expected " +
                           input.describe() + ", found " +
                           describeArray(tensor.getKind(), sizes) +
                           adviseForm(input, tensor.getKind(), sizes));
}

static std::string callOf(const ModelValue &input) {
  return (input.name + ".astype(\"" + getArrayTypeName(input.kind) + "\")")
      .str();
}

Error checkKind(const ModelValue &input, const Tensor &tensor) {
  ElementKind given = tensor.getKind();
  if (given == input.kind || isConvertible(given, input.kind))
    return Error::success();
  return createStringError("input '" + input.name + "': expected " +
                           input.describe() + ", found " +
                           describeArray(given, tensor.getSizes()) + ": " +
                           callOf(input) + " converts it");
}

Error checkElements(const ModelValue &input, const Tensor &tensor) {
  if (tensor.getKind() == input.kind)
    return Error::success();
  std::optional<uint64_t> place = findRefused(tensor, input.kind);
  if (!place)
    return Error::success();
  StringRef type = getArrayTypeName(input.kind);
  bool isNarrow =
      input.kind == ElementKind::Float16 || input.kind == ElementKind::BFloat16;
  std::string advice =
      isNarrow && isFloat(tensor.getKind())
          ? ", which is beyond the range of " + type.str() +
                ": scale the data, or keep this input fp32 (mp-opt --io='" +
                Regex::escape(input.name) + "=fp32')"
          : ", which is not a number of " + type.str() + ": " + callOf(input) +
                " rounds or cuts it";
  return createStringError(
      "input '" + input.name + "': expected " + input.describe() + ", found " +
      describeArray(tensor.getKind(), tensor.getSizes()) + " with " +
      formatElement(tensor, *place) +
      (tensor.getSizes().empty()
           ? std::string()
           : " in " + describePlace(tensor.getSizes(), *place, false)) +
      advice);
}

std::string describeConversion(const ModelValue &input, ElementKind kind) {
  return ("'" + input.name + "': " + getArrayTypeName(kind) + " becomes " +
          getArrayTypeName(input.kind))
      .str();
}

Expected<Tensor> fitInput(const ModelValue &input, const Tensor &tensor,
                          function_ref<void(const Twine &)> note) {
  for (auto check : {checkSizes, checkKind, checkElements})
    if (Error failed = check(input, tensor))
      return std::move(failed);
  if (tensor.getKind() == input.kind)
    return tensor;
  Expected<Tensor> room = Tensor::create(input.kind, tensor.getSizes());
  if (!room)
    return prefixError("input '" + input.name + "'", room.takeError());
  copyElements(tensor, *room);
  if (note)
    note(describeConversion(input, tensor.getKind()));
  return room;
}

Expected<Tensor> fitFloats(const ModelValue &input, const Tensor &tensor) {
  if (isFloat(tensor.getKind()) && isFloat(input.kind))
    if (Error failed = checkElements(input, tensor))
      return std::move(failed);
  Expected<Tensor> fitting = convertFloats(tensor, input.kind);
  if (!fitting)
    return prefixError("input '" + input.name + "'", fitting.takeError());
  return fitting;
}

} // namespace mp
