//===- ValueSizes.cpp - Estimates of value sizes --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/ValueSizes.h"

#include "mp-opt/Folding/ShapeFolds.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static constexpr int64_t maxElements = int64_t(1) << 40;

llvm::Error parseDimensions(ArrayRef<std::string> texts,
                            DimensionSizes &sizes) {
  SmallVector<StringRef> entries;
  for (StringRef text : texts)
    text.split(entries, ',');
  for (StringRef entry : entries) {
    auto [name, text] = entry.rsplit('=');
    int64_t size = 0;
    if (name.empty() || text.getAsInteger(10, size) || size < 1 ||
        size > maxElements)
      return llvm::createStringError("dimension '" + entry +
                                     "': expected NAME=SIZE with a size of at "
                                     "least 1");
    auto [it, isNew] = sizes.try_emplace(name, size);
    if (!isNew && it->second != size)
      return llvm::createStringError("dimension '" + name +
                                     "' is given as both " + Twine(it->second) +
                                     " and " + Twine(size));
  }
  return llvm::Error::success();
}

/// The product of `dims`, limited to the range; dynamic ones count as the
/// default.
static int64_t multiply(ArrayRef<int64_t> dims) {
  int64_t elements = 1;
  for (int64_t dim : dims) {
    if (ShapedType::isDynamic(dim))
      dim = defaultDimension;
    if (dim <= 0)
      return 1;
    elements = dim > maxElements / elements ? maxElements : elements * dim;
  }
  return elements;
}

static TensorType getTensorType(Type type) {
  while (true) {
    if (auto sequence = dyn_cast<SequenceType>(type))
      type = sequence.getElementType();
    else if (auto optional = dyn_cast<OptionalType>(type))
      type = optional.getElementType();
    else
      return dyn_cast<TensorType>(type);
  }
}

//===----------------------------------------------------------------------===//
// Names of dimensions
//===----------------------------------------------------------------------===//

/// The dimensions of a ValueInfoProto, as attributes; null if it has none.
static ArrayAttr getDims(DictionaryAttr info) {
  for (StringRef field : {"type", "tensor_type", "shape"})
    if (info)
      info = info.getAs<DictionaryAttr>(field);
  return info ? info.getAs<ArrayAttr>("dim") : ArrayAttr();
}

static StringRef getSymbol(Attribute dim) {
  auto fields = dyn_cast<DictionaryAttr>(dim);
  auto symbol = fields ? fields.getAs<StringAttr>("dim_param") : StringAttr();
  return symbol ? symbol.getValue() : "";
}

/// All names in the module, once each, in order.
static SmallVector<StringRef, 0> getDimensionNames(ModuleOp module) {
  llvm::SetVector<StringRef> names;
  module.walk([&](YieldOp yield) {
    for (StringRef list : {attr::inputs, attr::outputs, attr::valueInfo}) {
      auto infos = yield->getAttrOfType<ArrayAttr>(list);
      for (Attribute entry : infos ? infos.getValue() : ArrayRef<Attribute>())
        if (auto info = dyn_cast<DictionaryAttr>(entry))
          if (ArrayAttr dims = getDims(info))
            for (Attribute dim : dims)
              names.insert(getSymbol(dim));
    }
  });
  names.remove("");
  return names.takeVector();
}

llvm::Error checkDimensionNames(ModuleOp module, const DimensionSizes &sizes) {
  if (sizes.empty())
    return llvm::Error::success();
  SmallVector<StringRef, 0> names = getDimensionNames(module);
  constexpr size_t maxShown = 8;
  auto wanted = llvm::to_vector(sizes.keys());
  llvm::sort(wanted);
  for (StringRef name : wanted) {
    if (llvm::is_contained(names, name))
      continue;
    std::string hint = suggestNearest(name, names);
    if (names.empty())
      hint = ": none of its dimensions has a name";
    else if (hint.empty())
      hint = ": it has " +
             llvm::join(ArrayRef(names).take_front(maxShown), ", ") +
             (names.size() > maxShown ? ", ..." : "");
    return llvm::createStringError("the model has no dimension '" + name + "'" +
                                   hint);
  }
  return llvm::Error::success();
}

