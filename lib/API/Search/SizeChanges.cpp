//===- SizeChanges.cpp - Sizes and contents of a model's tensors ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeChanges.h"

#include "mp-opt/API/Search/GraphChanges.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Target/ONNX/ConstantData.h"
#include "mp-opt/Target/ONNX/NodeTypes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <cstring>
#include <set>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

static DictionaryAttr getField(Attribute of, StringRef name) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(of);
  return fields ? fields.getAs<DictionaryAttr>(name) : DictionaryAttr();
}

/// A description without its shape.
static Attribute withoutSizes(Attribute described) {
  DictionaryAttr type = getField(described, "type");
  DictionaryAttr tensor = getField(type, "tensor_type");
  if (!tensor || !tensor.get("shape"))
    return described;
  MLIRContext *context = described.getContext();
  NamedAttrList inner(tensor);
  inner.erase("shape");
  NamedAttrList outer(type);
  outer.set("tensor_type", inner.getDictionary(context));
  NamedAttrList whole(cast<DictionaryAttr>(described));
  whole.set("type", outer.getDictionary(context));
  return whole.getDictionary(context);
}

void forgetTypes(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (isNode(op))
      for (OpResult result : op->getResults())
        result.setType(withoutShape(result.getType()));
    auto yield = dyn_cast<YieldOp>(op);
    auto outputs =
        yield ? yield->getAttrOfType<ArrayAttr>(attr::outputs) : ArrayAttr();
    if (!outputs)
      return;
    SmallVector<Attribute> entries = llvm::map_to_vector(outputs, withoutSizes);
    yield->setAttr(attr::outputs, ArrayAttr::get(op->getContext(), entries));
    yield->removeAttr(attr::valueInfo);
  });
}

void inferTypes(ModuleOp module) {
  NodeTypes types;
  for (Operation &op : getMainGraph(module).getBody().getOps())
    if (isNode(&op))
      types.inferNested(&op);
}

void describeOutputs(ModuleOp module) {
  GraphEditor editor(getMainGraph(module));
  SmallVector<Value> values(editor.getYield().getOperands());
  if (llvm::any_of(values, [](Value value) {
        return !isa<RankedTensorType>(value.getType());
      }))
    return;
  editor.eraseOutputs([](unsigned) { return true; });
  editor.addOutputs(values);
}

/// The names of an input's sizes, empty for no name.
static SmallVector<StringRef> getSizeNames(GraphEditor &editor,
                                           BlockArgument input) {
  SmallVector<StringRef> names;
  auto described = editor.getYield()->getAttrOfType<ArrayAttr>(attr::inputs);
  if (!described || input.getArgNumber() >= described.size())
    return names;
  DictionaryAttr tensor = getField(
      getField(described[input.getArgNumber()], "type"), "tensor_type");
  DictionaryAttr shape = getField(tensor, "shape");
  if (auto dims = shape ? shape.getAs<ArrayAttr>("dim") : ArrayAttr())
    for (Attribute dim : dims) {
      auto fields = dyn_cast<DictionaryAttr>(dim);
      auto name = fields ? fields.getAs<StringAttr>("dim_param") : StringAttr();
      names.push_back(name ? name.getValue() : StringRef());
    }
  return names;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Elements of a constant of at most this size may be a list of sizes.
static constexpr int64_t maxSizeList = 16;
/// Initializers of more elements are not rounded.
static constexpr int64_t maxRounded = 1 << 20;

/// The elements of a constant with a plain form; absent without one.
static std::optional<Tensor> getData(TypedAttr value) {
  if (!value)
    return std::nullopt;
  MLIRContext *context = value.getContext();
  FailureOr<Tensor> data = getConstantData(
      value, [&] { return emitError(UnknownLoc::get(context)); });
  return succeeded(data) ? std::optional(*data) : std::nullopt;
}

/// A constant of the first elements along each axis.
static TypedAttr takeFirst(TypedAttr value, ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<Tensor> data = getData(value);
  unsigned bytes = data ? getElementBytes(data->getKind()) : 0;
  if (!bytes)
    return {};
  auto smaller = RankedTensorType::get(sizes, type.getElementType());
  std::vector<char> taken(smaller.getNumElements() * bytes);
  const char *from = static_cast<const char *>(data->getData());
  SmallVector<int64_t> index(sizes.size(), 0);
  for (int64_t at = 0; at < smaller.getNumElements(); ++at) {
    int64_t place = 0;
    for (auto [position, size] : llvm::zip(index, type.getShape()))
      place = place * size + position;
    std::memcpy(&taken[at * bytes], from + place * bytes, bytes);
    for (int axis = int(sizes.size()) - 1;
         axis >= 0 && ++index[axis] == sizes[axis]; --axis)
      index[axis] = 0;
  }
  // Booleans have one bit an element there.
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> bits(taken.begin(), taken.end());
    return DenseElementsAttr::get(smaller, bits);
  }
  return DenseElementsAttr::getFromRawBuffer(smaller, taken);
}

