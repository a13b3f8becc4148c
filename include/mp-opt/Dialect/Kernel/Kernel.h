//===- Kernel.h - The kernel dialect ----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_KERNEL_KERNEL_H
#define MPOPT_DIALECT_KERNEL_KERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mp-opt/Dialect/MP/MP.h"

#include "mp-opt/Dialect/Kernel/KernelDialect.h.inc"
#include "mp-opt/Dialect/Kernel/KernelEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mp-opt/Dialect/Kernel/KernelAttributes.h.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/Kernel/KernelOps.h.inc"

namespace mp::kernel {

/// The factors of dimensions and the constant of a linear expression; absent if
/// it is not linear.
struct LinearForm {
  llvm::SmallVector<int64_t> factors;
  int64_t constant = 0;

  /// The single dimension that the expression is; -1 if it is something else.
  int getSingleDim() const;
};
std::optional<LinearForm> getLinearForm(mlir::AffineExpr expr,
                                        unsigned numDims);

/// Attribute (i64) of a contraction: the operand, a (0) or b (1), whose memory
/// never changes and is the same in all calls of the model.
constexpr llvm::StringLiteral constantName = "kernel.constant";

/// An operand that the epilogue reads.
struct Extra {
  mlir::Value value;
  mlir::AffineMap map;
};

/// Makes the stored element out of the sum and the extras' elements. The result
/// is cast to c's element type if it has another.
using Epilogue = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::Value sum, mlir::ValueRange)>;

/// c = epilogue(sum of a * b). `maps` are those of a, b and c.
ContractOp createContract(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value a, mlir::Value b, mlir::Value c,
                          llvm::ArrayRef<mlir::AffineMap> maps,
                          llvm::ArrayRef<Extra> extras = {},
                          Epilogue epilogue = {}, mlir::ValueRange sizes = {});

/// The maps of a, b and c for a matrix product whose ranks are at least 2 and
/// whose leading dimensions are broadcast as in NumPy: dims are c's, then k.
/// Only static sizes of 1 are broadcast.
llvm::SmallVector<mlir::AffineMap>
getMatmulMaps(mlir::ShapedType a, mlir::ShapedType b, mlir::ShapedType c,
              bool transposeA = false, bool transposeB = false);

/// The parameters of a convolution over the trailing dimensions. Empty strides
/// and dilations are ones, empty pads zeros. Only the pads at the begin count
/// here; those at the end are in the sizes of y.
struct Window {
  llvm::SmallVector<int64_t> strides, dilations, padsBegin;
  bool grouped = false;
};

/// The maps of x [N,C,...], w [F,C,k...], y [N,F,...]: dims are n, (g,) f,
/// spatial sizes of y, c, sizes of k. If it is grouped, x and y have been
/// expanded to [N,G,C,...] and [N,G,F,...], and w to [G,F,C,k...].
/// The gradient with respect to w is the contraction of dy and x into w by the
/// maps of y, x, w; that with respect to x, at stride 1, that of dy and w into
/// x by getConvInputGradientMaps.
llvm::SmallVector<mlir::AffineMap> getConvMaps(mlir::MLIRContext *context,
                                               unsigned spatialRank,
                                               const Window &window);

/// The maps of dy, w, dx for windows of stride 1: dims are n, (g,) c, spatial
/// sizes of dx, f, sizes of k.
llvm::SmallVector<mlir::AffineMap>
getConvInputGradientMaps(mlir::MLIRContext *context, unsigned spatialRank,
                         const Window &window);

/// Adds patterns that make contractions whose only use is a slice compute just
/// the slice: along axes that are taken whole, and along dimensions whose size
/// only c has.
void populateSlicePatterns(mlir::RewritePatternSet &patterns);

/// Adds a pattern that splits a contraction whose only uses are slices of one
/// axis, each of 64 elements or more, into one contraction for each, whose
/// operands are slices where they have the axis.
void populateSplitPatterns(mlir::RewritePatternSet &patterns);

/// Adds patterns that cut filter positions off the weights of convolutions if
/// they are outside of the image for all results and sizes are known.
void populateOutOfBoundsPositionPatterns(mlir::RewritePatternSet &patterns);

/// Replaces all `kernel.arg_select` in `root` by comparisons and selects.
void lowerArgSelects(mlir::Operation *root);

/// The number of multiplications and additions of all contractions in `root`,
/// each counted once; absent if a size is unknown.
std::optional<double> countFlops(mlir::Operation *root);

} // namespace mp::kernel

#endif // MPOPT_DIALECT_KERNEL_KERNEL_H
