//===- ErrorForms.h - Attributed errors as text and as JSON -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPORT_ERRORFORMS_H
#define MPOPT_LIB_REPORT_ERRORFORMS_H

#include "mp-opt/Report/PrecisionReport.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mp {

/// The indices of nodes with errors, the greatest share first.
std::vector<unsigned> rankErrors(const PrecisionReport &report);

/// Prints the error of a node, and reasons not to rely on it; nothing if the
/// node has none.
void printError(const PrecisionReport &report, const ReportNode &node,
                llvm::raw_ostream &os);

/// An error as JSON: null if it is not finite.
llvm::json::Value errorToJSON(double error);

/// Writes the keys of the errors of the whole conversion.
void writeTotals(const ErrorTotals &totals, llvm::json::OStream &json);

/// Writes the attribute `errors`, with the totals and the nodes that have the
/// greatest shares; nothing if errors were not attributed.
void writeErrors(const PrecisionReport &report, llvm::json::OStream &json);

} // namespace mp

#endif // MPOPT_LIB_REPORT_ERRORFORMS_H