/// A list of sizes in which `from` has become `to`; null if it is not one.
static TypedAttr replaceSize(TypedAttr value,
                             const llvm::DenseSet<int64_t> &from, int64_t to) {
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(value);
  if (!elements || elements.getType().getRank() > 1 ||
      elements.getNumElements() > maxSizeList ||
      !elements.getElementType().isInteger(64))
    return {};
  SmallVector<int64_t> numbers(elements.getValues<int64_t>());
  bool any = false;
  for (int64_t &number : numbers)
    if (from.contains(number) && number > to) {
      number = to;
      any = true;
    }
  return any ? DenseIntElementsAttr::get(elements.getType(),
                                         ArrayRef<int64_t>(numbers))
             : TypedAttr();
}

static bool isPlain(InitializerOp initializer) {
  return initializer.getValueAttr() && !initializer.getSparse() &&
         isa<RankedTensorType>(initializer.getResult().getType());
}

static void forEachInitializer(ModuleOp module,
                               llvm::function_ref<void(InitializerOp)> visit) {
  for (auto initializer :
       getMainGraph(module).getBody().getOps<InitializerOp>())
    if (isPlain(initializer))
      visit(initializer);
}

/// Rounds to two significant digits, as a reader would write a number.
static double roundDigits(double number) {
  if (number == 0 || !std::isfinite(number))
    return number;
  double scale = std::pow(10.0, 1 - std::floor(std::log10(std::fabs(number))));
  return std::isfinite(scale) ? std::round(number * scale) / scale : number;
}

static bool isSame(TypedAttr value, TypedAttr other) {
  if (value == other)
    return true;
  if (isa<DenseElementsAttr>(value) && isa<DenseElementsAttr>(other))
    return false;
  std::optional<Tensor> a = getData(value), b = getData(other);
  return a && b && a->getNumBytes() == b->getNumBytes() &&
         !std::memcmp(a->getData(), b->getData(), b->getNumBytes());
}

/// The filled constant; null if it would be the same, or is simpler already:
/// zeros stay zeros.
static TypedAttr fill(TypedAttr value, Filling filling) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto element =
      type ? dyn_cast<FloatType>(type.getElementType()) : FloatType();
  if (!element || !type.hasStaticShape() || !type.getNumElements())
    return {};
  auto convert = [&](double number) {
    APFloat converted(number);
    bool isInexact;
    converted.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &isInexact);
    return converted;
  };
  TypedAttr zeros = DenseElementsAttr::get(type, convert(0));
  if (isSame(value, zeros))
    return {};
  if (filling == Filling::Zeros)
    return zeros;
  TypedAttr filled = DenseElementsAttr::get(type, convert(1));
  if (filling == Filling::Rounded) {
    std::optional<Tensor> data =
        type.getNumElements() <= maxRounded ? getData(value) : std::nullopt;
    if (!data)
      return {};
    filled =
        DenseElementsAttr::get(type, ArrayRef<APFloat>(llvm::map_to_vector(
                                         data->toDoubles(), [&](double number) {
                                           return convert(roundDigits(number));
                                         })));
  }
  return isSame(value, filled) ? TypedAttr() : filled;
}

Changes listFillings(ModuleOp module, Filling filling) {
  Changes names;
  forEachInitializer(module, [&](InitializerOp initializer) {
    if (fill(initializer.getValueAttr(), filling))
      names.push_back(initializer.getName().str());
  });
  return names;
}

