//===- ProtoMutator.cpp - Edits of any protobuf message -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtoMutator.h"

#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"

#include <limits>

namespace pb = google::protobuf;

namespace mp::fuzz {

std::string oddString(Random &random) {
  static const std::string odd[] = {"",
                                    "ai.onnx",
                                    "com.microsoft",
                                    "..",
                                    "/",
                                    "\n\"{<",
                                    "onnx.name",
                                    "mp.class",
                                    "x",
                                    std::string(1, '\0'),
                                    "\xff\xfe\x80",
                                    "a\0b",
                                    std::string(300, 'n'),
                                    "weights.bin",
                                    "9999999999999999999999",
                                    "-1",
                                    "%d%s",
                                    "\xe2\x80\xae"};
  if (random.oneIn(40))
    return std::string(1 << random.below(16), 'L');
  return random.pick(odd);
}

void mutateBytes(std::string &bytes, Random &random) {
  size_t at = random.below(bytes.size() + 1);
  switch (random.below(6)) {
  case 0:
    bytes.insert(at, 1, char(random.next()));
    break;
  case 1:
    bytes.erase(at, 1 + random.below(8));
    break;
  case 2:
    bytes.resize(at);
    break;
  case 3:
    bytes += bytes.substr(at, 64);
    break;
  default:
    if (at < bytes.size())
      bytes[at] = char(random.oneIn(2) ? bytes[at] ^ (1 << random.below(8))
                                       : random.next());
    break;
  }
}

//===----------------------------------------------------------------------===//
// Single fields
//===----------------------------------------------------------------------===//

namespace {

class FieldEditor {
public:
  FieldEditor(pb::Message &message, const pb::FieldDescriptor *field,
              Random &random)
      : message(message), field(field), reflection(*message.GetReflection()),
        random(random) {}

  void edit() { field->is_repeated() ? editRepeated() : editSingle(); }

private:
  void editSingle();
  void editRepeated();
  void add();
  void setItem(int index);
  double oddFloat();
  int oddEnumerator() {
    const pb::EnumDescriptor *kind = field->enum_type();
    return kind->value(int(random.below(kind->value_count())))->number();
  }

