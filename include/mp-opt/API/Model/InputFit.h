//===- InputFit.h - Arrays in the form that a model takes -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files, flags and calls share one rule for data. Elements of another type are
// converted to that of the input if Data/Convert.h allows it. Anything else is
// an error that says how to change the array, in numpy's notation.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_INPUTFIT_H
#define MPOPT_API_MODEL_INPUTFIT_H

#include "mp-opt/API/Model/ModelValue.h"

namespace mp {

/// Advice on how to make an array of these sizes fit, e.g. ": labels.argmax(1)
/// makes class numbers of it"; empty if none is known.
std::string adviseForm(const ModelValue &input, ElementKind kind,
                       llvm::ArrayRef<int64_t> sizes);

/// Fails unless the sizes are those that `input` takes.
llvm::Error checkSizes(const ModelValue &input, const Tensor &tensor);

/// Fails unless elements of this kind can be those of `input`.
llvm::Error checkKind(const ModelValue &input, const Tensor &tensor);

/// Fails, naming the element, if `input` does not take all elements.
llvm::Error checkElements(const ModelValue &input, const Tensor &tensor);

/// "'x': float64 becomes float32"
std::string describeConversion(const ModelValue &input, ElementKind kind);

/// The tensor, or a copy converted to the input's type. `note` receives a
/// message for each conversion.
llvm::Expected<Tensor>
fitInput(const ModelValue &input, const Tensor &tensor,
         llvm::function_ref<void(const llvm::Twine &)> note);

/// Converts a float tensor to the type of a float input, rounding once; other
/// tensors, and those of that type, come back. Fails if a finite element would
/// become infinite.
llvm::Expected<Tensor> fitFloats(const ModelValue &input, const Tensor &tensor);

} // namespace mp

#endif // MPOPT_API_MODEL_INPUTFIT_H
