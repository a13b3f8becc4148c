//===- Attributes.cpp - Attributes of precision passes --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/MP/Attributes.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "mp-opt/Dialect/MP/MPEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mp-opt/Dialect/MP/MPAttributes.cpp.inc"

namespace mp {

void MPDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mp-opt/Dialect/MP/MPAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// ` = "text"`, after a key.
static ParseResult parseText(AsmParser &parser, StringAttr &text) {
  std::string value;
  if (parser.parseEqual() || parser.parseString(&value))
    return failure();
  text = StringAttr::get(parser.getContext(), value);
  return success();
}

static void printText(AsmPrinter &printer, StringRef key, StringAttr text) {
  if (text) {
    printer << ", " << key << " = ";
    printer.printString(text.getValue());
  }
}

Attribute ClassAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&word))
    return {};
  std::optional<OpClass> opClass = symbolizeOpClass(word);
  if (!opClass) {
    parser.emitError(place) << "unknown class '" << word
                            << "', expected allow, deny, promote or follow";
    return {};
  }
  StringAttr reason, requestedBy, deniedBy;
  bool isBuiltin = false, isOverride = false;
  while (succeeded(parser.parseOptionalComma())) {
    place = parser.getCurrentLocation();
    ParseResult parsed = parser.parseKeyword(&word);
    if (succeeded(parsed)) {
      if (word == "reason")
        parsed = parseText(parser, reason);
      else if (word == "requested_by")
        parsed = parseText(parser, requestedBy);
      else if (word == "denied_by")
        parsed = parseText(parser, deniedBy);
      else if (word == "builtin")
        isBuiltin = true;
      else if (word == "override")
        isOverride = true;
      else
        parsed = parser.emitError(place) << "unknown key '" << word << "'";
    }
    if (failed(parsed))
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (!reason)
    reason = StringAttr::get(parser.getContext());
  return get(parser.getContext(), *opClass, reason, requestedBy, deniedBy,
             isBuiltin, isOverride);
}

void ClassAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyOpClass(getOpClass());
  printText(printer, "reason", getReason());
  printText(printer, "requested_by", getRequestedBy());
  printText(printer, "denied_by", getDeniedBy());
  printer << (getIsBuiltin() ? ", builtin" : "")
          << (getIsOverride() ? ", override" : "") << '>';
}

Attribute PrecisionAttr::parse(AsmParser &parser, Type) {
  Type type;
  SmallVector<Type> variables;
  StringAttr reason = StringAttr::get(parser.getContext());
  ArrayAttr values;
  if (parser.parseLess() || parser.parseType(type))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("variables"))) {
      if (parser.parseEqual() ||
          parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
            return parser.parseType(variables.emplace_back());
          }))
        return {};
    } else if (succeeded(parser.parseOptionalKeyword("values"))) {
      if (parser.parseEqual() || parser.parseAttribute(values))
        return {};
    } else if (parser.parseKeyword("reason") || parseText(parser, reason)) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PrecisionAttr>(parser.getContext(), type, variables,
                                          reason, values);
}

void PrecisionAttr::print(AsmPrinter &printer) const {
  printer << '<' << getType();
  if (!getVariables().empty()) {
    printer << ", variables = [";
    llvm::interleaveComma(getVariables(), printer);
    printer << ']';
  }
  printText(printer, "reason", getReason());
  if (getValues()) {
    printer << ", values = [";
    llvm::interleaveComma(getValues(), printer, [&](Attribute value) {
      printer.printAttributeWithoutType(value);
    });
    printer << ']';
  }
  printer << '>';
}

Attribute HazardAttr::parse(AsmParser &parser, Type) {
  std::string reason;
  if (parser.parseLess() || parser.parseString(&reason) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), StringAttr::get(parser.getContext(), reason));
}

void HazardAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getReason().getValue());
  printer << '>';
}

Attribute CompositeAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t number = 0;
  if (parser.parseLess() || parser.parseString(&name) || parser.parseComma() ||
      parser.parseInteger(number) || parser.parseGreater())
    return {};
  return get(parser.getContext(), StringAttr::get(parser.getContext(), name),
             number);
}

void CompositeAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getName().getValue());
  printer << ", " << getNumber() << '>';
}

Attribute PolicyAttr::parse(AsmParser &parser, Type) {
  Type lowType;
  DictionaryAttr options;
  if (parser.parseLess() || parser.parseType(lowType))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(options))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PolicyAttr>(parser.getContext(), lowType, options);
}

