//===- AttributeNames.h - Attributes of the mp dialect ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All attributes that passes leave for later ones: their place, their kind, and
// the pass that removes them. The dialect's verifier has the same rules
// (Attributes.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_MP_ATTRIBUTENAMES_H
#define MPOPT_DIALECT_MP_ATTRIBUTENAMES_H

#include "llvm/ADT/StringRef.h"

namespace mp {

namespace mark {

// Attributes of the precision passes; mp-verify-precision removes them.

/// On a node: ClassAttr (mp-classify), PrecisionAttr (mp-assign).
inline constexpr llvm::StringLiteral opClass = "mp.class";
inline constexpr llvm::StringLiteral precision = "mp.precision";
/// On a node, before it has a class: HazardAttr, CompositeAttr; the float value
/// computes shapes or indices (unit).
inline constexpr llvm::StringLiteral hazard = "mp.hazard";
inline constexpr llvm::StringLiteral composite = "mp.composite";
inline constexpr llvm::StringLiteral shapeArithmetic = "mp.shape_arithmetic";
/// On a node with a hazard: the hazard is a possibility, which data can rule
/// out (unit). On a node without: the reason why data have (HazardAttr).
inline constexpr llvm::StringLiteral cautious = "mp.cautious";
inline constexpr llvm::StringLiteral harmless = "mp.harmless";
/// Statistics of values in data (array<f64>, Precision/Data/RangeMarks.h): on a
/// node those of its results; on a graph those of its inputs, by name
/// (dictionary).
inline constexpr llvm::StringLiteral observed = "mp.observed";
inline constexpr llvm::StringLiteral observedInputs = "mp.observed_inputs";
/// On a graph: least and greatest elements of inputs, by name (dictionary of
/// array<f64>).
inline constexpr llvm::StringLiteral inputRanges = "mp.input_ranges";
/// On a node: its number, as long as a copy of the model is measured (i64).
inline constexpr llvm::StringLiteral place = "mp.place";
/// On a product that stays 16 bit because of its cost: HazardAttr, the reason
/// that would keep it fp32.
inline constexpr llvm::StringLiteral costly = "mp.costly";
/// On a node that this compiler has added to the user's (a loss, the rules of
/// an optimizer): operator lists do not apply to it, so that none of their
/// requests is refused, and its constants are not parameters (unit).
inline constexpr llvm::StringLiteral added = "mp.added";
/// On a node that the raising of the opset has made, and on the module if any
/// such node exists (unit).
inline constexpr llvm::StringLiteral adapter = "mp.opset_adapter";
/// On the module: the highest opset that allowed nodes need for 16 bit, and why
/// the model was not raised to it (dictionary of `opset` and `reason`).
inline constexpr llvm::StringLiteral opsetObstacle = "mp.opset_obstacle";
/// On a node: why the runtime that the model is for does not run it in 16 bit
/// (string); its float operands must have one type there (unit).
inline constexpr llvm::StringLiteral noKernel = "mp.no_kernel";
inline constexpr llvm::StringLiteral oneType = "mp.one_type";
/// On a constant: in 16 bit, finite elements beyond +-this f32 become it.
inline constexpr llvm::StringLiteral clamp = "mp.clamp";
/// On a constant: properties of its elements, found in one pass over them (f64
/// array; ConstantRange writes and reads it).
inline constexpr llvm::StringLiteral range = "mp.range";
/// On a Cast: inserted by a pass, not the user's (unit).
inline constexpr llvm::StringLiteral inserted = "mp.inserted";
/// On the module: PolicyAttr (mp-set-policy).
inline constexpr llvm::StringLiteral policy = "mp.policy";
/// On the module: types of the graph's inputs and outputs at the start.
inline constexpr llvm::StringLiteral inputTypes = "mp.input_types";
inline constexpr llvm::StringLiteral outputTypes = "mp.output_types";
/// On the module: element types that the user wants for the graph's inputs and
/// outputs, `none` for those that stay (mp-set-io-types).
inline constexpr llvm::StringLiteral wantedInputs = "mp.wanted_inputs";
inline constexpr llvm::StringLiteral wantedOutputs = "mp.wanted_outputs";
/// On a graph: inputs whose last digits decide results, by name, with the
/// reason (dictionary of strings; mp-annotate-sensitive-values).
inline constexpr llvm::StringLiteral sensitiveInputs = "mp.sensitive_inputs";
/// On the module, counters (i64): bytes of all float values and their casts,
/// as assigned; casts so far; elements that conversion made zero; constants
/// with elements that were clamped.
inline constexpr llvm::StringLiteral costBytes = "mp.cost_bytes";
inline constexpr llvm::StringLiteral castsInserted = "mp.casts_inserted";
inline constexpr llvm::StringLiteral castsRemoved = "mp.casts_removed";
inline constexpr llvm::StringLiteral elementsToZero = "mp.elements_to_zero";
inline constexpr llvm::StringLiteral masksClamped = "mp.masks_clamped";

/// On the module, permanently: a summary of the pipeline (dictionary).
inline constexpr llvm::StringLiteral summary = "mp.summary";

// Attributes of onnx-specialize-functions, until onnx-merge-functions.

/// On a function: it is the clone, typed for one call, of the function of this
/// name (string). On the call: the clone's name. On a node of the main graph:
/// the types (array) that its results and the inputs of its subgraphs have in
/// the model.
inline constexpr llvm::StringLiteral specialized = "mp.specialized";
inline constexpr llvm::StringLiteral callee = "mp.callee";
inline constexpr llvm::StringLiteral untyped = "mp.untyped";

/// On a node: RoundingErrorAttr. On the module: ErrorLimitAttr, and the root
/// mean square error (f64) that mp-assign predicts for its result.
inline constexpr llvm::StringLiteral roundingError = "mp.rounding_error";
inline constexpr llvm::StringLiteral errorLimit = "mp.error_limit";
inline constexpr llvm::StringLiteral predictedError = "mp.predicted_error";
/// On a node whose roundings have been attributed (f64 array): the relative
/// root mean square error that they cause alone, their share of the squared
/// error of the model, and the measured error, negative if it was not run.
inline constexpr llvm::StringLiteral nodeError = "mp.node_error";
/// On the module: the error of the whole conversion (dictionary; ErrorMarks.h).
inline constexpr llvm::StringLiteral errorTotals = "mp.error_totals";
/// On an Identity: the number (i64) of the place of a rounding
/// (Attribution/RoundingSpots.h), and of a part of a pool's gradient.
inline constexpr llvm::StringLiteral spot = "mp.spot";
inline constexpr llvm::StringLiteral kink = "mp.kink";

// Attributes of training passes.

/// On the main graph: the name of its loss (string), and the names of the
/// inputs that are trained (array).
inline constexpr llvm::StringLiteral loss = "mp.loss";
inline constexpr llvm::StringLiteral trained = "mp.trained";
/// On the module: one dictionary for each candidate (ParameterTable.h).
inline constexpr llvm::StringLiteral parameters = "mp.parameters";
/// On an Identity: no gradient passes it (unit). On a Gather: the row of its
/// table that gets none (i64). On an Identity: the initializer whose next value
/// it passes on (string). mp-differentiate removes all three.
inline constexpr llvm::StringLiteral stopGradient = "mp.stop_gradient";
inline constexpr llvm::StringLiteral paddingIndex = "mp.padding_index";
inline constexpr llvm::StringLiteral nextBuffer = "mp.next_buffer";
/// On an initializer that the user wants to tie with others.
inline constexpr llvm::StringLiteral tied = "mp.tied";

// Attributes of lowering.

/// On the module: TargetAttr (mp-set-target).
inline constexpr llvm::StringLiteral target = "mp.target";

// On arguments and results of `main`:

/// The name in ONNX; constants have none.
inline constexpr llvm::StringLiteral name = "mp.name";
/// ONNX's element type.
inline constexpr llvm::StringLiteral element = "mp.element";
/// The elements of a constant, or of an input's default.
inline constexpr llvm::StringLiteral constant = "mp.constant";
/// On a result: the argument whose next state it is.
inline constexpr llvm::StringLiteral state = "mp.state";

/// On the module, for ModelInterface.h: descriptions of the program's arguments
/// (arrays), the bytes of its arena, the number of its cache entries.
inline constexpr llvm::StringLiteral inputs = "mp.inputs";
inline constexpr llvm::StringLiteral outputs = "mp.outputs";
inline constexpr llvm::StringLiteral constants = "mp.constants";
inline constexpr llvm::StringLiteral arena = "mp.arena";
inline constexpr llvm::StringLiteral cacheEntries = "mp.kept";
/// One dictionary for each op that `mp-insert-stamps` has put a timestamp
/// after: `nodes`, texts, and `work`.
inline constexpr llvm::StringLiteral timestamped = "mp.stamped";
/// On the body of a parallel loop: pointers that nothing else reaches.
inline constexpr llvm::StringLiteral exclusive = "mp.exclusive";

} // namespace mark

} // namespace mp

#endif // MPOPT_DIALECT_MP_ATTRIBUTENAMES_H
