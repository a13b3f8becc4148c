//===- Library.cpp - A model compiled for other programs ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants and the entry are added behind the optimizer: it sees what it sees
// when the code is made for this process, and so makes the same of it.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Library.h"

#include "llvm/IR/IRBuilder.h"

using namespace mlir;

namespace mp {

namespace {

/// What a processor reaches from its code, constants and code together.
constexpr int64_t maxBytes = (int64_t(1) << 31) - (int64_t(1) << 26);

/// Adds to a module what makes it a library.
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

private:
  llvm::PointerType *pointer() { return builder.getPtrTy(); }

  /// Other models may be linked into the same program.
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

  /// What calls keep for later ones.
  llvm::Constant *addSlots() {
    auto *type = llvm::ArrayType::get(pointer(), interface.numSlots);
    return addGlobal(llvm::ConstantAggregateZero::get(type), ".kept",
                     /*isConstant=*/false);
  }

  /// `PREFIX_run`, `PREFIX_interface` and `PREFIX_release`.
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

llvm::Expected<std::unique_ptr<llvm::Module>>
makeLibrary(ModuleOp module, const ModelInterface &interface,
            const LibraryOptions &options, llvm::LLVMContext &context,
            llvm::TargetMachine &machine, const CompileWatch &watch) {
  int64_t bytes = 0;
  for (const auto *list : {&interface.constants, &interface.defaults})
    for (const Tensor &tensor : *list)
      bytes += tensor.getNumBytes();
  if (bytes > maxBytes)
    return llvm::createStringError("the model has " + Twine(bytes) +
                                   " bytes of constants, a library can have " +
                                   Twine(maxBytes) +
                                   ": make inputs of its weights");
  auto result = translateToLLVM(module, context, machine, watch);
  if (result)
    LibraryMaker(**result, interface, options).run();
  return result;
}

} // namespace mp