void PolicyAttr::print(AsmPrinter &printer) const {
  printer << '<' << getLowType();
  if (getOptions())
    printer << ", " << getOptions();
  printer << '>';
}

/// ` = word` of an enumeration, after `, key`.
template <typename Enum>
static ParseResult parseWord(AsmParser &parser, StringRef key,
                             StringRef expected, Enum &value,
                             std::optional<Enum> (*symbolize)(StringRef)) {
  StringRef word;
  if (parser.parseComma() || parser.parseKeyword(key) || parser.parseEqual())
    return failure();
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Enum> found = symbolize(word);
  if (!found)
    return parser.emitError(place)
           << "unknown " << key << " '" << word << "', expected " << expected;
  value = *found;
  return success();
}

Attribute TargetAttr::parse(AsmParser &parser, Type) {
  InstructionSet isa;
  Products products;
  if (parser.parseLess() || parser.parseKeyword("cpu") ||
      parseWord(parser, "isa", "avx2, avx512 or neon", isa,
                symbolizeInstructionSet) ||
      parseWord(parser, "products", "widen, dot or amx", products,
                symbolizeProducts))
    return {};
  bool isDirect = succeeded(parser.parseOptionalComma());
  if ((isDirect && parser.parseKeyword("direct")) || parser.parseGreater())
    return {};
  return parser.getChecked<TargetAttr>(parser.getContext(), isa, products,
                                       isDirect);
}

void TargetAttr::print(AsmPrinter &printer) const {
  printer << "<cpu, isa = " << stringifyInstructionSet(getIsa())
          << ", products = " << stringifyProducts(getProducts())
          << (getIsDirect() ? ", direct>" : ">");
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

template <typename T> static bool is(Attribute attribute) {
  return isa<T>(attribute);
}

/// True if it is a text and its position.
static bool isEntry(Attribute attribute) {
  auto pair = dyn_cast<ArrayAttr>(attribute);
  return pair && pair.size() == 2 &&
         llvm::all_of(pair, llvm::IsaPred<StringAttr>);
}

static bool isListOfEntries(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, isEntry);
}

/// Lists of operators by their classes.
static bool isOperatorLists(Attribute attribute) {
  auto lists = dyn_cast<DictionaryAttr>(attribute);
  return lists && llvm::all_of(lists, [](NamedAttribute list) {
           return symbolizeOpClass(list.getName().getValue()) &&
                  isListOfEntries(list.getValue());
         });
}

static bool isListOfRules(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, llvm::IsaPred<DictionaryAttr>);
}

LogicalResult PolicyAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type lowType, DictionaryAttr options) {
  if (!lowType.isF16() && !lowType.isBF16())
    return emitError() << "expected f16 or bf16, got " << lowType;
  struct Key {
    StringLiteral name;
    bool (*holds)(Attribute);
  };
  constexpr Key keys[] = {
      {"assign", isEntry},        {"defaults", isOperatorLists},
      {"dims", isListOfEntries},  {"io", isListOfEntries},
      {"min_saving", isEntry},    {"model_metadata", isEntry},
      {"node_metadata", isEntry}, {"operators", isOperatorLists},
      {"precision", isEntry},     {"raise_opset", is<BoolAttr>},
      {"rules", isListOfRules},   {"strict", is<BoolAttr>},
  };
  for (NamedAttribute option :
       options ? options.getValue() : ArrayRef<NamedAttribute>()) {
    const Key *key = llvm::find_if(
        keys, [&](const Key &key) { return key.name == option.getName(); });
    if (key == std::end(keys))
      return emitError() << "unknown option '" << option.getName().getValue()
                         << "' of a policy";
    if (!key->holds(option.getValue()))
      return emitError() << "option '" << key->name << "' of a policy is "
                         << option.getValue()
                         << ", expected what mp-set-policy writes";
  }
  return success();
}

LogicalResult
PrecisionAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type,
                      ArrayRef<Type>, StringAttr, ArrayAttr values) {
  for (Attribute value : values ? values.getValue() : ArrayRef<Attribute>())
    if (!isa<IntegerAttr, StringAttr>(value))
      return emitError() << "value " << value
                         << " of a reason, expected an integer or a string";
  return success();
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 InstructionSet isa, Products products, bool) {
  // The instructions for bf16 come with AVX-512.
  if (products != Products::Widen && isa != InstructionSet::AVX512)
    return emitError() << "products = " << stringifyProducts(products)
                       << " needs isa = avx512, found isa = "
                       << stringifyInstructionSet(isa);
  return success();
}

