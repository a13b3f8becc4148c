//===- PTXKernels.cpp - What the driver gets ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: ptx-kernels [FOLDER]
//        ptx-kernels FOLDER CHIP FILE
//
// Kernels become PTX of the chip and version that are asked for, or that is an
// error. With a folder, images go there, for ptxas. With a file, whose text is
// a gpu.module in NVVM's dialect, its images do, and nothing is tested.
//
//===----------------------------------------------------------------------===//

#include "Expect.h"

#include "KernelTexts.h"

#include "mp-opt/Execution/EmitPTX.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using mp::DevicePlan;
using mp::PTXImage;

static llvm::Expected<std::vector<PTXImage>>
emit(MLIRContext &context, const Twine &kernels, const mp::PTXTarget &target) {
  auto module = parseSourceString<ModuleOp>(
      ("gpu.module @kernels {\nllvm.mlir.global external @mp_shared() "
       "{addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x "
       "i8>\n" +
       kernels + "}")
          .str(),
      &context);
  if (!module)
    return llvm::createStringError("the kernels cannot be read");
  return mp::emitPTX(*module->getOps<gpu::GPUModuleOp>().begin(), target, {});
}

static std::string makeKernels() {
  return mp::makeMap() + mp::makeSoftmax("softmax") + mp::makeSoftmax("rows") +
         mp::makeProduct("product", mp::productM, mp::productN, mp::productK);
}

static void write(StringRef folder, StringRef name, const PTXImage &image) {
  std::error_code error;
  llvm::raw_fd_ostream os((folder + "/" + name).str(), error);
  os << image.image.content;
  expect(!error, "cannot write to " + folder);
}

/// All kernels are found, each once, in an image with everything it needs.
static void checkImages(MLIRContext &context, StringRef folder) {
  struct {
    const char *chip;
    unsigned version, architecture, found;
    bool isSpecific;
  } targets[] = {{"sm_80", 0, 80, 80, false},
                 {"sm_80", 74, 80, 74, false},
                 {"sm_90a", 0, 90, 80, true},
                 {"sm_120", 0, 120, 87, false}};
  for (auto &target : targets) {
    auto images = emit(context, makeKernels(), {target.chip, target.version});
    if (!images)
      return expect(false, llvm::toString(images.takeError()));
    std::vector<std::string> kernels;
    for (const auto &[index, made] : llvm::enumerate(*images)) {
      const DevicePlan::Image &image = made.image;
      StringRef text = image.content;
      std::string version = ".version " + std::to_string(target.found / 10) +
                            "." + std::to_string(target.found % 10) + "\n";
      expect(image.kind == DevicePlan::ImageKind::PTX &&
                 image.architecture == target.architecture &&
                 image.isSpecific == target.isSpecific &&
                 image.ptxVersion == target.found && text.contains(version) &&
                 text.contains(std::string(".target ") + target.chip + "\n"),
             "an image is not of " + Twine(target.chip) + "\n" + text);
      expect(text.count(".visible .entry") == made.kernels.size() &&
                 !text.contains(".extern .func"),
             "an image has other kernels:\n" + text);
      for (const std::string &kernel : made.kernels)
        expect(text.contains(".visible .entry " + kernel + "("),
               "no '" + kernel + "'");
      llvm::append_range(kernels, made.kernels);
      if (!folder.empty())
        write(folder, target.chip + ("_" + Twine(index)).str() + ".ptx", made);
    }
    llvm::sort(kernels);
    expect(kernels ==
               std::vector<std::string>{"map", "product", "rows", "softmax"},
           "not all kernels are there");
  }
}

static void checkText(MLIRContext &context) {
  auto images = emit(context, makeKernels(), {});
  if (!images)
    return expect(false, llvm::toString(images.takeError()));
  std::string all;
  for (const PTXImage &image : *images)
    all += image.image.content;
  StringRef text = all;
  expect(text.contains(".extern .shared .align 1024 .b8 mp_shared[]"),
         "dynamic shared memory is not external:\n" + text);
  for (StringRef part :
       {"mma.sync.aligned.m16n8k16", "ldmatrix.sync", "cp.async.cg.shared",
        "shfl.sync.bfly", "softmax_totals", "rows_totals"})
    expect(text.contains(part), "no '" + part + "'");
}

static void checkRefusals(MLIRContext &context) {
  const char *calls = R"(
llvm.func @__nv_expf(f32) -> f32
llvm.func @exponential(%x: !llvm.ptr) attributes {nvvm.kernel} {
  %a = llvm.load %x : !llvm.ptr -> f32
  %b = llvm.call @__nv_expf(%a) : (f32) -> f32
  llvm.store %b, %x : f32, !llvm.ptr
  llvm.return
}
)";
  struct {
    std::string kernels;
    mp::PTXTarget target;
    const char *error;
  } cases[] = {
      {mp::makeMap(), {"sm_75", 0}, "chip 'sm_75': expected one of sm_80, "},
      {mp::makeMap(), {"gfx942", 0}, "chip 'gfx942': expected one of"},
      {mp::makeMap(), {"", 0}, "chip '': expected one of"},
      {mp::makeMap(), {"sm_90", 70}, "PTX 7.0 for sm_90: expected 7.8 to 8.8"},
      {mp::makeMap(), {"sm_90", 130}, "PTX 13.0 for sm_90: expected 7.8"},
      {calls, {}, "kernel 'exponential' calls '__nv_expf', which devices"},
  };
  for (auto &[kernels, target, expected] : cases) {
    auto images = emit(context, kernels, target);
    std::string found =
        images ? "no error" : llvm::toString(images.takeError());
    expect(StringRef(found).contains(expected),
           "found '" + found + "', expected '" + expected + "'");
  }
}

/// The images of a file, as CHIP_0.ptx, CHIP_1.ptx and so on.
static void writeImages(MLIRContext &context, StringRef folder, StringRef chip,
                        StringRef file) {
  auto module = parseSourceFile<ModuleOp>(file, &context);
  if (!module)
    return expect(false, "cannot read " + file);
  auto kernels = module->getOps<gpu::GPUModuleOp>();
  if (kernels.empty())
    return expect(false, file + ": no gpu.module");
  auto images = mp::emitPTX(*kernels.begin(), {chip.str(), 0}, {});
  if (!images)
    return expect(false, llvm::toString(images.takeError()));
  for (const auto &[index, image] : llvm::enumerate(*images))
    write(folder, (chip + "_" + Twine(index) + ".ptx").str(), image);
}

int main(int argc, char **argv) {
  MLIRContext context;
  context.loadDialect<gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  if (argc == 4) {
    writeImages(context, argv[1], argv[2], argv[3]);
    return isGood ? 0 : 1;
  }
  checkImages(context, argc > 1 ? argv[1] : "");
  checkText(context);
  checkRefusals(context);
  return isGood ? 0 : 1;
}
