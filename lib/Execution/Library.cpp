//===- Library.cpp - A model compiled for other programs ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants and the entry function are added after optimization. The optimizer
// sees the same module as when code is made for this process, so it makes the
// same code.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Library.h"

#include "mp-opt/Emulation/EmulatedDriver.h"

#include "llvm/IR/IRBuilder.h"

using namespace mlir;

namespace mp {

namespace {

/// The range of addresses that code reaches; it holds constants and code.
constexpr int64_t maxBytes = (int64_t(1) << 31) - (int64_t(1) << 26);

/// Adds the parts to a module that make it a library.
class LibraryMaker {
public:
  LibraryMaker(llvm::Module &module, const ModelInterface &interface,
               const LibraryOptions &options)
      : module(module), interface(interface), options(options),
        context(module.getContext()), builder(context) {
    value = llvm::StructType::create(
        {pointer(), builder.getInt32Ty(), builder.getInt32Ty(), pointer(),
         pointer(), builder.getInt32Ty(), builder.getInt32Ty()},
        "mp_value");
  }

  void run() {
    hideFunctions();
    addConstants();
    addEntry(addInterface());
  }

  void runOnDevice(const DevicePlan &plan) {
    hideFunctions();
    llvm::Constant *table = addInterface();
    addDeviceEntry(table, addDeviceModel(table, plan.pack()));
  }

private:
  llvm::PointerType *pointer() { return builder.getPtrTy(); }

  /// Hides functions, since other models may be linked into the same program.
  void hideFunctions() {
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        function.setLinkage(llvm::GlobalValue::InternalLinkage);
    for (llvm::GlobalVariable &global : module.globals())
      if (global.hasInitializer())
        global.setLinkage(llvm::GlobalValue::InternalLinkage);
  }

  llvm::Constant *getBytes(const Tensor &tensor) {
    return llvm::ConstantDataArray::getRaw(
        llvm::StringRef(static_cast<const char *>(tensor.getData()),
                        tensor.getNumBytes()),
        tensor.getNumBytes(), builder.getInt8Ty());
  }

  void addConstants() {
    for (auto [index, tensor] : llvm::enumerate(interface.constants)) {
      llvm::GlobalVariable *global =
          module.getGlobalVariable(("mp_constant_" + Twine(index)).str());
      if (!global)
        continue;
      global->setInitializer(getBytes(tensor));
      global->setLinkage(llvm::GlobalValue::InternalLinkage);
      global->setAlignment(llvm::Align(64));
    }
  }

  llvm::GlobalVariable *addGlobal(llvm::Constant *content, StringRef name,
                                  bool isConstant = true) {
    auto *global = new llvm::GlobalVariable(
        module, content->getType(), isConstant,
        llvm::GlobalValue::InternalLinkage, content, options.prefix + name);
    return global;
  }

  llvm::Constant *getName(StringRef text) {
    return addGlobal(llvm::ConstantDataArray::getString(context, text),
                     ".name");
  }

  llvm::Constant *getSizes(ArrayRef<int64_t> sizes) {
    SmallVector<uint64_t> elements(sizes.begin(), sizes.end());
    return addGlobal(llvm::ConstantDataArray::get(context, elements), ".sizes");
  }

  llvm::Constant *getInitial(unsigned input) {
    const Tensor &tensor = interface.defaults[input];
    if (tensor.getKind() == ElementKind::Undefined)
      return llvm::ConstantPointerNull::get(pointer());
    llvm::GlobalVariable *global = addGlobal(getBytes(tensor), ".initial");
    global->setAlignment(llvm::Align(64));
    return global;
  }

  llvm::Constant *describe(const ProgramValue &described,
                           llvm::Constant *initial, bool isWritten) {
    return llvm::ConstantStruct::get(
        value,
        {getName(described.name),
         builder.getInt32(static_cast<uint32_t>(described.kind)),
         builder.getInt32(described.sizes.size()), getSizes(described.sizes),
         initial, builder.getInt32(described.state),
         builder.getInt32(isWritten)});
  }

  llvm::Constant *getList(ArrayRef<llvm::Constant *> values, StringRef name) {
    return addGlobal(llvm::ConstantArray::get(
                         llvm::ArrayType::get(value, values.size()), values),
                     name);
  }