namespace {

/// The ops that an attribute may be on.
enum class Place : uint8_t { Module, Inside, Any };

struct Rule {
  StringLiteral name;
  Place place;
  bool (*holds)(Attribute);
  StringLiteral expected;
};

} // namespace

static bool isTypeArray(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, llvm::IsaPred<TypeAttr>);
}

static bool isF32(Attribute attribute) {
  auto number = dyn_cast<FloatAttr>(attribute);
  return number && number.getType().isF32();
}

static bool isRangeTable(Attribute attribute) {
  auto table = dyn_cast<DictionaryAttr>(attribute);
  return table && llvm::all_of(table, [](NamedAttribute entry) {
           return isa<DenseF64ArrayAttr>(entry.getValue());
         });
}

static constexpr Rule rules[] = {
    {mark::opClass, Place::Inside, is<ClassAttr>, "#mp.class"},
    {mark::precision, Place::Inside, is<PrecisionAttr>, "#mp.precision"},
    {mark::hazard, Place::Inside, is<HazardAttr>, "#mp.hazard"},
    {mark::cautious, Place::Inside, is<UnitAttr>, "unit"},
    {mark::harmless, Place::Inside, is<HazardAttr>, "#mp.hazard"},
    {mark::observed, Place::Inside, is<DenseF64ArrayAttr>, "array<f64>"},
    {mark::observedInputs, Place::Inside, isRangeTable,
     "a dictionary of array<f64>"},
    {mark::inputRanges, Place::Inside, isRangeTable,
     "a dictionary of array<f64>"},
    {mark::place, Place::Inside, is<IntegerAttr>, "an integer"},
    {mark::costly, Place::Inside, is<HazardAttr>, "#mp.hazard"},
    {mark::composite, Place::Inside, is<CompositeAttr>, "#mp.composite"},
    {mark::shapeArithmetic, Place::Inside, is<UnitAttr>, "unit"},
    {mark::added, Place::Inside, is<UnitAttr>, "unit"},
    {mark::adapter, Place::Any, is<UnitAttr>, "unit"},
    {mark::opsetObstacle, Place::Module, is<DictionaryAttr>, "a dictionary"},
    {mark::noKernel, Place::Inside, is<StringAttr>, "a string"},
    {mark::oneType, Place::Inside, is<UnitAttr>, "unit"},
    {mark::clamp, Place::Inside, isF32, "an f32"},
    {mark::range, Place::Inside, is<DenseF64ArrayAttr>, "array<f64>"},
    {mark::inserted, Place::Inside, is<UnitAttr>, "unit"},
    {mark::policy, Place::Module, is<PolicyAttr>, "#mp.policy"},
    {mark::inputTypes, Place::Module, isTypeArray, "types"},
    {mark::outputTypes, Place::Module, isTypeArray, "types"},
    {mark::wantedInputs, Place::Module, isTypeArray, "types"},
    {mark::wantedOutputs, Place::Module, isTypeArray, "types"},
    {mark::sensitiveInputs, Place::Inside, is<DictionaryAttr>, "a dictionary"},
    {mark::costBytes, Place::Module, is<IntegerAttr>, "an integer"},
    {mark::castsInserted, Place::Module, is<IntegerAttr>, "an integer"},
    {mark::castsRemoved, Place::Module, is<IntegerAttr>, "an integer"},
    {mark::elementsToZero, Place::Module, is<IntegerAttr>, "an integer"},
    {mark::masksClamped, Place::Module, is<IntegerAttr>, "an integer"},
    {mark::summary, Place::Module, is<DictionaryAttr>, "a dictionary"},
    {mark::specialized, Place::Inside, is<StringAttr>, "a string"},
    {mark::callee, Place::Inside, is<StringAttr>, "a string"},
    {mark::untyped, Place::Inside, isTypeArray, "types"},
    {mark::loss, Place::Inside, is<StringAttr>, "a string"},
    {mark::trained, Place::Inside, is<ArrayAttr>, "an array"},
    {mark::parameters, Place::Module, is<ArrayAttr>, "an array"},
    {mark::roundingError, Place::Inside, is<RoundingErrorAttr>,
     "#mp.rounding_error"},
    {mark::errorLimit, Place::Module, is<ErrorLimitAttr>, "#mp.error_limit"},
    {mark::predictedError, Place::Module, is<FloatAttr>, "a float"},
    {mark::nodeError, Place::Inside, is<DenseF64ArrayAttr>, "array<f64>"},
    {mark::errorTotals, Place::Module, is<DictionaryAttr>, "a dictionary"},
    {mark::spot, Place::Inside, is<IntegerAttr>, "an integer"},
    {mark::kink, Place::Inside, is<IntegerAttr>, "an integer"},
    {mark::stopGradient, Place::Inside, is<UnitAttr>, "unit"},
    {mark::paddingIndex, Place::Inside, is<IntegerAttr>, "an integer"},
    {mark::nextBuffer, Place::Inside, is<StringAttr>, "a string"},
    {mark::tied, Place::Inside, is<Attribute>, "anything"},
    {mark::target, Place::Module, is<TargetAttr>, "#mp.target"},
    {mark::inputs, Place::Module, is<ArrayAttr>, "an array"},
    {mark::outputs, Place::Module, is<ArrayAttr>, "an array"},
    {mark::constants, Place::Module, is<ArrayAttr>, "an array"},
    {mark::arena, Place::Module, is<IntegerAttr>, "an integer"},
    {mark::cacheEntries, Place::Module, is<IntegerAttr>, "an integer"},
    {mark::timestamped, Place::Module, is<ArrayAttr>, "an array"},
    {mark::exclusive, Place::Inside, is<DenseI64ArrayAttr>, "array<i64>"},
};

