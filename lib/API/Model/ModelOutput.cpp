//===- ModelOutput.cpp - Writing what a run makes of a model --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/ModelOutput.h"

#include "mp-opt/API/Model/Error.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
namespace path = llvm::sys::path;

namespace mp {

static constexpr StringLiteral externalNeedsFile =
    "the model has external data: write it as binary ONNX with -o";

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool isSameFile(StringRef lhs, StringRef rhs) {
  if (lhs.empty() || rhs.empty() || rhs == "-")
    return false;
  SmallString<256> left(lhs), right(rhs);
  for (SmallString<256> *path : {&left, &right}) {
    llvm::sys::fs::make_absolute(*path);
    path::remove_dots(*path, /*remove_dot_dot=*/true);
  }
  return left == right || llvm::sys::fs::equivalent(lhs, rhs);
}

llvm::Error ModelOutput::checkPaths(ArrayRef<std::string> read) const {
  auto refuse = [](StringRef written, const Twine &replaced) {
    return llvm::createStringError("'" + written + "' would replace " +
                                   replaced);
  };
  if (isSameFile(options.path, options.inputPath))
    return llvm::createStringError("the output would replace the input: give "
                                   "-o another name, and rename it afterwards");
  std::vector<std::string> written = options.others;
  written.insert(written.begin(), options.path);
  for (StringRef from : read)
    for (StringRef to : written)
      if (!to.empty() && llvm::sys::fs::equivalent(from, to))
        return refuse(to, "'" + from + "', which is read");
  for (StringRef other : options.others) {
    if (isSameFile(other, options.inputPath))
      return refuse(other, "the input");
    if (!options.path.empty() && options.writesModel &&
        (isSameFile(other, options.path) ||
         isDataFileOf(path::filename(other), path::filename(options.path))))
      return refuse(other, "the output");
    for (StringRef next : options.others)
      if (next.data() != other.data() && isSameFile(other, next))
        return llvm::createStringError("two files are to be written to '" +
                                       other + "'");
  }
  return llvm::Error::success();
}

llvm::Error ModelOutput::checkDataFiles(ModuleOp module) {
  for (const std::string &name : getExternalFiles(module)) {
    SmallString<256> file(path::parent_path(options.inputPath));
    path::append(file, name);
    struct stat status;
    if (!::stat(file.c_str(), &status))
      inputFiles.emplace_back(status);
    for (const std::string &other : options.others)
      if (isSameFile(other, file))
        return llvm::createStringError("'" + other +
                                       "' would replace the input's data file");
    if (isSameFile(options.path, file))
      return llvm::createStringError(
          "the output would replace the input's data file '" + name +
          "'; choose another name");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Old files
//===----------------------------------------------------------------------===//

using Content = std::unique_ptr<llvm::MemoryBuffer>;

static llvm::ErrorOr<Content> readBelow(const Directory &folder, StringRef name,
                                        struct stat &status) {
  auto file = folder.openFile(name);
  if (!file)
    return file.getError();
  if (::fstat(file->get(), &status) || !S_ISREG(status.st_mode))
    return std::make_error_code(std::errc::invalid_argument);
  return mapFile(*file, status, name);
}

/// True for a data file that an earlier version of this output used and that
/// the input does not need.
bool ModelOutput::isOldData(StringRef name) const {
  struct stat status;
  return isDataFileOf(name, path::filename(options.path)) &&
         !::fstatat(folder->get(), name.str().c_str(), &status,
                    AT_SYMLINK_NOFOLLOW) &&
         S_ISREG(status.st_mode) &&
         !llvm::is_contained(inputFiles, FileIdentity(status));
}

/// The data files of the model that will be replaced, without those that the
/// new one needs.
llvm::Expected<std::vector<std::string>> ModelOutput::findObsolete() const {
  std::vector<std::string> found;
  if (main->isDirect())
    return found;
  auto names = folder->list();
  if (!names)
    return main->fail(names.getError());
  auto isObsolete = [&](StringRef name) {
    return isOldData(name) && !needed.contains(name);
  };
  if (llvm::none_of(*names, isObsolete))
    return found;
  struct stat status;
  auto old = readBelow(main->getFolder(), main->getName(), status);
  if (!old && old.getError() == std::errc::io_error)
    return main->fail(old.getError());
  if (!old)
    return found;
  llvm::StringSet<> used = findExternalFiles((*old)->getBuffer());
  for (StringRef name : used.keys())
    if (isObsolete(name))
      found.push_back(name.str());
  llvm::sort(found);
  return found;
}

/// Removes the data files that a killed run has left: those that `leftover`, a
/// model without its final name, refers to and the model in place does not.
void ModelOutput::removeUnused(StringRef leftover) const {
  llvm::StringSet<> unused = findExternalFiles(leftover);
  if (unused.empty() || !folder)
    return;
  llvm::StringSet<> used;
  if (auto file = llvm::MemoryBuffer::getFile(options.path, false, false))
    used = findExternalFiles((*file)->getBuffer());
  for (StringRef name : unused.keys())
    if (isOldData(name) && !used.contains(name))
      ::unlinkat(folder->get(), name.str().c_str(), 0);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Adds a file with the data of `model`, which refers to it from then on.
llvm::Error ModelOutput::addData(ExportedModel &model, ForEachFn forEach) {
  auto part = AtomicFile::createPart(*folder, *main,
                                     "the data file of '" + options.path + "'");
  if (!part)
    return part.takeError();
  auto hash = writeContent(model.getExternalData(), **part, forEach);
  if (!hash)
    return hash.takeError();
  std::string name = model.nameExternalData(*hash);
  needed.insert(name);
  if (llvm::Error failed = (*part)->finish())
    return failed;
  struct stat status;
  if (auto old = readBelow(*folder, name, status)) {
    // A file with the same content stays, since other models may use it.
    if ((*part)->hasContent((*old)->getBuffer()))
      return llvm::Error::success();
    if (llvm::is_contained(inputFiles, FileIdentity(status)))
      return llvm::createStringError(
          "the output would replace the input's data file '" + name +
          "'; choose another name");
  }
  (*part)->setName(name);
  parts.push_back(std::move(*part));
  return llvm::Error::success();
}

/// Copies a data file of the input into the output's folder, under the name by
/// which the model refers to it.
llvm::Error ModelOutput::addCopy(StringRef name) {
  auto content = openExternalFile(options.inputPath, name,
                                  ImportOptions{options.externalDataRoots});
  if (!content)
    return content.takeError();
  std::string shown = "'" + folder->getPath(name) + "'";
  auto target = folder->openDirectory(path::parent_path(name), &madeFolders);
  if (!target)
    return llvm::createStringError("cannot write " + shown + ": " +
                                   target.getError().message());
  StringRef file = path::filename(name);
  struct stat status;
  if (auto old = readBelow(*target, file, status);
      old && (*old)->getBuffer() == (*content)->getBuffer())
    return llvm::Error::success();
  if (!::fstatat(target->get(), file.str().c_str(), &status,
                 AT_SYMLINK_NOFOLLOW))
    return llvm::createStringError("the model refers to '" + name +
                                   "', and the output's folder holds another " +
                                   (S_ISLNK(status.st_mode) ? "link" : "file") +
                                   " of that name");
  auto part = AtomicFile::createPart(*target, *main, shown);
  if (!part)
    return part.takeError();
  (*part)->os() << (*content)->getBuffer();
  if (llvm::Error failed = (*part)->finish())
    return failed;
  (*part)->setName(file);
  if (llvm::Error failed = (*part)->place())
    return failed;
  parts.push_back(std::move(*part));
  return llvm::Error::success();
}

llvm::Error ModelOutput::addCopies(ArrayRef<std::string> names) {
  for (const std::string &name : names)
    needed.insert(name);
  auto from = Directory::open(path::parent_path(options.inputPath));
  if (main->isDirect() ||
      (from && from->getIdentity() == folder->getIdentity()))
    return llvm::Error::success();
  for (const std::string &name : names)
    if (llvm::Error failed = addCopy(name))
      return failed;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

llvm::Error ModelOutput::open() {
  if (auto opened = Directory::open(path::parent_path(options.path)))
    folder = *opened;
  auto created = AtomicFile::create(
      options.path, [&](StringRef leftover) { removeUnused(leftover); });
  if (!created)
    return created.takeError();
  main = std::move(*created);
  // If a path exists, its folder can be opened.
  if (!folder)
    return main->fail(std::make_error_code(std::errc::permission_denied));
  return llvm::Error::success();
}

llvm::Error ModelOutput::commit() {
  begin("write");
  if (llvm::Error failed = main->finish())
    return failed;
  std::vector<AtomicFile *> all;
  for (const auto &part : parts)
    all.push_back(part.get());
  auto obsolete = findObsolete();
  if (!obsolete)
    return obsolete.takeError();
  return commitTogether(all, *main, *obsolete, &*folder);
}

llvm::Error ModelOutput::write(function_ref<bool(raw_ostream &)> print) {
  if (options.path.empty()) {
    print(llvm::outs());
    return flushStandardOutput();
  }
  if (llvm::Error failed = open())
    return failed;
  return print(main->os()) ? commit() : llvm::Error::success();
}

llvm::Error ModelOutput::writeONNX(ModuleOp module) {
  begin("export");
  std::unique_ptr<ExportedModel> model =
      exportONNX(module, path::filename(options.path));
  // The error is already reported.
  if (!model)
    return makeError({ErrorKind::BadInput, "", /*isReported=*/true});
  if (!options.copiesDataFiles && !model->getKeptFiles().empty())
    return makeError(
        {ErrorKind::BadInput, options.path + ": tensors in '" +
                                  model->getKeptFiles().front() +
                                  "' stay there, which is not supported"});
  if (options.path.empty()) {
    if (!model->getExternalData().empty())
      return llvm::createStringError(externalNeedsFile);
    printContent(model->getModel(), llvm::outs());
    return flushStandardOutput();
  }
  if (llvm::Error failed = open())
    return failed;
  auto forEach = [&](size_t count, function_ref<void(size_t)> body) {
    parallelFor(module.getContext(), 0, count, body);
  };
  bool hasData = !model->getExternalData().empty();
  if (hasData && main->isDirect() &&
      !llvm::sys::fs::equivalent(options.path, "/dev/null"))
    return llvm::createStringError(externalNeedsFile);
  if (hasData && !main->isDirect())
    if (llvm::Error failed = addData(*model, forEach))
      return failed;
  Format from = input.getFormat();
  if (from == Format::ONNX || from == Format::ONNXText)
    if (llvm::Error failed = addCopies(model->getKeptFiles()))
      return failed;
  if (main->isDirect())
    printContent(model->getModel(), main->os());
  else if (auto hash = writeContent(model->getModel(), *main, forEach); !hash)
    return hash.takeError();
  return commit();
}

llvm::Error ModelOutput::writeText(ModuleOp module) {
  begin("export");
  std::unique_ptr<ExportedModel> model =
      exportONNX(module, path::filename(options.path));
  if (!model)
    return makeError({ErrorKind::BadInput, "", /*isReported=*/true});
  if (!model->getExternalData().empty())
    return llvm::createStringError(externalNeedsFile);
  bool isPrinted = true;
  if (llvm::Error failed = write([&](raw_ostream &os) {
        return isPrinted = succeeded(model->writeText(os));
      }))
    return failed;
  return isPrinted ? llvm::Error::success()
                   : llvm::createStringError("export to ONNX text failed");
}

/// Copies the input and, into another folder, its data files.
llvm::Error ModelOutput::writeUnchanged(ModuleOp module) {
  if (options.path.empty())
    return write([&](raw_ostream &os) {
      os << input.getContent();
      return true;
    });
  if (llvm::Error failed = open())
    return failed;
  if (llvm::Error failed = addCopies(getExternalFiles(module)))
    return failed;
  main->os() << input.getContent();
  return commit();
}

llvm::Error ModelOutput::write(ModuleOp module, Format format, bool unchanged) {
  llvm::Error result = unchanged                ? writeUnchanged(module)
                       : format == Format::ONNX ? writeONNX(module)
                       : format == Format::ONNXText
                           ? writeText(module)
                           : write([&](raw_ostream &os) {
                               return printMLIR(module, format, os);
                             });
  // Remove everything that was not committed, and then the folders made for it.
  parts.clear();
  main.reset();
  if (result)
    for (const std::string &made : llvm::reverse(madeFolders))
      ::unlinkat(folder->get(), made.c_str(), AT_REMOVEDIR);
  return result;
}

//===----------------------------------------------------------------------===//
// Dry runs
//===----------------------------------------------------------------------===//

/// The error that prevents a file with this path from being created or
/// replaced.
static std::error_code checkAccess(StringRef file) {
  if (llvm::sys::fs::is_directory(file))
    return std::make_error_code(std::errc::is_a_directory);
  StringRef folder = path::parent_path(file);
  return llvm::sys::fs::access(folder.empty() ? "." : folder,
                               llvm::sys::fs::AccessMode::Write);
}

llvm::Expected<std::string> ModelOutput::describeWrite(ModuleOp module,
                                                       Format format) {
  std::string sizes;
  if (format == Format::ONNX) {
    begin("export");
    std::unique_ptr<ExportedModel> model =
        exportONNX(module, path::filename(options.path));
    if (!model)
      return makeError({ErrorKind::BadInput, "", /*isReported=*/true});
    uint64_t data = model->getExternalData().getSize();
    sizes = ", " + std::to_string(model->getModel().getSize()) + " bytes";
    if (data)
      sizes += " and " + std::to_string(data) + " of data next to it";
  }
  if (options.path.empty())
    return "the model would go to standard output" + sizes;
  if (std::error_code failed = checkAccess(options.path))
    return llvm::createStringError("cannot write '" + options.path +
                                   "': " + failed.message());
  return "'" + options.path + "' would be " +
         (llvm::sys::fs::exists(options.path) ? "replaced" : "written") + sizes;
}

void elideWeights(ModuleOp module) {
  auto &resources =
      DenseResourceElementsHandle::getManagerInterface(module.getContext());
  auto elided = resources.insert("__elided__");
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](DenseResourceElementsAttr attribute) {
    return DenseResourceElementsAttr::get(attribute.getType(), elided);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/false);
}

bool ModelOutput::printMLIR(ModuleOp module, Format format,
                            raw_ostream &os) const {
  if (format == Format::Bytecode)
    return succeeded(writeBytecodeToFile(module, os));
  if (options.elideWeights.value_or(options.path.empty()))
    elideWeights(module);
  module->print(os);
  os << "\n";
  return true;
}

} // namespace mp
