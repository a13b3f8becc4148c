//===- GraphEdits.cpp - Edits of whole graphs and models ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelMutator.h"
#include "ProtoMutator.h"

namespace mp::fuzz {

/// Grafting a copy of everything into itself must not double it for ever.
static constexpr size_t maxGraft = 4096;

void ModelMutator::editGraphInterface() {
  Graph &graph = *random.pick(graphs);
  auto &list =
      random.oneIn(2) ? *graph.mutable_input() : *graph.mutable_output();
  if (list.empty() || random.oneIn(3)) {
    auto &info = *list.Add();
    info.set_name(someName());
    if (!types.empty() && random.oneIn(2))
      *info.mutable_type() = *random.pick(types);
    return;
  }
  int index = int(random.below(list.size()));
  switch (random.below(3)) {
  case 0:
    return list.DeleteSubrange(index, 1);
  case 1:
    return list.SwapElements(index, int(random.below(list.size())));
  default:
    list.Mutable(index)->set_name(someName());
    return;
  }
}

void ModelMutator::graftSubgraph() {
  static const char *const roles[] = {"then_branch", "else_branch", "body",
                                      "graph", "value"};
  Graph copy = *random.pick(graphs);
  if (nodes.empty() || copy.ByteSizeLong() > maxGraft)
    return;
  Attribute &attribute = *random.pick(nodes)->add_attribute();
  attribute.set_name(random.pick(roles));
  attribute.set_type(random.oneIn(5) ? Attribute::GRAPHS : Attribute::GRAPH);
  if (attribute.type() == Attribute::GRAPHS)
    attribute.add_graphs()->Swap(&copy);
  else
    attribute.mutable_g()->Swap(&copy);
}

/// An If in an If in an If.
void ModelMutator::nestDeeply() {
  if (!random.oneIn(4))
    return;
  Graph graph;
  graph.set_name("innermost");
  graph.add_output()->set_name(someName());
  for (uint64_t depth = random.below(70); depth; --depth) {
    Graph outer;
    outer.set_name("level");
    Node &node = *outer.add_node();
    node.set_op_type(random.oneIn(8) ? "Loop" : "If");
    node.add_input(someName());
    node.add_output("nested");
    outer.add_output()->set_name("nested");
    for (const char *role : {"then_branch", "else_branch"}) {
      Attribute &attribute = *node.add_attribute();
      attribute.set_name(role);
      attribute.set_type(Attribute::GRAPH);
      if (role[0] == 't')
        attribute.mutable_g()->Swap(&graph);
      else
        attribute.mutable_g()->add_output()->set_name(someName());
    }
    graph.Swap(&outer);
  }
  random.pick(graphs)->mutable_node()->MergeFrom(graph.node());
}

void ModelMutator::editOpsets() {
  auto &list =
      !model.functions().empty() && random.oneIn(3)
          ? *random.pick(*model.mutable_functions()).mutable_opset_import()
          : *model.mutable_opset_import();
  if (list.empty() || random.oneIn(4)) {
    auto &import = *list.Add();
    import.set_domain(oddString(random));
    import.set_version(random.oddInteger());
    return;
  }
  if (random.oneIn(6))
    return list.DeleteSubrange(int(random.below(list.size())), 1);
  random.pick(list).set_version(
      random.oneIn(4) ? random.oddInteger() : int64_t(1 + random.below(27)));
}

/// Calls of each other, of themselves, and more of them at every level.
void ModelMutator::editFunctions() {
  if (model.functions().empty() || random.oneIn(3)) {
    // Every level doubles the work if each calls the next twice.
    uint64_t calls = 1 + random.below(2);
    uint64_t count = 1 + random.below(calls == 1 || random.oneIn(400) ? 40 : 6);
    bool recursive = random.oneIn(3);
    for (uint64_t index = 0; index < count; ++index) {
      auto &function = *model.add_functions();
      function.set_domain("local");
      function.set_name("f" + std::to_string(index));
      function.add_input("x");
      function.add_output("y" + std::to_string(calls - 1));
      auto &import = *function.add_opset_import();
      import.set_domain("");
      import.set_version(17);
      bool isLast = index + 1 == count;
      for (uint64_t call = 0; call < calls; ++call) {
        Node &node = *function.add_node();
        node.set_op_type(isLast && !recursive
                             ? "Relu"
                             : "f" + std::to_string((index + 1) % count));
        if (!isLast || recursive)
          node.set_domain("local");
        node.add_input(call ? "y" + std::to_string(call - 1) : "x");
        node.add_output("y" + std::to_string(call));
      }
    }
    auto &import = *model.add_opset_import();
    import.set_domain("local");
    import.set_version(1);
  }
  if (nodes.empty())
    return;
  const auto &called = random.pick(model.functions());
  Node &node = *random.pick(nodes);
  node.set_op_type(called.name());
  node.set_domain(called.domain());
}

void ModelMutator::makeExternal() {
  static const char *const places[] = {"weights.bin",
                                       "../weights.bin",
                                       "a/../../x",
                                       "/etc/hostname",
                                       "",
                                       "none.bin",
                                       ".",
                                       "./weights.bin"};
  if (tensors.empty())
    return;
  ::onnx::TensorProto &tensor = *random.pick(tensors);
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  tensor.clear_external_data();
  auto add = [&](const std::string &key, const std::string &value) {
    auto &entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", random.oneIn(3) ? random.pick(places) : "weights.bin");
  if (random.oneIn(2))
    add("offset", std::to_string(random.oneIn(2) ? random.below(4200)
                                                 : random.oddInteger()));
  if (random.oneIn(2))
    add("length", std::to_string(random.oneIn(2) ? random.below(4200)
                                                 : random.oddInteger()));
  if (random.oneIn(8))
    add(oddString(random), oddString(random));
}

void ModelMutator::cross(const ::onnx::ModelProto &other) {
  collect();
  if (graphs.empty() || !other.has_graph())
    return mutate();
  Graph &graph = *random.pick(graphs);
  if (random.oneIn(2))
    graph.mutable_initializer()->MergeFrom(other.graph().initializer());
  int begin = int(random.below(other.graph().node_size()));
  int end = begin + 1 + int(random.below(8));
  for (int index = begin; index < std::min(end, other.graph().node_size());
       ++index)
    graph.add_node()->CopyFrom(other.graph().node(index));
  if (random.oneIn(3))
    model.mutable_functions()->MergeFrom(other.functions());
  if (random.oneIn(3))
    model.mutable_training_info()->MergeFrom(other.training_info());
  if (random.oneIn(3))
    model.mutable_opset_import()->MergeFrom(other.opset_import());
  if (random.oneIn(2))
    mutate();
}

} // namespace mp::fuzz
