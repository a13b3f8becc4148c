//===- PolicyFile.cpp - Policies from flags, lists and JSON ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/PolicyFile.h"

#include "mp-opt/Precision/Policy/InterfaceTypes.h"
#include "mp-opt/Precision/Policy/NodeOverrides.h"
#include "mp-opt/Precision/Policy/TorchNames.h"
#include "mp-opt/Support/ConfigFile.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace mp {

static std::string placeAt(StringRef file, unsigned line) {
  return (file + ":" + Twine(line)).str();
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

Error setPrecision(StringRef precision, StringRef place,
                   PolicyOptions &options) {
  if (!options.precision)
    options.precision = {precision.str(), place.str()};
  if (options.precision->text == precision)
    return Error::success();
  return createStringError("the precision is " + options.precision->text + " " +
                           describePlace(options.precision->place) + " and " +
                           precision + " " + describePlace(place));
}

/// A policy of Keras by its name; empty for other texts.
static StringRef getKerasPrecision(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Case("mixed_bfloat16", "bf16")
      .Case("mixed_float16", "fp16")
      .Case("float32", "float32")
      .Default({});
}

//===----------------------------------------------------------------------===//
// List files
//===----------------------------------------------------------------------===//

Error addListFile(StringRef text, StringRef file, OpClass opClass,
                  PolicyOptions &options) {
  Expected<std::string> checked = checkText(text, file);
  if (!checked)
    return checked.takeError();
  unsigned line = 0;
  bool isEmpty = true;
  for (StringRef rest = *checked; !rest.empty();) {
    StringRef name;
    std::tie(name, rest) = rest.split('\n');
    ++line;
    name = name.split('#').first.trim();
    if (name.empty())
      continue;
    if (name.find_first_of(" \t,;") != StringRef::npos)
      return errorAt(file, line,
                     "expected one operator a line, found '" + name + "'");
    isEmpty = false;
    options.operators[opClass].push_back({name.str(), placeAt(file, line)});
  }
  if (isEmpty)
    return createStringError(file + ": the list is empty");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// gaudi_config.json
//===----------------------------------------------------------------------===//

static Error addGaudiList(const ConfigNode::Entry &entry, StringRef file,
                          OpClass opClass, PolicyOptions &options) {
  // Null is the default of these keys.
  if (entry.value.kind == ConfigNode::Null)
    return Error::success();
  if (entry.value.kind != ConfigNode::List)
    return errorAt(file, entry.line,
                   "'" + entry.key + "': expected a list of operators, found " +
                       entry.value.describe());
  if (entry.value.items.empty())
    return errorAt(file, entry.line, "'" + entry.key + "': the list is empty");
  for (const ConfigNode &item : entry.value.items) {
    if (item.kind != ConfigNode::Scalar || item.text.empty())
      return errorAt(file, item.line,
                     "'" + entry.key + "': expected an operator, found " +
                         item.describe());
    options.operators[opClass].push_back({item.text, placeAt(file, item.line)});
  }
  return Error::success();
}

namespace {
/// Keys that control whether and where 16 bit is used.
struct GaudiKey {
  StringLiteral name;
  enum { Switch, BF16, FP32, Ignored } kind;
};
} // namespace

static constexpr GaudiKey gaudiKeys[] = {
    {"use_torch_autocast", GaudiKey::Switch},
    {"use_habana_mixed_precision", GaudiKey::Switch},
    {"autocast_bf16_ops", GaudiKey::BF16},
    {"hmp_bf16_ops", GaudiKey::BF16},
    {"autocast_fp32_ops", GaudiKey::FP32},
    {"hmp_fp32_ops", GaudiKey::FP32},
    // Keys about training and logs.
    {"use_fused_adam", GaudiKey::Ignored},
    {"use_fused_clip_norm", GaudiKey::Ignored},
    {"use_dynamic_shapes", GaudiKey::Ignored},
    {"hmp_is_verbose", GaudiKey::Ignored},
    {"hmp_opt_level", GaudiKey::Ignored},
    {"optimum_version", GaudiKey::Ignored},
    {"transformers_version", GaudiKey::Ignored},
};

static const GaudiKey *findGaudiKey(StringRef name) {
  auto *it =
      find_if(gaudiKeys, [&](const GaudiKey &key) { return key.name == name; });
  return it == std::end(gaudiKeys) ? nullptr : it;
}

/// True if the file switches 16 bit on; absent if it does not say.
static Expected<std::optional<bool>> getGaudiSwitch(const ConfigNode &root,
                                                    StringRef file) {
  std::optional<bool> isOn;
  for (const ConfigNode::Entry &entry : root.entries) {
    const GaudiKey *key = findGaudiKey(entry.key);
    if (!key)
      return errorAt(
          file, entry.line,
          "unknown key '" + entry.key + "'" +
              suggestNearest(entry.key,
                             map_range(gaudiKeys, [](const GaudiKey &known) {
                               return StringRef(known.name);
                             })));
    if (key->kind != GaudiKey::Switch)
      continue;
    if (entry.value.text != "true" && entry.value.text != "false")
      return errorAt(file, entry.line,
                     "'" + entry.key + "': expected true or false, found " +
                         entry.value.describe());
    isOn = isOn.value_or(false) || entry.value.text == "true";
  }
  return isOn;
}

Error addGaudiConfig(StringRef text, StringRef file, PolicyOptions &options) {
  Expected<ConfigNode> root = parseJSON(text, file);
  if (!root)
    return root.takeError();
  if (root->kind != ConfigNode::Map)
    return errorAt(file, root->line,
                   "expected an object, found " + root->describe());
  Expected<std::optional<bool>> isOn = getGaudiSwitch(*root, file);
  if (!isOn)
    return isOn.takeError();
  if (isOn->has_value())
    if (Error failed = setPrecision(**isOn ? "bf16" : "float32",
                                    file.str() + ":1", options))
      return failed;
  // Without the switch the lists have no effect.
  bool usesLists = isOn->value_or(true);
  PolicyOptions unused;
  for (const ConfigNode::Entry &entry : root->entries) {
    const GaudiKey *key = findGaudiKey(entry.key);
    if (key->kind != GaudiKey::BF16 && key->kind != GaudiKey::FP32)
      continue;
    OpClass opClass =
        key->kind == GaudiKey::BF16 ? OpClass::Allow : OpClass::Deny;
    if (Error failed =
            addGaudiList(entry, file, opClass, usesLists ? options : unused))
      return failed;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// All sources
//===----------------------------------------------------------------------===//

using Adder = function_ref<Error(StringRef text, StringRef file)>;

static Error addFile(StringRef path, PolicyRequest &request, Adder add) {
  auto known = request.texts.find(path.str());
  if (known != request.texts.end())
    return add(known->second, path);
  Expected<std::string> text = readTextFile(path);
  if (!text)
    return text.takeError();
  return add(request.texts[path.str()] = std::move(*text), path);
}

static constexpr StringLiteral kerasPolicies[] = {"mixed_bfloat16",
                                                  "mixed_float16", "float32"};

ArrayRef<StringLiteral> getKerasPolicies() { return kerasPolicies; }

/// The policy of Keras that a misspelled text means; empty if the text is more
/// like a file name.
static StringRef findMeantPolicy(StringRef name) {
  // Spellings of this tool and others: mixed_bf16, fp16.
  StringRef type = name;
  type.consume_front("mixed_");
  StringRef meant =
      StringSwitch<StringRef>(type)
          .Cases({"bf16", "bfloat16"}, "mixed_bfloat16")
          .Cases({"fp16", "f16", "float16", "half"}, "mixed_float16")
          .Cases({"fp32", "f32"}, "float32")
          .Default("");
  return meant.empty() ? findNearest(name, kerasPolicies) : meant;
}

static Error addPolicy(PolicyRequest &request, PolicyOptions &options) {
  StringRef name = request.policy;
  if (StringRef precision = getKerasPrecision(name); !precision.empty())
    return setPrecision(precision, "--policy", options);
  // A misspelled policy of Keras looks like a file that does not exist.
  StringRef nearest = findMeantPolicy(name);
  if (!nearest.empty() && !sys::fs::exists(name) &&
      !request.texts.count(name.str()))
    return createStringError("unknown policy '" + name + "'; did you mean '" +
                             nearest + "'?");
  if (name.find_first_of("/.") == StringRef::npos && !sys::fs::exists(name) &&
      !request.texts.count(name.str()))
    return createStringError("unknown policy '" + name +
                             "': expected a file, mixed_bfloat16, "
                             "mixed_float16 or float32");
  return addFile(name, request, [&](StringRef text, StringRef file) {
    return addPolicyYAML(text, file, options);
  });
}

static Error addFiles(PolicyRequest &request, PolicyOptions &options) {
  const std::pair<const std::vector<std::string> *, OpClass> lists[] = {
      {&request.allowFiles, OpClass::Allow},
      {&request.denyFiles, OpClass::Deny},
      {&request.promoteFiles, OpClass::Promote},
  };
  for (auto [files, opClass] : lists)
    for (const std::string &path : *files)
      if (Error failed =
              addFile(path, request,
                      [&, opClass = opClass](StringRef text, StringRef file) {
                        return addListFile(text, file, opClass, options);
                      }))
        return failed;
  if (!request.gaudiConfig.empty())
    if (Error failed = addFile(request.gaudiConfig, request,
                               [&](StringRef text, StringRef file) {
                                 return addGaudiConfig(text, file, options);
                               }))
      return failed;
  return request.policy.empty() ? Error::success()
                                : addPolicy(request, options);
}

/// Warns of names that are valid, but have no effect.
static void warnOfDecomposed(PolicyOptions &options) {
  std::string names;
  for (OpClass opClass : opClasses)
    for (const PolicyEntry &entry : std::as_const(options.operators)[opClass])
      if (auto operators = getTorchOperators(entry.text);
          operators && operators->empty())
        names += (names.empty() ? "'" : ", '") + entry.text + "' (" +
                 entry.place + ")";
  if (!names.empty())
    options.warnings.push_back(
        "functions without an ONNX op of their own match nothing, list the "
        "ops that they are made of: " +
        names);
}

Expected<PolicyOptions> loadPolicy(PolicyRequest &request) {
  PolicyOptions options;
  if (!request.precision.empty())
    options.precision = {request.precision, "--mixed-" + request.precision};
  auto addAll = [&](const std::vector<std::string> &names, OpClass opClass) {
    for (const std::string &name : names)
      options.operators[opClass].push_back(
          {name, ("--" + stringifyOpClass(opClass)).str()});
  };
  addAll(request.allow, OpClass::Allow);
  addAll(request.deny, OpClass::Deny);
  addAll(request.promote, OpClass::Promote);
  for (const std::string &text : request.allowNodes)
    options.rules.push_back(
        {NodeRule::Regex, OpClass::Allow, text, {}, {}, "--allow-node"});
  for (const std::string &text : request.denyNodes)
    options.rules.push_back(
        {NodeRule::Regex, OpClass::Deny, text, {}, {}, "--deny-node"});
  for (const std::string &text : request.denyNames)
    options.rules.push_back(
        {NodeRule::Name, OpClass::Deny, text, {}, {}, denyNamesPlace.str()});
  for (StringRef text : request.io)
    if (Error failed = addInterfaceRules(text, "--io", options.io))
      return failed;
  if (request.strict)
    options.strict = true;
  if (Error failed = addFiles(request, options))
    return failed;
  warnOfDecomposed(options);
  return options;
}

Error addModelPolicy(mlir::ModuleOp module, PolicyOptions &options) {
  if (!options.modelMetadata)
    return Error::success();
  PolicyEntry key = *options.modelMetadata;
  std::optional<StringRef> text = getModelMetadata(module, key.text);
  if (!text)
    return createStringError("the model has no metadata '" + key.text + "' (" +
                             key.place + ")");
  std::string name = "metadata '" + key.text + "'";
  if (StringRef precision = getKerasPrecision(text->trim()); !precision.empty())
    return setPrecision(precision, name + ":1", options);
  options.modelMetadata.reset();
  if (Error failed = addPolicyYAML(*text, name, options))
    return failed;
  if (options.modelMetadata)
    return createStringError(options.modelMetadata->place +
                             ": a policy in metadata cannot name another");
  options.modelMetadata = key;
  return Error::success();
}

} // namespace mp