  /// An `mp_interface`.
  llvm::Constant *addInterface() {
    SmallVector<llvm::Constant *> inputs, outputs;
    for (auto [index, input] : llvm::enumerate(interface.inputs))
      inputs.push_back(
          describe(input, getInitial(index),
                   options.updateInPlace && interface.isState(index)));
    for (const ProgramValue &output : interface.outputs)
      outputs.push_back(
          describe(output, llvm::ConstantPointerNull::get(pointer()), false));
    llvm::Constant *calls =
        addGlobal(builder.getInt64(0), ".calls", /*isConstant=*/false);
    llvm::Constant *all[] = {
        builder.getInt32(inputs.size()), builder.getInt32(outputs.size()),
        getList(inputs, ".inputs"), getList(outputs, ".outputs"), calls};
    return addGlobal(llvm::ConstantStruct::getAnon(all), ".interface");
  }

  llvm::Function *addFunction(StringRef name, llvm::FunctionType *type) {
    llvm::Function *function =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                               options.prefix + name, module);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
    return function;
  }

  /// Adds the slots for values that calls keep.
  llvm::Constant *addSlots() {
    auto *type = llvm::ArrayType::get(pointer(), interface.numSlots);
    return addGlobal(llvm::ConstantAggregateZero::get(type), ".kept",
                     /*isConstant=*/false);
  }

  llvm::Constant *addBytes(StringRef bytes, StringRef name) {
    llvm::GlobalVariable *global =
        addGlobal(llvm::ConstantDataArray::getRaw(bytes, bytes.size(),
                                                  builder.getInt8Ty()),
                  name);
    global->setAlignment(llvm::Align(64));
    return global;
  }

  /// Adds the array of pointers to the plan's constants.
  llvm::Constant *addConstantTable() {
    SmallVector<llvm::Constant *> pointers;
    for (const Tensor &tensor : interface.constants)
      pointers.push_back(
          tensor.getNumBytes()
              ? addBytes({static_cast<const char *>(tensor.getData()),
                          tensor.getNumBytes()},
                         ".constant")
              : static_cast<llvm::Constant *>(
                    llvm::ConstantPointerNull::get(pointer())));
    return addGlobal(
        llvm::ConstantArray::get(
            llvm::ArrayType::get(pointer(), pointers.size()), pointers),
        ".constants");
  }

  /// An `mp_emulated_image`, or null.
  llvm::Constant *addEmulatedImage() {
    if (options.device != DeviceKind::Emulated)
      return llvm::ConstantPointerNull::get(pointer());
    llvm::GlobalVariable *kernels =
        module.getGlobalVariable("mp_emulated_kernels", /*AllowInternal=*/true);
    uint64_t count =
        kernels
            ? cast<llvm::ArrayType>(kernels->getValueType())->getNumElements()
            : 0;
    llvm::Constant *parts[] = {
        llvm::ConstantDataArray::getString(context, MP_EMULATED_MARK),
        kernels ? static_cast<llvm::Constant *>(kernels)
                : llvm::ConstantPointerNull::get(pointer()),
        builder.getInt64(count)};
    static_assert(sizeof(MP_EMULATED_MARK) == 8);
    return addGlobal(llvm::ConstantStruct::getAnon(parts), ".emulated");
  }

  /// An `mp_device_model`.
  llvm::Constant *addDeviceModel(llvm::Constant *table, StringRef plan) {
    llvm::FunctionCallee open = module.getOrInsertFunction(
        options.device == DeviceKind::Emulated ? "mp_open_emulated_driver"
                                               : "mp_cuda_driver",
        builder.getInt32Ty(), pointer());
    llvm::Constant *parts[] = {table,
                               addBytes(plan, ".plan"),
                               builder.getInt64(plan.size()),
                               addConstantTable(),
                               addEmulatedImage(),
                               cast<llvm::Constant>(open.getCallee()),
                               llvm::ConstantPointerNull::get(pointer())};
    return addGlobal(llvm::ConstantStruct::getAnon(parts), ".model",
                     /*isConstant=*/false);
  }

