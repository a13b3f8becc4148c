//===- Header.cpp - The C header of a compiled model ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Library.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

namespace mp {

/// include/mp-opt/Runtime/Runtime.h (RuntimeHeader.S.in).
extern const char runtimeHeader[];
extern const uint64_t runtimeHeaderSize;

bool isReservedCName(llvm::StringRef prefix) {
  return prefix == "mp" || prefix.starts_with("mp_");
}

std::string getCName(llvm::StringRef text) {
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) ? c : '_';
  // Names must not begin with a digit, and those with two underscores are
  // reserved for the implementation.
  if (name.empty() || llvm::isDigit(name[0]) || name[0] == '_')
    name = "model" + name;
  return name;
}

/// Escapes `text` for a comment, so that it cannot end it.
static std::string escape(llvm::StringRef text) {
  std::string result;
  for (char c : text)
    if (c == '*' || c == '\\' || !llvm::isPrint(c))
      result += "\\x" + llvm::toHex(llvm::StringRef(&c, 1));
    else
      result += c;
  return result;
}

namespace {

class HeaderWriter {
public:
  HeaderWriter(llvm::raw_ostream &os, const ModelInterface &interface,
               const LibraryOptions &options)
      : os(os), interface(interface), options(options) {}

  void write(llvm::StringRef model) {
    const std::string &prefix = options.prefix;
    std::string guard = llvm::StringRef(prefix).upper() + "_MP_OPT_H";
    os << "/* " << prefix << ".h - the model '" << escape(model)
       << "', compiled by mp-opt.\n\n"
       << getLibraries() << "\n\n"
       << "#ifndef " << guard << "\n#define " << guard << "\n\n"
       << llvm::StringRef(runtimeHeader, runtimeHeaderSize)
       << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
       << "/* Places in the array of inputs. */\nenum {\n";
    llvm::StringSet<> used;
    for (auto [index, input] : llvm::enumerate(interface.inputs))
      writePlace(index, input, "_in_", used, describeInput(index));
    os << "  " << prefix << "_num_inputs = " << interface.inputs.size()
       << "\n};\n\n/* Places in the array of outputs. */\nenum {\n";
    for (auto [index, output] : llvm::enumerate(interface.outputs))
      writePlace(index, output, "_out_", used, describeOutput(output));
    os << "  " << prefix << "_num_outputs = " << interface.outputs.size()
       << "\n};\n\n";
    writeRun();
    os << "/* What is said here, for programs that ask while they run, and "
          "defaults. */\nconst mp_interface *"
       << prefix << "_interface(void);\n\n";
    writeRelease();
    os << "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  }

private:
  bool isOnDevice() const { return options.device != DeviceKind::CPU; }

  llvm::StringRef getLibraries() const {
    switch (options.device) {
    case DeviceKind::CPU:
      return "   Link the code with mp-opt's run-time library, libm and "
             "pthreads; a shared\n   library (--emit=lib) has them in it. */";
    case DeviceKind::CUDA:
      return "   Link the code with libMPOptCUDA.a and libMPOptRuntime.a of "
             "mp-opt, libm and\n   pthreads; a shared library (--emit=lib) has "
             "them in it. libcuda.so.1, which\n   comes with NVIDIA's driver, "
             "is opened by the first call. */";
    case DeviceKind::Emulated:
      return "   Link the code with libMPOptCUDA.a, libMPOptEmulatedDriver.a, "
             "libMPOptEmulation.a\n   and libMPOptRuntime.a of mp-opt, libm, "
             "pthreads and C++'s library; a shared\n   library (--emit=lib) "
             "has them in it. Kernels run on the processor, slowly. */";
    }
    llvm_unreachable("unknown device");
  }

  void writeRun() {
    os << "/* Computes the outputs: see mp_model above.";
    if (isOnDevice())
      os << " Inputs and outputs are memory of\n   the host; sizes are those "
            "said here. Calls from several threads take turns.";
    if (isOnDevice() && options.updateInPlace)
      os << "\n   What is written over (written above) stays on the device: "
            "without data, such\n   an input is as the last call has left it, "
            "at first its default. Its next\n   value is copied to the data of "
            "the output, and to that of the input, if they\n   are given. "
            "After "
            "a call that failed on the device, all have to be given.";
    os << " */\nint32_t " << options.prefix
       << "_run(const mp_tensor *inputs, mp_tensor *outputs);\n\n";
    if (isOnDevice())
      os << "/* Which device calls use, as its driver counts them: 0, unless "
            "this says\n   otherwise before the first call or behind "
         << options.prefix << "_release. */\nint32_t " << options.prefix
         << "_set_device(int32_t number);\n\n";
  }

  void writeRelease() {
    if (isOnDevice())
      os << "/* The first call takes memory of the device for all later ones. "
            "This gives it\n   back, with what calls have left there: before "
            "the library is unloaded, or when\n   the model is not needed for "
            "a "
            "while. No call of the model may run meanwhile. */\n";
    else
      os << "/* The first call packs weights for later ones, which takes about "
            "as much memory\n   as these. This frees it: before the library is "
            "unloaded, or when the model is\n   not needed for a while. No "
            "call "
            "of the model may run meanwhile. */\n";
    os << "void " << options.prefix << "_release(void);\n\n";
  }

  void writePlace(unsigned index, const ProgramValue &value,
                  llvm::StringRef kind, llvm::StringSet<> &used,
                  const std::string &more) {
    std::string name = options.prefix + kind.str() + getPlaceName(value.name);
    // Different names may become the same identifier in C.
    while (!used.insert(name).second)
      name += "_" + std::to_string(index);
    os << "  /* '" << escape(value.name)
       << "': " << describeType(value.kind, value.sizes) << more << " */\n  "
       << name << " = " << index << ",\n";
  }

  static std::string getPlaceName(llvm::StringRef text) {
    std::string name;
    for (char c : text)
      name += llvm::isAlnum(c) ? c : '_';
    return name;
  }

  std::string describeInput(unsigned index) const {
    std::string text;
    if (interface.inputs[index].hasDefault)
      text += ", has a default";
    if (options.updateInPlace && interface.isState(index))
      text += ", its next value is written over it";
    return text;
  }

  std::string describeOutput(const ProgramValue &value) const {
    if (value.state < 0)
      return "";
    return ", the next value of '" +
           escape(interface.inputs[value.state].name) + "'";
  }

  llvm::raw_ostream &os;
  const ModelInterface &interface;
  const LibraryOptions &options;
};

} // namespace

std::string makeHeader(const ModelInterface &interface,
                       const LibraryOptions &options, llvm::StringRef model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  HeaderWriter(os, interface, options).write(model);
  return text;
}

} // namespace mp
