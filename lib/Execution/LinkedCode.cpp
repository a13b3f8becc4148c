//===- LinkedCode.cpp - Object files in this process ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkedCode.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/ErrorHandling.h"

namespace mp {

/// The session reports why code cannot be linked before a look-up fails.
static void reportSessionError(llvm::Error error) {
  std::string text = toString(std::move(error));
  if (llvm::StringRef(text).contains("Cannot allocate memory"))
    llvm::report_bad_alloc_error("linking code");
  llvm::errs() << "linking code: " << text << "\n";
}

LinkedCode::LinkedCode() = default;

LinkedCode::~LinkedCode() {
  if (session)
    llvm::consumeError(session->endSession());
}

llvm::Error LinkedCode::define(const Symbols &symbols) {
  llvm::orc::SymbolMap map;
  for (const auto &[name, address] : symbols)
    map[session->intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                  llvm::JITSymbolFlags::Exported};
  if (llvm::Error error =
          library->define(llvm::orc::absoluteSymbols(std::move(map))))
    return error;
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      /*GlobalPrefix=*/'\0');
  if (!process)
    return process.takeError();
  library->addGenerator(std::move(*process));
  // The functions of libm may not be globally visible in a process that has
  // loaded this as a library.
  auto math = llvm::orc::DynamicLibrarySearchGenerator::Load("libm.so.6", '\0');
  if (math)
    library->addGenerator(std::move(*math));
  else
    llvm::consumeError(math.takeError());
  return llvm::Error::success();
}

llvm::Error
LinkedCode::link(std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects,
                 const Symbols &symbols) {
  auto process = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  session = std::make_unique<llvm::orc::ExecutionSession>(std::move(*process));
  session->setErrorReporter(reportSessionError);
  // Objects refer to each other by 32-bit offsets, so all of them must lie in
  // one block of memory: in a process with many mappings, two blocks may be too
  // far apart. The linked size of an object is a small multiple of its file
  // size.
  size_t bytes = 1 << 20;
  for (const std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    bytes += 4 * object->getBufferSize();
  auto memory = llvm::orc::MapperJITLinkMemoryManager::CreateWithMapper<
      llvm::orc::InProcessMemoryMapper>(llvm::alignTo(bytes, 1 << 16));
  if (!memory)
    return memory.takeError();
  layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(*session,
                                                          std::move(*memory));
  library = &session->createBareJITDylib("model");
  if (llvm::Error error = define(symbols))
    return error;
  for (std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    if (llvm::Error error = layer->add(*library, std::move(object)))
      return error;
  return llvm::Error::success();
}

llvm::Expected<void *> LinkedCode::find(llvm::StringRef name) const {
  auto found = session->lookup({library}, name);
  if (!found)
    return found.takeError();
  return found->getAddress().toPtr<void *>();
}

} // namespace mp
