//===- Strategy.cpp - Choice of a strategy for contractions ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Winograd's transforms are selected if they pay, else blocked products.
// Micro-panels of both sides are packed, except for a right-hand side with few
// rows of the output, for which packing takes longer than it saves, and a
// left-hand side that consists of lines of K.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/Strategy.h"
#include "Convolution/Depthwise/DepthwiseStrategy.h"
#include "Convolution/Winograd/WinogradStrategy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace mp::kernel {

namespace {
/// The parameters of a ConfigAttr.
struct Config {
  Strategy strategy = Strategy::Blocked;
  Products products = Products::Widen;
  int64_t mr = 0, nr = 0, lanes = 0, f = 0;
  Packing lhs = Packing::MNMajor, rhs = Packing::MNMajor;
  CacheBlocks blocks = {0, 0, 0}, deepBlocks = {0, 0, 0};
  Cached cached = Cached::None;
  Store store = Store::Memory;
  int64_t tail = 0;
  bool rhsAhead = false;

  int64_t getElementsPerPack() const {
    return products == Products::Widen ? 1 : 2;
  }
  ConfigAttr get(MLIRContext *context) const {
    return ConfigAttr::get(context, strategy, products, mr, nr, lanes, f, lhs,
                           rhs, blocks.mc, blocks.nc, blocks.kc, deepBlocks.mc,
                           deepBlocks.nc, deepBlocks.kc, cached, store, tail,
                           rhsAhead);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Possible configurations
//===----------------------------------------------------------------------===//

/// True if the right-hand side consists of lines of N within bounds.
static bool canReadRHSInPlace(const ContractShape &shape) {
  return shape.isSingle(N) && shape.getRHS().bounds.empty() &&
         shape.getStep(N, shape.rhs) == 1;
}

/// True if the left-hand side has the type of the sums: its elements are read
/// one by one. An image that has bounds is copied to one that has none.
static bool canReadLHSInPlace(const ContractShape &shape) {
  const OperandShape &operand = shape.getLHS();
  return operand.element == shape.accumulator && !operand.rounding &&
         !shape.groups[M].empty() && !shape.groups[K].empty() &&
         (operand.bounds.empty() ||
          shape.contract.types[shape.lhs].getLayout().isIdentity());
}

/// True if all of an operand can be packed before all tasks: it must have its
/// own part for each batch.
static bool canCache(const ContractShape &shape, unsigned operand) {
  return llvm::all_of(shape.groups[Batch], [&](ArrayRef<unsigned> dims) {
    return shape.operands[operand].moves[dims.back()];
  });
}

static bool areFactorsBF16(const ContractShape &shape) {
  return shape.factors[0].isBF16() && shape.factors[1].isBF16();
}

/// True if the code for each vector that is stored is short, and elements of a
/// row may be contiguous in all operands.
static bool canStoreFromRegisters(ContractOp op, const ContractShape &shape) {
  constexpr int64_t maxOps = 8;
  // Constants become part of it, wherever they are now.
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op.getEpilogue(), used);
  SmallVector<Operation *> ops;
  for (Operation &inner : op.getEpilogue().front())
    ops.push_back(&inner);
  for (Value value : used)
    if (matchPattern(value, m_Constant()))
      ops.push_back(value.getDefiningOp());
  auto isCheap = [](Operation *inner) {
    return isa<YieldOp>(inner) || isa<arith::ArithDialect>(inner->getDialect());
  };
  auto mayBeRun = [&](unsigned operand) {
    return !shape.moves(N, shape.operands[operand]) ||
           shape.getStep(N, operand) == 1;
  };
  return ops.size() <= maxOps && llvm::all_of(ops, isCheap) &&
         llvm::all_of(llvm::seq<unsigned>(2, shape.operands.size()), mayBeRun);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Packs along K, or along M or N, whichever is contiguous in memory; if both
/// are, the way that takes less time.
static Packing choosePacking(const ContractShape &shape, unsigned operand,
                             GroupKind kind, const Config &config) {
  if (shape.getStep(K, operand) == 0)
    return Packing::MNMajor;
  if (shape.getStep(kind, operand) == 0)
    return Packing::KMajor;
  // Memory is contiguous along both.
  if (!shape.isShort(shape.groups[kind].back()))
    return Packing::MNMajor;
  int64_t length = shape.getMinLength(kind);
  if (shape.isShort(shape.groups[K].back()) && length >= shape.getMinLength(K))
    return Packing::MNMajor;
  // Transposing takes so many shuffles for each vector, which hold all elements
  // of their packs.
  int64_t shuffles = llvm::Log2_64(config.lanes);
  return getMaxRuns(config.lanes, length) * config.getElementsPerPack() >=
                 shuffles
             ? Packing::KMajor
             : Packing::MNMajor;
}

/// Chooses the register tile and the packing for it.
static Config chooseTile(const ContractShape &shape, Products products,
                         const TargetNumbers &numbers) {
  Config config;
  config.lanes =
      numbers.vectorBytes / (shape.accumulator.getIntOrFloatBitWidth() / 8);
  config.mr = numbers.tileRows;
  int64_t vectors = numbers.tileVectors;
  bool readsRHS = shape.hasFewRows() && canReadRHSInPlace(shape);
  if (!readsRHS && areFactorsBF16(shape))
    config.products = products;
  config.lhs = choosePacking(shape, shape.lhs, M, config);
  config.rhs =
      readsRHS ? Packing::InPlace : choosePacking(shape, shape.rhs, N, config);
  if (config.products == Products::AMX) {
    config.mr = 32;
    vectors = 2;
  } else if (std::optional<int64_t> few = shape.getShortSize(M);
             few && *few < config.mr) {
    vectors = std::min(config.mr * vectors / *few, int64_t(8));
    config.mr = *few;
  }
  config.nr = vectors * config.lanes;
  return config;
}

/// Steps are whole vectors of packs.
static CacheBlocks adapt(CacheBlocks blocks, const Config &config) {
  int64_t chunk = config.lanes * config.getElementsPerPack();
  blocks.kc = std::max(blocks.kc / chunk, int64_t(1)) * chunk;
  return blocks;
}

/// Selects a constant of the model (`kernel.constant`): all calls pack the
/// same.
static Cached chooseCached(ContractOp op, const ContractShape &shape,
                           const Config &config) {
  auto constant = op->getAttrOfType<IntegerAttr>(constantName);
  if (!constant || !canCache(shape, constant.getInt()) ||
      !getPackedSizes(op, constant.getInt()))
    return Cached::None;
  if (constant.getInt() == shape.lhs)
    return Cached::LHS;
  return config.rhs == Packing::InPlace ? Cached::None : Cached::RHS;
}

/// The size of a group, if it is known.
static std::optional<int64_t> getSize(ContractOp op, const ContractShape &shape,
                                      GroupKind kind) {
  SmallVector<int64_t> sizes = getStaticSizes(op);
  int64_t product = 1;
  for (ArrayRef<unsigned> dims : shape.groups[kind])
    for (unsigned dim : dims) {
      int64_t size = sizes[shape.contract.dims[dim]];
      if (ShapedType::isDynamic(size))
        return std::nullopt;
      product *= size;
    }
  return product;
}

/// Rows are read in place if they are lines of K, or windows of an image whose
/// channels are last, unless K is so long that packing rows piece by piece is
/// better. Sums of few terms are also read along rows of an image, for example
/// those of a first convolution's colours.
static bool paysToReadLHSInPlace(ContractOp op, const ContractShape &shape,
                                 const Config &config) {
  constexpr int64_t maxDepth = 8192;
  if (config.cached == Cached::LHS || config.products != Products::Widen ||
      !canReadLHSInPlace(shape))
    return false;
  int64_t step = shape.getStep(K, shape.lhs);
  if (shape.isSingle(M) && shape.isSingle(K) && shape.getLHS().bounds.empty())
    return config.lhs == Packing::KMajor && step == 1;
  auto depth = getSize(op, shape, K);
  if (!depth || *depth > maxDepth ||
      hasSingleDims(shape.contract.maps[shape.lhs]))
    return false;
  return step == 1 ||
         (shape.contract.isShallow && shape.getStep(M, shape.lhs) != 0);
}

/// Two panels of columns, as images of 7 x 7 have, would be two tasks, each of
/// which goes through all rows. Instead they are packed once, and tasks divide
/// the rows.
static bool paysToPackAhead(ContractOp op, const ContractShape &shape,
                            const Config &config) {
  constexpr int64_t minRows = 64, maxBytes = 1 << 20;
  if (config.products == Products::AMX || config.rhs == Packing::InPlace ||
      config.cached == Cached::RHS || shape.isBatched())
    return false;
  auto rows = getSize(op, shape, M), columns = getSize(op, shape, N),
       depth = getSize(op, shape, K);
  return rows && columns && depth && *rows >= minRows &&
         *columns <= 2 * config.nr &&
         *columns * *depth * int64_t(sizeof(float)) <= maxBytes;
}

/// Results that are stored from registers need a tile of their own, around the
/// epilogue; those that go through memory share one. A product of few
/// multiply-adds gains less than the compilation of its tile costs: at most
/// some microseconds of each call.
static bool paysToStoreFromRegisters(ContractOp op,
                                     const ContractShape &shape) {
  constexpr int64_t minWork = 1 << 21;
  int64_t work = 1;
  for (GroupKind kind : {Batch, M, N, K}) {
    std::optional<int64_t> size = getSize(op, shape, kind);
    if (!size || llvm::MulOverflow(work, *size, work))
      return true;
  }
  return work >= minWork;
}

/// The number of columns that are left over by whole panels, if they are few: a
/// panel for them would go through all rows for one vector that is hardly
/// filled. It is 0 if sizes of images are not known. If there are such columns,
/// rows are packed by vectors of K, at whatever cost if they are a constant's.
static int64_t findTail(ContractOp op, const ContractShape &shape,
                        const Config &config) {
  bool isByVector =
      config.lhs == Packing::KMajor ||
      (config.cached == Cached::LHS && shape.getStep(K, shape.lhs) != 0);
  // Either side of other products of matrices may be a constant: sums have the
  // same order whether it is or not.
  bool isMatrix = shape.isSingle(K) && config.cached != Cached::LHS;
  if (config.products != Products::Widen || !isByVector || isMatrix ||
      config.rhs == Packing::InPlace || config.cached == Cached::RHS)
    return 0;
  std::optional<int64_t> columns = getSize(op, shape, N);
  if (!columns)
    return 0;
  int64_t rest = *columns % config.nr;
  return rest <= config.lanes / 2 ? rest : 0;
}

static Config chooseBlocked(ContractOp op, const ContractShape &shape,
                            Products products, const TargetNumbers &numbers) {
  Config config = chooseTile(shape, products, numbers);
  bool isAMX = config.products == Products::AMX;
  config.blocks = adapt(numbers.blocks, config);
  if (isAMX)
    config.deepBlocks = adapt(numbers.deepBlocks, config);
  config.cached = chooseCached(op, shape, config);
  if (paysToReadLHSInPlace(op, shape, config))
    config.lhs = Packing::InPlace;
  if (shape.contract.isShallow && config.blocks.kc >= maxShallow && !isAMX &&
      canStoreFromRegisters(op, shape) && paysToStoreFromRegisters(op, shape))
    config.store = Store::Registers;
  config.tail = findTail(op, shape, config);
  if (config.tail > 0)
    config.lhs = Packing::KMajor;
  config.rhsAhead = paysToPackAhead(op, shape, config);
  return config;
}

/// Edges of tiles, the best first; none if products of pairs are faster.
static SmallVector<int64_t> getTileEdges(ContractOp op,
                                         const ContractShape &shape,
                                         Products products,
                                         const TargetNumbers &numbers) {
  bool isPaired = products != Products::Widen && areFactorsBF16(shape);
  // Processors with narrower vectors have no masks for elements of 16 bits.
  constexpr int64_t maskedBytes = 64;
  SmallVector<int64_t> edges;
  if (isNarrow(op, shape) && !(isPaired && products == Products::AMX) &&
      numbers.vectorBytes >= maskedBytes)
    edges.push_back(4);
  if (!isPaired)
    edges.push_back(2);
  return edges;
}

/// Vectors of channels are whole micro-panels of rows, or parts of one.
static Config adaptToWeights(Config config) {
  config.strategy = Strategy::WinogradWeights;
  config.lhs = Packing::MNMajor;
  config.cached = Cached::None;
  if (config.lanes % config.mr != 0 && config.mr % config.lanes != 0) {
    config.mr = 4;
    config.nr = 3 * config.lanes;
  }
  return config;
}

/// Products are in f32, whatever the target uses for 16 bits.
static std::optional<Config> chooseWinograd(ContractOp op,
                                            const ContractShape &shape,
                                            Products products,
                                            const TargetNumbers &numbers) {
  auto windows = findWindows(shape, /*sumsPixels=*/false);
  auto weightWindows = findWindows(shape, /*sumsPixels=*/true);
  if (!windows && !weightWindows)
    return std::nullopt;
  SmallVector<int64_t> edges = getTileEdges(op, shape, products, numbers);
  Config config = chooseTile(shape, Products::Widen, numbers);
  if (config.rhs == Packing::InPlace)
    return std::nullopt;
  config.strategy = Strategy::Winograd;
  config.lhs = Packing::KMajor;
  config.rhs = Packing::MNMajor;
  // The weights are kept; each task transforms images for itself.
  if (chooseCached(op, shape, config) == Cached::LHS)
    config.cached = Cached::LHS;
  for (int64_t edge : edges) {
    config.f = edge;
    if (windows && canTransform(shape, *windows, edge, config.lanes) &&
        paysToTransform(shape, *windows, edge))
      return config;
  }
  config = adaptToWeights(config);
  for (int64_t edge : edges) {
    config.f = edge;
    if (weightWindows && canTransformWeights(shape, *weightWindows) &&
        paysToTransformWeights(shape, edge))
      return config;
  }
  return std::nullopt;
}

/// Tiles have eight vectors of sums, which keep two units for multiply-adds
/// busy. Rows that are known to fit a vector are one each, others two. If
/// vectors are of channels, a tile has up to eight pixels of a row, and divides
/// a row that is known to be short into about equal parts.
static std::optional<Config> chooseDepthwise(ContractOp op,
                                             const ContractShape &shape,
                                             const TargetNumbers &numbers) {
  constexpr int64_t numSums = 8;
  std::optional<DepthwiseWindows> windows = findDepthwiseWindows(shape);
  if (!windows)
    return std::nullopt;
  Config config;
  config.strategy = Strategy::Depthwise;
  config.lanes = numbers.vectorBytes / int64_t(sizeof(float));
  int64_t length = shape.contract.minSizes[windows->columns.pixel];
  bool isKnown = length > 0 && length < minLong;
  if (windows->channels) {
    config.mr =
        isKnown ? llvm::divideCeil(length, llvm::divideCeil(length, numSums))
                : numSums;
    config.nr = config.lanes;
    auto constant = op->getAttrOfType<IntegerAttr>(constantName);
    if (!windows->sumsPixels && constant && constant.getInt() == shape.lhs &&
        getPackedSizes(op, shape.lhs))
      config.cached = Cached::LHS;
    return config;
  }
  int64_t vectors = isKnown && length <= config.lanes ? 1 : 2;
  config.mr = numSums / vectors;
  config.nr = vectors * config.lanes;
  return config;
}

ConfigAttr selectStrategy(ContractOp op, const Target &target,
                          const TargetNumbers &numbers) {
  ContractShape shape = ContractShape::get(op);
  std::optional<Config> config = chooseDepthwise(op, shape, numbers);
  if (!config && !target.isDirect)
    config = chooseWinograd(op, shape, target.products, numbers);
  if (!config)
    config = chooseBlocked(op, shape, target.products, numbers);
  return config->get(op.getContext());
}

//===----------------------------------------------------------------------===//
// Requested configurations
//===----------------------------------------------------------------------===//

/// The reason why a configuration does not fit; empty if it does.
static StringRef findMisfit(ContractOp op, const ContractShape &shape,
                            ConfigAttr config) {
  if (config.getProducts() != Products::Widen && !areFactorsBF16(shape))
    return "products of pairs need factors of bf16";
  if (config.getLhs() == Packing::InPlace && !canReadLHSInPlace(shape))
    return "lhs = in_place needs rows of a sum in the accumulator's type, and "
           "around an image that has bounds no other memory";
  if (config.getRhs() == Packing::InPlace && !canReadRHSInPlace(shape))
    return "rhs = in_place needs lines of N within bounds";
  bool isBlocked = config.getStrategy() == Strategy::Blocked;
  if (isBlocked && ((config.getLhs() == Packing::KMajor &&
                     shape.getStep(K, shape.lhs) == 0) ||
                    (config.getRhs() == Packing::KMajor &&
                     shape.getStep(K, shape.rhs) == 0)))
    return "k_major needs lines of K";
  bool isDepthwise = config.getStrategy() == Strategy::Depthwise;
  bool cachesLHS = config.getCached() == Cached::LHS;
  if (config.getCached() != Cached::None && !isDepthwise &&
      !canCache(shape, cachesLHS ? shape.lhs : shape.rhs))
    return "what is the same for all batches is not cached";
  if (config.getRhsAhead() && shape.isBatched())
    return "batches are not packed ahead";
  if (config.getStore() == Store::Registers &&
      (!shape.contract.isShallow || config.getKc() < maxShallow ||
       !canStoreFromRegisters(op, shape)))
    return "store = registers needs a short sum, done in one step, and rows of "
           "results";
  if (isBlocked)
    return "";
  if (isDepthwise) {
    std::optional<DepthwiseWindows> windows = findDepthwiseWindows(shape);
    if (!windows)
      return "depthwise needs sums over windows of one channel";
    bool isCached = config.getCached() != Cached::None;
    if (isCached && (!windows->channels || windows->sumsPixels ||
                     config.getCached() != Cached::LHS))
      return "of depthwise, weights of channels that are last are cached";
    return "";
  }
  bool isWeights = config.getStrategy() == Strategy::WinogradWeights;
  std::optional<ImageWindows> windows = findWindows(shape, isWeights);
  if (!windows || !(isWeights ? canTransformWeights(shape, *windows)
                              : canTransform(shape, *windows, config.getF(),
                                             config.getLanes())))
    return "transforms need 3 x 3 filters at stride 1 and an image that is "
           "read by rows";
  if (config.getF() == 4 && !isNarrow(op, shape))
    return "f = 4 needs factors and results of 16 bits";
  if (isWeights && config.getLanes() % config.getMr() != 0 &&
      config.getMr() % config.getLanes() != 0)
    return "winograd_weights needs mr that divides lanes, or the reverse";
  return "";
}

LogicalResult verifyStrategy(ContractOp op) {
  if (!op.getConfig())
    return op.emitError("expected a config, as kernel-select-strategy writes "
                        "it");
  StringRef misfit = findMisfit(op, ContractShape::get(op), *op.getConfig());
  if (!misfit.empty())
    return op.emitError() << "its config does not fit: " << misfit << ", got "
                          << *op.getConfig();
  return success();
}

} // namespace mp::kernel