bool fillInitializers(ModuleOp module, ChangeRange names, Filling filling) {
  llvm::StringSet<> wanted;
  for (const std::string &name : names)
    wanted.insert(name);
  forEachInitializer(module, [&](InitializerOp initializer) {
    if (!wanted.contains(initializer.getName()))
      return;
    if (TypedAttr filled = fill(initializer.getValueAttr(), filling))
      initializer.setValueAttr(filled);
  });
  // Sizes may depend on the elements, as those of Resize on its scales.
  forgetTypes(module);
  return true;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Changes listSizes(ModuleOp module) {
  GraphEditor editor(getMainGraph(module));
  llvm::SetVector<StringRef> named;
  std::set<int64_t, std::greater<int64_t>> sizes;
  Changes axes;
  auto add = [&](Type type) {
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      for (int64_t size : ranked.getShape())
        if (!ShapedType::isDynamic(size) && size > 1)
          sizes.insert(size);
  };
  for (BlockArgument input : editor.getBlock().getArguments()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type)
      continue;
    SmallVector<StringRef> names = getSizeNames(editor, input);
    for (auto [axis, size] : llvm::enumerate(type.getShape())) {
      if (ShapedType::isDynamic(size) && axis < names.size() &&
          !names[axis].empty())
        named.insert(names[axis]);
      else if (size != 1)
        axes.push_back(
            ("input:" + getValueName(input) + ":" + Twine(axis)).str());
    }
    add(type);
  }
  forEachInitializer(module, [&](InitializerOp initializer) {
    add(initializer.getResult().getType());
  });
  Changes all;
  for (StringRef name : named)
    all.push_back(("name:" + name).str());
  for (int64_t size : sizes)
    all.push_back("size:" + std::to_string(size));
  llvm::append_range(all, axes);
  return all;
}

namespace {
/// The sizes of a request.
struct WantedSizes {
  explicit WantedSizes(ChangeRange changes) {
    for (StringRef change : changes) {
      auto [kind, rest] = change.split(':');
      int64_t size;
      if (kind == "name")
        names.insert(rest);
      else if (kind == "size" && !rest.getAsInteger(10, size))
        sizes.insert(size);
      else if (kind == "input")
        axes.insert(rest);
    }
  }

  llvm::StringSet<> names, axes;
  llvm::DenseSet<int64_t> sizes;
};
} // namespace

/// The sizes with those replaced that are wanted; false if none is.
static bool replaceSizes(SmallVectorImpl<int64_t> &sizes,
                         const llvm::DenseSet<int64_t> &from, int64_t to) {
  bool any = false;
  for (int64_t &size : sizes)
    if (from.contains(size) && size > to) {
      size = to;
      any = true;
    }
  return any;
}

static void setInputSizes(GraphEditor &editor, BlockArgument input,
                          const WantedSizes &wanted, int64_t to) {
  auto type = dyn_cast<RankedTensorType>(input.getType());
  if (!type || editor.getDefault(input))
    return;
  SmallVector<StringRef> names = getSizeNames(editor, input);
  SmallVector<int64_t> sizes(type.getShape());
  bool any = replaceSizes(sizes, wanted.sizes, to);
  for (auto [axis, size] : llvm::enumerate(sizes)) {
    bool isNamed = axis < names.size() && wanted.names.contains(names[axis]);
    std::string place = (getValueName(input) + ":" + Twine(axis)).str();
    if ((isNamed && ShapedType::isDynamic(size)) ||
        (wanted.axes.contains(place) &&
         (ShapedType::isDynamic(size) || size > to))) {
      size = to;
      any = true;
    }
  }
  if (any)
    editor.setInputType(input, type.clone(sizes), names);
}

bool setSizes(ModuleOp module, ChangeRange changes, int64_t to) {
  GraphOp graph = getMainGraph(module);
  GraphEditor editor(graph);
  WantedSizes wanted(changes);
  for (BlockArgument input : editor.getBlock().getArguments())
    setInputSizes(editor, input, wanted, to);
  bool isGood = true;
  forEachInitializer(module, [&](InitializerOp initializer) {
    auto type = cast<RankedTensorType>(initializer.getResult().getType());
    SmallVector<int64_t> sizes(type.getShape());
    if (initializer.getOverridable())
      return;
    if (TypedAttr list =
            replaceSize(initializer.getValueAttr(), wanted.sizes, to)) {
      initializer.setValueAttr(list);
    } else if (replaceSizes(sizes, wanted.sizes, to)) {
      TypedAttr smaller = takeFirst(initializer.getValueAttr(), sizes);
      isGood &= bool(smaller);
      if (!smaller)
        return;
      initializer.setValueAttr(smaller);
      initializer.getResult().setType(smaller.getType());
    }
  });
  graph.walk([&](Operation *op) {
    if (!isStandardOp(op, "Constant"))
      return;
    if (TypedAttr list = replaceSize(op->getAttrOfType<TypedAttr>("value"),
                                     wanted.sizes, to))
      op->setAttr("value", list);
  });
  forgetTypes(module);
  return isGood;
}

} // namespace mp
