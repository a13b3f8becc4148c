//===- InputFit.h - Arrays in the form that a model takes -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rule for all ways that data come by: files, flags and calls. Elements of
// another type become those of the input's where Data/Convert.h allows it; all
// else is an error that says what to do to the array, as numpy writes it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_INPUTFIT_H
#define MPOPT_API_INPUTFIT_H

#include "mp-opt/API/ModelValue.h"

namespace mp {

/// What to do to an array of these sizes so that it fits: ": labels.argmax(1)
/// makes class numbers of it"; empty if nothing is known.
std::string adviseForm(const ModelValue &input, ElementKind kind,
                       llvm::ArrayRef<int64_t> sizes);

/// Fails unless the sizes are those that `input` takes.
llvm::Error checkSizes(const ModelValue &input, const Tensor &tensor);

/// Fails unless elements of this kind can be those of `input`.
llvm::Error checkKind(const ModelValue &input, const Tensor &tensor);

/// Fails, naming the element, where `input` does not take all of them.
llvm::Error checkElements(const ModelValue &input, const Tensor &tensor);

/// "'x': float64 becomes float32"
std::string describeConversion(const ModelValue &input, ElementKind kind);

/// The tensor, or a copy of the input's type. `note` hears of a conversion.
llvm::Expected<Tensor>
fitInput(const ModelValue &input, const Tensor &tensor,
         llvm::function_ref<void(const llvm::Twine &)> note);

} // namespace mp

#endif // MPOPT_API_INPUTFIT_H
