//===- WorkForms.h - Work and reasons as table and as JSON ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPORT_WORKFORMS_H
#define MPOPT_LIB_REPORT_WORKFORMS_H

#include "mp-opt/Report/WorkSummary.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mp {

/// A share of multiply-adds, e.g. "98.7 %"; a count, e.g. "3.71 G".
std::string formatShare(const Work &work);
std::string formatCount(uint64_t count);

/// Prints words in lines of a terminal's width, indented by `indent` blanks;
/// continuation lines have two blanks more.
void printWrapped(llvm::StringRef text, size_t indent, llvm::raw_ostream &os);

/// Prints the table's first line; nothing for a model without such work.
void printWorkShare(const WorkSummary &work, llvm::StringRef precision,
                    llvm::raw_ostream &os);
/// Prints the phases of a step and, if little is 16 bit, the three reasons that
/// keep most of the work from it.
void printWork(const WorkSummary &work, llvm::StringRef precision,
               llvm::raw_ostream &os);
/// Writes the attributes `multiply_adds`, `phases` and `kept`.
void writeWork(const WorkSummary &work, llvm::StringRef precision,
               llvm::json::OStream &json);

} // namespace mp

#endif // MPOPT_LIB_REPORT_WORKFORMS_H