void ValueSizes::addNames(Operation *yield) {
  if (named.empty() || !yield)
    return;
  for (StringRef list : {attr::inputs, attr::outputs, attr::valueInfo}) {
    auto infos = yield->getAttrOfType<ArrayAttr>(list);
    for (Attribute entry : infos ? infos.getValue() : ArrayRef<Attribute>()) {
      auto info = dyn_cast<DictionaryAttr>(entry);
      auto name = info ? info.getAs<StringAttr>("name") : StringAttr();
      ArrayAttr dims = name ? getDims(info) : ArrayAttr();
      if (!dims)
        continue;
      SmallVector<int64_t, 4> known;
      for (Attribute dim : dims)
        known.push_back(named.lookup(getSymbol(dim)));
      dimsByName[name.getValue()] = std::move(known);
    }
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const ValueSizes::Size *ValueSizes::lookup(Value value) const {
  auto it = indices.find(value);
  return it == indices.end() ? nullptr : &sizes[it->second];
}

void ValueSizes::set(Value value, Size size) {
  if (sizes.empty() || !(sizes.back() == size))
    sizes.push_back(std::move(size));
  indices[value] = sizes.size() - 1;
}

std::optional<int64_t> ValueSizes::getDim(Value operand, int64_t rank,
                                          unsigned index) const {
  if (const Size *size = lookup(operand))
    return int64_t(size->dims.size()) == rank ? std::optional(size->dims[index])
                                              : std::nullopt;
  auto type =
      dyn_cast_or_null<RankedTensorType>(getTensorType(operand.getType()));
  if (!type || type.getRank() != rank || type.hasStaticShape())
    return std::nullopt;
  return type.isDynamicDim(index) ? defaultDimension : type.getDimSize(index);
}

unsigned ValueSizes::addDims(Value value, Operation *source,
                             const KnownTensors *known, Size &size) const {
  auto byName = named.empty() ? dimsByName.end()
                              : dimsByName.find(onnxir::getValueName(value));
  EstimatedShape estimate;
  if (source && known && isNode(source))
    estimate = estimateShape(
        {source, cast<OpResult>(value).getResultNumber(),
         [this](Value operand) { return getShape(operand); }, *known});
  if (estimate && estimate->size() != size.dims.size())
    estimate.reset();
  unsigned guesses = 0;
  for (auto [index, dim] : llvm::enumerate(size.dims)) {
    if (!ShapedType::isDynamic(dim))
      continue;
    dim = defaultDimension;
    if (byName != dimsByName.end() && index < byName->second.size() &&
        byName->second[index]) {
      dim = byName->second[index];
      continue;
    }
    if (estimate) {
      dim = std::max<int64_t>(1, (*estimate)[index]);
      continue;
    }
    std::optional<int64_t> other;
    for (Value operand : source ? source->getOperands() : ValueRange())
      if ((other = getDim(operand, size.dims.size(), index)))
        break;
    guesses += !other;
    dim = other.value_or(dim);
  }
  return guesses;
}

/// The assumed elements of an unknown result: as many as the largest operand
/// has.
static int64_t guessElements(Operation *source, const ValueSizes &sizes) {
  int64_t elements = 1;
  for (Value operand : source->getOperands())
    elements = std::max(elements, sizes.getElements(operand));
  return elements;
}

/// True if a node's result has as many elements as operand 0, whose rank is
/// known: without a rank, the number is only a default.
static bool keepsCount(Operation *source) {
  if (!source || !source->getNumOperands() ||
      !getOperatorTraits(source).has(SameCount))
    return false;
  TensorType type = getTensorType(source->getOperand(0).getType());
  return !type || type.hasRank();
}

void ValueSizes::addValue(Value value, Operation *source,
                          const KnownTensors *known) {
  TensorType type = getTensorType(value.getType());
  if (!type || type.hasStaticShape())
    return;
  Size size;
  if (keepsCount(source))
    size.elements = getElements(source->getOperand(0));
  else
    size.elements = type.hasRank() ? 0 : defaultElements;
  if (!type.hasRank())
    return set(value, std::move(size));
  size.dims.assign(type.getShape().begin(), type.getShape().end());
  unsigned guesses = addDims(value, source, known, size);
  // The default suits one or two sizes: a higher power of it is not realistic.
  constexpr unsigned maxGuesses = 2;
  size.isGuess = source && source->getNumOperands() && guesses > maxGuesses;
  if (!size.elements)
    size.elements =
        size.isGuess ? guessElements(source, *this) : multiply(size.dims);
  // Most values have the size of their type, and need no entry.
  bool isUsual = !size.isGuess && size.elements == multiply(type.getShape());
  for (auto [dim, written] : llvm::zip(size.dims, type.getShape()))
    isUsual &=
        dim == (ShapedType::isDynamic(written) ? defaultDimension : written);
  if (!isUsual)
    set(value, std::move(size));
}

/// The value that a branch or a body yields is the best estimate of a result.
void ValueSizes::addRegionResult(OpResult result) {
  Operation *op = result.getOwner();
  Region &region = op->getRegion(0);
  Operation *yield = region.empty() ? nullptr : getYield(region);
  unsigned first = isStandardOp(op, "Loop") ? 1 : 0;
  unsigned index = result.getResultNumber() + first;
  TensorType type = getTensorType(result.getType());
  if (!type || type.hasStaticShape() || !yield ||
      index >= yield->getNumOperands())
    return addValue(result, nullptr, nullptr);
  Value yielded = yield->getOperand(index);
  TensorType inner = getTensorType(yielded.getType());
  // Scan outputs have an additional dimension.
  bool isStacked = inner && inner.hasRank() && type.hasRank() &&
                   type.getRank() == inner.getRank() + 1;
  Size size;
  size.elements = std::min(maxElements, getElements(yielded) *
                                            (isStacked ? defaultDimension : 1));
  set(result, std::move(size));
}

/// Tracks the sizes of an operand as the model computes with them, including
/// estimates.
void ValueSizes::addShape(Operation *op, KnownTensors &known) const {
  bool isShape = isStandardOp(op, "Shape");
  if (!isShape && !isStandardOp(op, "Size"))
    return known.visit(op);
  std::optional<SmallVector<int64_t>> dims = getShape(op->getOperand(0));
  if (!dims)
    return;
  auto rank = int64_t(dims->size());
  auto place = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  NodeView node(op);
  int64_t start = place(node.getInt("start")),
          end = place(node.getInt("end", rank));
  KnownTensor tensor;
  if (isShape)
    tensor.shape = {std::max<int64_t>(end - start, 0)};
  else
    tensor.elements = {getElements(op->getOperand(0))};
  for (int64_t axis = start; isShape && axis < end; ++axis)
    tensor.elements.push_back((*dims)[axis]);
  known.set(op->getResult(0), std::move(tensor));
}

void ValueSizes::add(Operation *scope) {
  KnownTensors known;
  scope->walk([&](Operation *op, const WalkStage &stage) {
    if (stage.isBeforeAllRegions())
      for (Region &region : op->getRegions()) {
        if (region.empty())
          continue;
        addNames(getYield(region));
        for (BlockArgument argument : region.getArguments())
          addValue(argument, nullptr, nullptr);
      }
    if (!stage.isAfterAllRegions())
      return;
    for (OpResult result : op->getResults())
      if (op->getNumRegions())
        addRegionResult(result);
      else
        addValue(result, op, &known);
    addShape(op, known);
  });
}

int64_t ValueSizes::getElements(Value value) const {
  TensorType type = getTensorType(value.getType());
  if (!type)
    return 1;
  if (type.hasStaticShape())
    return std::max<int64_t>(1, multiply(type.getShape()));
  if (const Size *size = lookup(value))
    return std::max<int64_t>(1, size->elements);
  return type.hasRank() ? multiply(type.getShape()) : defaultElements;
}

static SmallVector<int64_t> dropDynamic(ArrayRef<int64_t> dims) {
  return llvm::to_vector(llvm::make_filter_range(
      dims, [](int64_t dim) { return !ShapedType::isDynamic(dim); }));
}

std::optional<SmallVector<int64_t>> ValueSizes::getShape(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return std::nullopt;
  auto dims = llvm::to_vector(type.getShape());
  const Size *size = type.hasStaticShape() ? nullptr : lookup(value);
  if (size && size->isGuess)
    return std::nullopt;
  if (size && size->dims.size() == dims.size())
    dims.assign(size->dims.begin(), size->dims.end());
  // The single unknown size of a reshaped value follows from the others.
  if (size && type.getNumDynamicDims() == 1) {
    int64_t rest = multiply(dropDynamic(type.getShape()));
    int64_t *unknown = llvm::find_if(dims, [&](int64_t &dim) {
      return type.isDynamicDim(&dim - dims.data());
    });
    *unknown = std::max<int64_t>(1, size->elements / rest);
  }
  for (int64_t &dim : dims)
    dim = ShapedType::isDynamic(dim) ? defaultDimension
                                     : std::max<int64_t>(1, dim);
  return dims;
}

} // namespace mp