  pb::Message &message;
  const pb::FieldDescriptor *field;
  const pb::Reflection &reflection;
  Random &random;
};

} // namespace

double FieldEditor::oddFloat() {
  using Limits = std::numeric_limits<float>;
  const double odd[] = {0.0,   -0.0,           1.0,
                        -1.0,  1e30,           -1e-30,
                        65504, Limits::max(),  Limits::infinity(),
                        1e-45, -Limits::max(), Limits::quiet_NaN()};
  return random.pick(odd);
}

void FieldEditor::editSingle() {
  using Field = pb::FieldDescriptor;
  if (random.oneIn(5))
    return reflection.ClearField(&message, field);
  switch (field->cpp_type()) {
  case Field::CPPTYPE_INT32:
    return reflection.SetInt32(&message, field, int32_t(random.oddInteger()));
  case Field::CPPTYPE_INT64:
    return reflection.SetInt64(&message, field, random.oddInteger());
  case Field::CPPTYPE_UINT32:
    return reflection.SetUInt32(&message, field, uint32_t(random.oddInteger()));
  case Field::CPPTYPE_UINT64:
    return reflection.SetUInt64(&message, field, random.oddInteger());
  case Field::CPPTYPE_FLOAT:
    return reflection.SetFloat(&message, field, float(oddFloat()));
  case Field::CPPTYPE_DOUBLE:
    return reflection.SetDouble(&message, field, oddFloat());
  case Field::CPPTYPE_BOOL:
    return reflection.SetBool(&message, field, random.oneIn(2));
  case Field::CPPTYPE_ENUM:
    return reflection.SetEnumValue(&message, field, oddEnumerator());
  case Field::CPPTYPE_STRING: {
    std::string text = reflection.GetString(message, field);
    random.oneIn(2) ? mutateBytes(text, random)
                    : void(text = oddString(random));
    return reflection.SetString(&message, field, text);
  }
  case Field::CPPTYPE_MESSAGE:
    reflection.MutableMessage(&message, field);
    return;
  }
}

void FieldEditor::setItem(int index) {
  using Field = pb::FieldDescriptor;
  switch (field->cpp_type()) {
  case Field::CPPTYPE_INT32:
    return reflection.SetRepeatedInt32(&message, field, index,
                                       int32_t(random.oddInteger()));
  case Field::CPPTYPE_INT64:
    return reflection.SetRepeatedInt64(&message, field, index,
                                       random.oddInteger());
  case Field::CPPTYPE_UINT64:
    return reflection.SetRepeatedUInt64(&message, field, index,
                                        random.oddInteger());
  case Field::CPPTYPE_FLOAT:
    return reflection.SetRepeatedFloat(&message, field, index,
                                       float(oddFloat()));
  case Field::CPPTYPE_DOUBLE:
    return reflection.SetRepeatedDouble(&message, field, index, oddFloat());
  case Field::CPPTYPE_STRING:
    return reflection.SetRepeatedString(&message, field, index,
                                        oddString(random));
  default:
    return;
  }
}

void FieldEditor::add() {
  using Field = pb::FieldDescriptor;
  switch (field->cpp_type()) {
  case Field::CPPTYPE_INT32:
    return reflection.AddInt32(&message, field, int32_t(random.oddInteger()));
  case Field::CPPTYPE_INT64:
    return reflection.AddInt64(&message, field, random.oddInteger());
  case Field::CPPTYPE_UINT64:
    return reflection.AddUInt64(&message, field, random.oddInteger());
  case Field::CPPTYPE_FLOAT:
    return reflection.AddFloat(&message, field, float(oddFloat()));
  case Field::CPPTYPE_DOUBLE:
    return reflection.AddDouble(&message, field, oddFloat());
  case Field::CPPTYPE_STRING:
    return reflection.AddString(&message, field, oddString(random));
  case Field::CPPTYPE_MESSAGE: {
    int size = reflection.FieldSize(message, field);
    pb::Message *added = reflection.AddMessage(&message, field);
    if (size)
      added->CopyFrom(reflection.GetRepeatedMessage(message, field,
                                                    int(random.below(size))));
    return;
  }
  default:
    return;
  }
}

void FieldEditor::editRepeated() {
  int size = reflection.FieldSize(message, field);
  if (!size || random.oneIn(4))
    return add();
  int index = int(random.below(size)), other = int(random.below(size));
  switch (random.below(4)) {
  case 0:
    reflection.SwapElements(&message, field, index, size - 1);
    return reflection.RemoveLast(&message, field);
  case 1:
    return reflection.SwapElements(&message, field, index, other);
  default:
    return setItem(index);
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// All messages in `root`, itself included.
static void collect(pb::Message &root, std::vector<pb::Message *> &into) {
  std::vector<pb::Message *> worklist = {&root};
  while (!worklist.empty()) {
    pb::Message *message = worklist.back();
    worklist.pop_back();
    into.push_back(message);
    const pb::Reflection &reflection = *message->GetReflection();
    std::vector<const pb::FieldDescriptor *> fields;
    reflection.ListFields(*message, &fields);
    for (const pb::FieldDescriptor *field : fields) {
      if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
        continue;
      if (!field->is_repeated()) {
        worklist.push_back(reflection.MutableMessage(message, field));
        continue;
      }
      for (int i = 0, e = reflection.FieldSize(*message, field); i < e; ++i)
        worklist.push_back(
            reflection.MutableRepeatedMessage(message, field, i));
    }
  }
}

/// Numbers nobody uses, and one that import uses for itself.
static void addUnknown(pb::Message &message, Random &random) {
  static constexpr int numbers[] = {99, 1000, 0x1a2b3c4, 536870911};
  pb::UnknownFieldSet *unknown =
      message.GetReflection()->MutableUnknownFields(&message);
  int number = random.pick(numbers);
  if (random.oneIn(2))
    unknown->AddVarint(number, random.oddInteger());
  else
    unknown->AddLengthDelimited(number, oddString(random));
}

void mutateMessage(pb::Message &root, Random &random) {
  std::vector<pb::Message *> messages;
  collect(root, messages);
  pb::Message &message = *random.pick(messages);
  if (random.oneIn(20))
    return addUnknown(message, random);
  std::vector<const pb::FieldDescriptor *> present;
  message.GetReflection()->ListFields(message, &present);
  const pb::Descriptor *kind = message.GetDescriptor();
  const pb::FieldDescriptor *field =
      present.empty() || random.oneIn(4)
          ? kind->field(int(random.below(kind->field_count())))
          : random.pick(present);
  FieldEditor(message, field, random).edit();
}

} // namespace mp::fuzz