LogicalResult MPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  StringRef name = attribute.getName();
  const Rule *rule =
      llvm::find_if(rules, [&](const Rule &rule) { return rule.name == name; });
  if (rule == std::end(rules))
    return op->emitOpError()
           << "'" << name << "' is not an attribute of the mp "
           << "dialect";
  bool isModule = isa<ModuleOp>(op);
  bool isPlaced =
      rule->place == Place::Any || (rule->place == Place::Module) == isModule;
  if (!isPlaced)
    return op->emitOpError() << "'" << name << "' belongs on "
                             << (isModule ? "a node" : "the module");
  if (!rule->holds(attribute.getValue()))
    return op->emitOpError() << "'" << name << "' is " << attribute.getValue()
                             << ", expected " << rule->expected;
  return success();
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

void addHazard(Operation *node, StringRef reason, bool isCautious) {
  MLIRContext *context = node->getContext();
  if (node->hasAttr(mark::hazard)) {
    if (!isCautious)
      node->removeAttr(mark::cautious);
    return;
  }
  node->setAttr(mark::hazard,
                HazardAttr::get(context, StringAttr::get(context, reason)));
  if (isCautious)
    node->setAttr(mark::cautious, UnitAttr::get(context));
}

/// The text, in which each value is replaced by the result of `getText`.
static std::string fillIn(StringRef text, ArrayAttr values,
                          llvm::function_ref<std::string(Attribute)> getText) {
  std::string filled;
  while (values && !text.empty()) {
    size_t open = std::min(text.find('{'), text.size());
    filled += text.take_front(open);
    text = text.drop_front(open);
    unsigned index = 0;
    StringRef place = text.take_front(text.find('}') + 1);
    bool isPlace = !place.empty() &&
                   !place.drop_front().drop_back().getAsInteger(10, index) &&
                   index < values.size();
    filled += isPlace ? getText(values[index]) : text.take_front(1).str();
    text = text.drop_front(isPlace ? place.size()
                                   : std::min<size_t>(1, text.size()));
  }
  return filled + text.str();
}

std::string describeReason(StringRef text, ArrayAttr values) {
  return fillIn(text, values, [](Attribute value) {
    if (auto name = dyn_cast<StringAttr>(value))
      return name.str();
    return std::to_string(cast<IntegerAttr>(value).getInt());
  });
}

std::string describeReasonGroup(StringRef text, ArrayAttr values) {
  return fillIn(text, values, [](Attribute value) -> std::string {
    return isa<StringAttr>(value) ? "..." : "N";
  });
}

bool isTemporary(StringRef name) {
  return name.starts_with("mp.") && name != mark::summary &&
         name != mark::specialized && name != mark::callee &&
         name != mark::untyped && name != mark::spot && name != mark::kink;
}

} // namespace mp
