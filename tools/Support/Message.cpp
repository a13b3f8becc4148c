//===- Message.cpp - What programs say on standard error ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Message.h"

#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <unistd.h>

using namespace llvm;
using mlir::DiagnosticSeverity;

namespace mp {

/// The value of a variable; empty if it is not set.
static StringRef getVariable(const char *name) {
  const char *value = ::getenv(name);
  return value ? value : "";
}

bool showsColors() {
  // Any value except an empty one counts, see no-color.org.
  if (!getVariable("NO_COLOR").empty())
    return false;
  StringRef forced = getVariable("CLICOLOR_FORCE");
  if (!forced.empty() && forced != "0")
    return true;
  StringRef terminal = getVariable("TERM");
  return ::isatty(STDERR_FILENO) && !terminal.empty() && terminal != "dumb";
}

void setUpColors() {
  WithColor::setAutoDetectFunction(
      [](const raw_ostream &os) { return &os == &errs() && showsColors(); });
  errs().enable_colors(showsColors());
}

/// The colour that compilers use for each kind; text is bold.
static raw_ostream::Colors getColor(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return raw_ostream::RED;
  case DiagnosticSeverity::Warning:
    return raw_ostream::MAGENTA;
  case DiagnosticSeverity::Remark:
    return raw_ostream::BLUE;
  case DiagnosticSeverity::Note:
    return raw_ostream::CYAN;
  }
  return raw_ostream::SAVEDCOLOR;
}

void printMessage(StringRef who, DiagnosticSeverity severity,
                  const Twine &text) {
  // The message is written at once: other ranks may print, too.
  std::string line;
  raw_string_ostream os(line);
  os.enable_colors(showsColors());
  os << escapeText(who) << ": ";
  os.changeColor(getColor(severity), /*Bold=*/true);
  os << getKind(severity) << ":";
  os.resetColor();
  os << " " << escapeText(StringRef(text.str()).rtrim('\n')) << "\n";
  errs() << line;
}

} // namespace mp
