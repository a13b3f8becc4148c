//===- CodeOutput.cpp - Writing code for a processor ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/CodeOutput.h"

#include "mp-opt/API/Model/Error.h"

#include "Pipelines/CompileProgram.h"
#include "mp-opt/Codegen/Host/HostTarget.h"
#include "mp-opt/Execution/DeviceCode.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Support/AtomicFile.h"

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
namespace path = llvm::sys::path;

namespace mp {

// The run-time libraries (RuntimeArchive.S.in), for the system mp-opt runs on.
extern const char runtimeArchive[], cudaArchive[], emulationArchive[],
    driverArchive[];
extern const uint64_t runtimeArchiveSize, cudaArchiveSize, emulationArchiveSize,
    driverArchiveSize;

/// The first line of our headers contains this text.
static constexpr StringLiteral headerMark = "compiled by mp-opt.";

namespace {

/// A temporary folder for files that the linker reads and writes.
class Workplace {
public:
  ~Workplace() {
    if (!folder.empty())
      llvm::sys::fs::remove_directories(folder);
  }

  llvm::Error open() {
    if (std::error_code error =
            llvm::sys::fs::createUniqueDirectory("mp-opt", folder))
      return llvm::createStringError("no folder for temporary files: " +
                                     error.message());
    return llvm::Error::success();
  }

  std::string getPath(StringRef name) const {
    SmallString<128> result(folder);
    path::append(result, name);
    return std::string(result);
  }

  llvm::Error write(StringRef name, StringRef content) const {
    return llvm::writeToOutput(getPath(name), [&](raw_ostream &os) {
      os << content;
      return llvm::Error::success();
    });
  }

private:
  SmallString<128> folder;
};

class CodeWriter {
public:
  CodeWriter(Format format, const CodeOptions &options, StringRef output,
             StringRef model, const CompileWatch &watch)
      : format(format), options(options), output(output), model(model),
        watch(watch) {}

  llvm::Error write(ModuleOp module);

private:
  llvm::Error lower(ModuleOp module);
  llvm::Error generate(ModuleOp module);
  llvm::Expected<std::unique_ptr<llvm::Module>>
  makeModule(ModuleOp module, llvm::LLVMContext &context);
  llvm::Error link();
  llvm::Expected<std::vector<std::string>>
  writeRuntime(const Workplace &place) const;
  std::string getExports() const;
  llvm::Error commit(StringRef header);
  llvm::Error checkHeader(const Directory &folder, StringRef name) const;
  std::string getLinker() const;