  /// Adds a function of the library that calls `callee` with the model and the
  /// arguments.
  void addDeviceFunction(StringRef name, StringRef callee,
                         llvm::Constant *model, llvm::Type *result,
                         ArrayRef<llvm::Type *> parameters) {
    SmallVector<llvm::Type *> types = {pointer()};
    types.append(parameters.begin(), parameters.end());
    llvm::FunctionCallee called = module.getOrInsertFunction(
        callee, llvm::FunctionType::get(result, types, false));
    llvm::Function *function =
        addFunction(name, llvm::FunctionType::get(result, parameters, false));
    SmallVector<llvm::Value *> values = {model};
    for (llvm::Argument &argument : function->args())
      values.push_back(&argument);
    llvm::CallInst *call = builder.CreateCall(called, values);
    if (result->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(call);
  }

  /// Adds the three functions of libraries for processors, and
  /// `PREFIX_set_device`.
  void addDeviceEntry(llvm::Constant *table, llvm::Constant *model) {
    llvm::Type *i32 = builder.getInt32Ty(), *none = builder.getVoidTy();
    addDeviceFunction("_run", "mp_device_run", model, i32,
                      {pointer(), pointer()});
    addDeviceFunction("_set_device", "mp_device_choose", model, i32, {i32});
    addDeviceFunction("_release", "mp_device_release", model, none, {});
    addFunction("_interface", llvm::FunctionType::get(pointer(), false));
    builder.CreateRet(table);
  }

  /// Adds `PREFIX_run`, `PREFIX_interface` and `PREFIX_release`.
  void addEntry(llvm::Constant *table) {
    llvm::Function *body = module.getFunction("main");
    body->setName(options.prefix + ".body");
    llvm::Constant *kept = addSlots();
    llvm::Type *i32 = builder.getInt32Ty(), *none = builder.getVoidTy();
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        "mp_run", i32, pointer(), pointer(), pointer(), pointer(), pointer());
    llvm::Function *run = addFunction(
        "_run", llvm::FunctionType::get(i32, {pointer(), pointer()}, false));
    builder.CreateRet(builder.CreateCall(
        callee, {table, body, run->getArg(0), run->getArg(1), kept}));
    addFunction("_interface", llvm::FunctionType::get(pointer(), false));
    builder.CreateRet(table);
    llvm::FunctionCallee release = module.getOrInsertFunction(
        "mp_release_kept", none, pointer(), builder.getInt64Ty());
    addFunction("_release", llvm::FunctionType::get(none, false));
    builder.CreateCall(release, {kept, builder.getInt64(interface.numSlots)});
    builder.CreateRetVoid();
  }

  llvm::Module &module;
  const ModelInterface &interface;
  const LibraryOptions &options;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> builder;
  llvm::StructType *value;
};

} // namespace

/// Fails if constants exceed the range of addresses that code reaches.
static llvm::Error checkSize(const ModelInterface &interface) {
  int64_t bytes = 0;
  for (const auto *list : {&interface.constants, &interface.defaults})
    for (const Tensor &tensor : *list)
      bytes += tensor.getNumBytes();
  if (bytes <= maxBytes)
    return llvm::Error::success();
  return llvm::createStringError("the model has " + Twine(bytes) +
                                 " bytes of constants, a library can have " +
                                 Twine(maxBytes) +
                                 ": make inputs of its weights");
}

llvm::Expected<std::unique_ptr<llvm::Module>>
makeLibrary(ModuleOp module, const ModelInterface &interface,
            const LibraryOptions &options, llvm::LLVMContext &context,
            llvm::TargetMachine &machine, const CompileWatch &watch) {
  if (llvm::Error failed = checkSize(interface))
    return failed;
  auto result = translateToLLVM(module, context, machine, watch);
  if (result)
    LibraryMaker(**result, interface, options).run();
  return result;
}

llvm::Expected<std::unique_ptr<llvm::Module>>
makeDeviceLibrary(ModuleOp module, const DevicePlan &plan,
                  const ModelInterface &interface,
                  const LibraryOptions &options, llvm::LLVMContext &context,
                  llvm::TargetMachine &machine, const CompileWatch &watch) {
  if (llvm::Error failed = checkSize(interface))
    return failed;
  std::unique_ptr<llvm::Module> result;
  if (options.device == DeviceKind::Emulated) {
    auto kernels = translateToLLVM(module, context, machine, watch);
    if (!kernels)
      return kernels.takeError();
    result = std::move(*kernels);
  } else {
    result = std::make_unique<llvm::Module>("model", context);
    result->setTargetTriple(machine.getTargetTriple());
    result->setDataLayout(machine.createDataLayout());
  }
  LibraryMaker(*result, interface, options).runOnDevice(plan);
  return result;
}

} // namespace mp