  Format format;
  const CodeOptions &options;
  StringRef output, model;
  CompileWatch watch;
  std::unique_ptr<llvm::TargetMachine> machine;
  LibraryOptions library;
  ModelInterface interface;
  /// The code that is written to the output.
  std::unique_ptr<llvm::MemoryBuffer> code;
};

} // namespace

/// The name of the output without `lib` and extension: `net` for `libnet.so`,
/// `net.o` and `net.ll`.
static std::string getStem(StringRef output) {
  StringRef name = path::stem(output);
  if (path::extension(output) == ".so")
    name.consume_front("lib");
  return name.str();
}

/// Names the target in messages.
static std::string describeTarget(const CodeOptions &options) {
  if (!options.gpus.empty())
    return llvm::join(
        llvm::map_range(options.gpus, [](auto &gpu) { return gpu.chip; }),
        ", ");
  std::string processor = options.target.isHost()
                              ? llvm::sys::getHostCPUName().str()
                          : options.target.cpu.empty() ? options.target.triple
                                                       : options.target.cpu;
  bool isEmulated = options.device == DeviceKind::Emulated;
  return (isEmulated ? "an emulated GPU on " : "") + processor;
}

static llvm::Expected<Target> getTarget(const llvm::TargetMachine &machine,
                                        const CodeOptions &options) {
  if (options.target.isHost())
    return getHostTarget(options.kernels);
  const llvm::MCSubtargetInfo &processor = *machine.getMCSubtargetInfo();
  auto isa =
      getInstructionSet(machine.getTargetTriple(), [&](StringRef feature) {
        return processor.checkFeatures(("+" + feature).str());
      });
  if (!isa)
    return llvm::createStringError("--target: found '" + options.target.triple +
                                   "', expected a system with x86-64 or "
                                   "aarch64");
  return makeTarget(*isa, options.kernels);
}

llvm::Error CodeWriter::lower(ModuleOp module) {
  CompileOptions compile;
  compile.updateInPlace = options.inPlace;
  compile.device = options.device;
  compile.fp32Products = options.fp32Products;
  compile.excessPrecision = options.excessPrecision;
  if (llvm::Error failed = parseDimensions(options.dims, compile.dims))
    return failed;
  llvm::Expected<Target> target = getTarget(*machine, options);
  if (!target)
    return target.takeError();
  compile.target = *target;
  LoweringFigures figures;
  // The error is already reported.
  if (failed(lowerProgram(module, compile, watch, figures)))
    return makeError({ErrorKind::NotSupported, "", /*isReported=*/true});
  FailureOr<ModelInterface> read = readInterface(module);
  if (failed(read))
    return makeError({ErrorKind::NotSupported, "", /*isReported=*/true});
  interface = std::move(*read);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::Module>>
CodeWriter::makeModule(ModuleOp module, llvm::LLVMContext &context) {
  if (options.device == DeviceKind::CPU)
    return makeLibrary(module, interface, library, context, *machine, watch);
  FailureOr<DevicePlan> plan = makeDeviceCode(module, options.gpus, watch);
  if (failed(plan))
    return makeError({ErrorKind::NotSupported, "", /*isReported=*/true});
  return makeDeviceLibrary(module, *plan, interface, library, context, *machine,
                           watch);
}

llvm::Error CodeWriter::generate(ModuleOp module) {
  llvm::LLVMContext context;
  auto made = makeModule(module, context);
  if (!made)
    return made.takeError();
  if (format == Format::LLVM) {
    std::string text;
    llvm::raw_string_ostream os(text);
    (*made)->print(os, nullptr);
    code = llvm::MemoryBuffer::getMemBufferCopy(text);
    return llvm::Error::success();
  }
  TimingScope step = watch.time("Code generation");
  auto object = emitObject(**made, *machine);
  if (!object)
    return object.takeError();
  code = std::move(*object);
  return llvm::Error::success();
}

std::string CodeWriter::getLinker() const {
  if (!options.linker.empty())
    return options.linker;
  return options.target.triple.empty() ? "cc" : options.target.triple + "-gcc";
}

/// Exports the model's functions and the runtime functions that its caller
/// needs.
std::string CodeWriter::getExports() const {
  std::string exports = "{ global: ";
  for (const char *name : {"_run", "_interface", "_release"})
    exports += library.prefix + name + "; ";
  if (options.device != DeviceKind::CPU)
    exports += library.prefix + "_set_device; ";
#define MP_PUBLIC_FUNCTION(NAME) exports += #NAME "; ";
#include "mp-opt/Runtime/Functions.def"
  return exports + "local: *; };\n";
}

/// Files and linker flags for the runtime. Libraries come after the files that
/// call their functions.
llvm::Expected<std::vector<std::string>>
CodeWriter::writeRuntime(const Workplace &place) const {
  if (!options.runtime.empty())
    return std::vector<std::string>{options.runtime};
  struct {
    const char *name;
    StringRef content;
    bool isUsed;
  } archives[] = {
      {"libMPOptCUDA.a",
       {cudaArchive, cudaArchiveSize},
       options.device != DeviceKind::CPU},
      {"libMPOptEmulatedDriver.a",
       {driverArchive, driverArchiveSize},
       options.device == DeviceKind::Emulated},
      {"libMPOptEmulation.a",
       {emulationArchive, emulationArchiveSize},
       options.device == DeviceKind::Emulated},
      {"libMPOptRuntime.a", {runtimeArchive, runtimeArchiveSize}, true}};
  std::vector<std::string> files;
  for (auto &[name, content, isUsed] : archives) {
    if (!isUsed)
      continue;
    if (llvm::Error failed = place.write(name, content))
      return failed;
    files.push_back(place.getPath(name));
  }
  // The emulated driver is written in C++, but its users need not be.
  if (options.device == DeviceKind::Emulated)
    for (const char *flag :
         {"-static-libgcc", "-Wl,-Bstatic", "-lstdc++", "-Wl,-Bdynamic"})
      files.push_back(flag);
  return files;
}

llvm::Error CodeWriter::link() {
  std::string name = getLinker();
  auto program = llvm::sys::findProgramByName(name);
  if (!program)
    return llvm::createStringError(
        "--emit=lib: the program '" + name +
        "', which links, was not found: name one with --cc, or --emit=obj");
  if (options.runtime.empty() && !options.target.triple.empty())
    return llvm::createStringError(
        "--emit=lib: --target needs --runtime-library=FILE, the run-time "
        "library (lib/Runtime/CPU) built for it");
  Workplace place;
  if (llvm::Error failed = place.open())
    return failed;
  auto runtime = writeRuntime(place);
  if (!runtime)
    return runtime.takeError();
  if (llvm::Error failed =
          llvm::joinErrors(place.write("model.o", code->getBuffer()),
                           place.write("exports", getExports())))
    return failed;
  std::string object = place.getPath("model.o"), made = place.getPath("made"),
              script = "--version-script=" + place.getPath("exports"),
              soname = ("-soname=" + path::filename(output)).str(),
              messages = place.getPath("messages");
  SmallVector<StringRef> arguments = {*program, "-shared", "-o", made, object};
  // Public functions are linked even if the model does not call them.
#define MP_PUBLIC_FUNCTION(NAME) arguments.push_back("-Wl,-u," #NAME);
#include "mp-opt/Runtime/Functions.def"
  arguments.append(runtime->begin(), runtime->end());
  // One flag per argument: -Wl would split them at commas.
  for (StringRef flag : {StringRef(script), StringRef(soname)})
    arguments.append({"-Xlinker", flag});
  arguments.append({"-lm", "-lpthread"});
  // Some C libraries have dlopen in a separate library.
  if (options.device != DeviceKind::CPU)
    arguments.push_back("-ldl");
  std::optional<StringRef> streams[] = {StringRef(), StringRef(messages),
                                        StringRef(messages)};
  std::string error;
  int status = llvm::sys::ExecuteAndWait(*program, arguments, std::nullopt,
                                         streams, 0, 0, &error);
  auto text = llvm::MemoryBuffer::getFile(messages);
  if (status)
    return llvm::createStringError("--emit=lib: '" + name + "' failed: " +
                                   (error.empty() && text
                                        ? (*text)->getBuffer().rtrim()
                                        : StringRef(error)));
  auto result = llvm::MemoryBuffer::getFile(made, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
  if (!result)
    return llvm::createStringError("--emit=lib: '" + name +
                                   "' has written nothing");
  code = std::move(*result);
  return llvm::Error::success();
}

/// Fails if the header exists and was not written by mp-opt.
llvm::Error CodeWriter::checkHeader(const Directory &folder,
                                    StringRef name) const {
  auto old = llvm::MemoryBuffer::getFile(folder.getPath(name));
  if (old && !(*old)->getBuffer().split("\n").first.contains(headerMark))
    return llvm::createStringError(
        "'" + folder.getPath(name) +
        "' would be replaced by the model's header, and is none of mp-opt's: "
        "choose another output");
  return llvm::Error::success();
}

llvm::Error CodeWriter::commit(StringRef header) {
  auto main = AtomicFile::create(output);
  if (!main)
    return main.takeError();
  (*main)->os() << code->getBuffer();
  if (llvm::Error failed = (*main)->finish())
    return failed;
  if ((*main)->isDirect())
    return (*main)->commit();
  std::string name = getStem(output) + ".h";
  const Directory &folder = (*main)->getFolder();
  if (llvm::Error failed = checkHeader(folder, name))
    return failed;
  auto part =
      AtomicFile::createPart(folder, **main, "'" + folder.getPath(name) + "'");
  if (!part)
    return part.takeError();
  (*part)->os() << header;
  (*part)->setName(name);
  if (llvm::Error failed = (*part)->finish())
    return failed;
  return commitTogether({part->get()}, **main);
}

llvm::Error CodeWriter::write(ModuleOp module) {
  library.updateInPlace = options.inPlace;
  library.device = options.device;
  library.prefix =
      options.symbols.empty() ? getCName(getStem(output)) : options.symbols;
  if (isReservedCName(library.prefix))
    return makeError(
        {ErrorKind::Usage, "names in C that begin with '" + library.prefix +
                               "', as of '" + path::filename(output).str() +
                               "': 'mp' and 'mp_...' are the run time's; "
                               "--symbols=PREFIX sets others"});
  auto created = createTargetMachine(options.target);
  if (!created)
    return created.takeError();
  machine = std::move(*created);
  DialectRegistry registry;
  registerTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  if (llvm::Error failed = lower(module))
    return failed;
  if (llvm::Error failed = generate(module))
    return failed;
  if (format == Format::Library)
    if (llvm::Error failed = link())
      return failed;
  if (output.empty()) {
    llvm::outs() << code->getBuffer();
    return flushStandardOutput();
  }
  return commit(makeHeader(interface, library, model));
}

bool isCode(Format format) {
  return format == Format::LLVM || format == Format::Object ||
         format == Format::Library;
}

llvm::Error writeCode(ModuleOp module, Format format,
                      const CodeOptions &options, StringRef output,
                      StringRef model, TimingScope &timing) {
  CompileProgress progress(
      ("mp-opt: compiling " + model + " for " + describeTarget(options)).str());
  llvm::Error failed =
      CodeWriter(format, options, output, model, {&progress, &timing})
          .write(module);
  if (!failed)
    progress.finish();
  return failed;
}

} // namespace mp
