//===- OpEmulation.cpp - Ops that only a GPU has --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmulation.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mp::emulation {

namespace {

/// A special register, as a word of mp_emulated_thread or mp_emulated_block.
struct Register {
  StringLiteral name;
  bool ofBlock;
  int32_t word;
};
constexpr Register registers[] = {
    {"tid.x", false, 2},   {"tid.y", false, 3},   {"tid.z", false, 4},
    {"laneid", false, 5},  {"warpid", false, 6},  {"ntid.x", true, 0},
    {"ntid.y", true, 1},   {"ntid.z", true, 2},   {"ctaid.x", true, 3},
    {"ctaid.y", true, 4},  {"ctaid.z", true, 5},  {"nctaid.x", true, 6},
    {"nctaid.y", true, 7}, {"nctaid.z", true, 8},
};

const Register *findRegister(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (!name.consume_front("nvvm.read.ptx.sreg."))
    return nullptr;
  for (const Register &entry : registers)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

} // namespace

/// Replaces one op by code that is inserted before it.
class OpEmulation {
public:
  OpEmulation(FunctionEmulation &function, Operation *op)
      : function(function), op(op), b(op), loc(op->getLoc()) {}

  LogicalResult run();

private:
  LogicalResult refuse(const Twine &what);
  LogicalResult finish(ValueRange results = {});

  Value word(int64_t value) { return makeWord(b, loc, value); }
  Type getWord() { return b.getI32Type(); }
  /// Calls a function with the thread. `callPlaced` adds the op's place, and
  /// `callSynchronized` also notes that threads of the function wait for each
  /// other.
  Value call(StringRef name, ArrayRef<Value> arguments, Type result = {});
  Value callPlaced(StringRef name, ArrayRef<Value> arguments, Type result = {});
  Value callSynchronized(StringRef name, ArrayRef<Value> arguments,
                         Type result = {});
  /// Casts 32 bits to their type, or to a word.
  Value castWord(Value value, Type type);
  Value isNonzero(Value value);
  /// Returns the lower word; for a struct, the bit above it as well.
  Value unpack(Value value, Type low, Type type);

  LogicalResult readRegister(const Register &entry);
  LogicalResult synchronize(NVVM::BarrierOp barrier);
  LogicalResult shuffle(NVVM::ShflOp shuffle);
  LogicalResult vote(NVVM::VoteSyncOp vote);
  LogicalResult reduce(NVVM::ReduxOp reduction);
  LogicalResult match(NVVM::MatchSyncOp match);
  LogicalResult elect(NVVM::ElectSyncOp elect);
  LogicalResult load(NVVM::LdMatrixOp load);
  LogicalResult multiply(NVVM::MmaOp product);
  LogicalResult copy(NVVM::CpAsyncOp copy);
  LogicalResult round(NVVM::ConvertFloatToTF32Op round);
  LogicalResult round(LLVM::FPTruncOp round);
  LogicalResult approximate(LLVM::CallIntrinsicOp call);

  FunctionEmulation &function;
  Operation *op;
  OpBuilder b;
  Location loc;
};

LogicalResult FunctionEmulation::emulate(Operation *op) {
  return OpEmulation(*this, op).run();
}

LogicalResult OpEmulation::refuse(const Twine &what) {
  return op->emitError("cannot be emulated, in '")
         << function.function.getName() << "': " << what;
}

LogicalResult OpEmulation::finish(ValueRange results) {
  op->replaceAllUsesWith(results);
  op->erase();
  return success();
}

Value OpEmulation::call(StringRef name, ArrayRef<Value> arguments,
                        Type result) {
  SmallVector<Value> all = {function.getThread()};
  llvm::append_range(all, arguments);
  return callEmulator(b, loc, op, name, all, result);
}

Value OpEmulation::callPlaced(StringRef name, ArrayRef<Value> arguments,
                              Type result) {
  SmallVector<Value> all = {word(function.places.add(function.function, op))};
  llvm::append_range(all, arguments);
  return call(name, all, result);
}

Value OpEmulation::callSynchronized(StringRef name, ArrayRef<Value> arguments,
                                    Type result) {
  function.isSynchronized = true;
  return callPlaced(name, arguments, result);
}

Value OpEmulation::castWord(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(b, loc, type, value);
}

Value OpEmulation::isNonzero(Value value) {
  Value zero = LLVM::ConstantOp::create(b, loc, value.getType(),
                                        b.getIntegerAttr(value.getType(), 0));
  return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, value, zero);
}

Value OpEmulation::unpack(Value value, Type low, Type type) {
  Value first = castWord(LLVM::TruncOp::create(b, loc, getWord(), value), low);
  if (!isa<LLVM::LLVMStructType>(type))
    return first;
  Value width = LLVM::ConstantOp::create(b, loc, value.getType(),
                                         b.getI64IntegerAttr(32));
  Value above = LLVM::LShrOp::create(b, loc, value, width);
  Value both = LLVM::PoisonOp::create(b, loc, type);
  both = LLVM::InsertValueOp::create(b, loc, both, first, ArrayRef<int64_t>{0});
  return LLVM::InsertValueOp::create(b, loc, both, isNonzero(above),
                                     ArrayRef<int64_t>{1});
}

//===----------------------------------------------------------------------===//
// Threads and warps
//===----------------------------------------------------------------------===//

LogicalResult OpEmulation::readRegister(const Register &entry) {
  return finish(function.getRegister(entry.ofBlock, entry.word));
}

LogicalResult OpEmulation::synchronize(NVVM::BarrierOp barrier) {
  if (barrier.getReductionOp())
    return refuse("barriers that reduce");
  APInt id;
  Value given = barrier.getBarrierId(), count = barrier.getNumberOfThreads();
  bool isFirst =
      !given || (matchPattern(given, m_ConstantInt(&id)) && id.isZero());
  if (isFirst && !count)
    callSynchronized("mp_emulated_barrier", {});
  else
    callSynchronized(
        "mp_emulated_named_barrier",
        {given ? given : word(0), count ? count : word(0), word(1)});
  return finish();
}

LogicalResult OpEmulation::shuffle(NVVM::ShflOp shuffle) {
  Type type = shuffle.getVal().getType();
  Value value = castWord(shuffle.getVal(), getWord());
  Value both = callSynchronized(
      "mp_emulated_shuffle",
      {word(static_cast<int64_t>(shuffle.getKind())), shuffle.getThreadMask(),
       value, shuffle.getOffset(), shuffle.getMaskAndClamp()},
      b.getI64Type());
  return finish(unpack(both, type, shuffle.getType()));
}

LogicalResult OpEmulation::vote(NVVM::VoteSyncOp vote) {
  Value predicate = LLVM::ZExtOp::create(b, loc, getWord(), vote.getPred());
  Value result = callSynchronized(
      "mp_emulated_vote",
      {word(static_cast<int64_t>(vote.getKind())), vote.getMask(), predicate},
      getWord());
  return finish(vote.getType() == getWord() ? result : isNonzero(result));
}

LogicalResult OpEmulation::reduce(NVVM::ReduxOp reduction) {
  if (reduction.getType() != getWord())
    return refuse("reductions of floats");
  return finish(
      callSynchronized("mp_emulated_reduce",
                       {word(static_cast<int64_t>(reduction.getKind())),
                        reduction.getMaskAndClamp(), reduction.getVal()},
                       getWord()));
}

LogicalResult OpEmulation::match(NVVM::MatchSyncOp match) {
  Value value = match.getVal();
  if (value.getType() != b.getI64Type())
    value = LLVM::ZExtOp::create(b, loc, b.getI64Type(), value);
  bool isAll = match.getKind() == NVVM::MatchSyncKind::all;
  Value both = callSynchronized("mp_emulated_match",
                                {word(isAll), match.getThreadMask(), value},
                                b.getI64Type());
  return finish(unpack(both, getWord(), match.getType()));
}

LogicalResult OpEmulation::elect(NVVM::ElectSyncOp elect) {
  Value mask = elect.getMembermask();
  return finish(isNonzero(callSynchronized(
      "mp_emulated_elect", {mask ? mask : word(-1)}, getWord())));
}

//===----------------------------------------------------------------------===//
// Matrices and copies
//===----------------------------------------------------------------------===//

LogicalResult OpEmulation::load(NVVM::LdMatrixOp load) {
  if (load.getShape().getM() != 8 || load.getShape().getN() != 8 ||
      load.getEltType() != NVVM::LdStMatrixEltType::B16)
    return refuse("expected matrices of 8 x 8 elements of 16 bit");
  bool transposed = load.getLayout() == NVVM::MMALayout::col;
  function.shares = true;
  Value slot = function.getResultSlot();
  callSynchronized(
      "mp_emulated_load_matrix",
      {word(load.getNum()), word(transposed), load.getPtr(), slot});
  return finish(
      LLVM::LoadOp::create(b, loc, load.getType(), slot)->getResults());
}

/// The product's kind in EmulatedCode.h; absent if it has none.
static std::optional<int64_t> getProductKind(NVVM::MmaOp product) {
  auto shape = product.getShape();
  auto type = product.getMultiplicandAPtxType();
  if (!type || product.getMultiplicandBPtxType() != type ||
      shape.getM() != 16 || shape.getN() != 8)
    return std::nullopt;
  auto sums = dyn_cast<LLVM::LLVMStructType>(product.getType());
  if (!sums || sums.getBody().size() != 4 ||
      !llvm::all_of(sums.getBody(), [](Type sum) { return sum.isF32(); }) ||
      product.getOperandA().size() != 4 || product.getOperandB().size() != 2 ||
      product.getOperandC().size() != 4)
    return std::nullopt;
  if (*type == NVVM::MMATypes::bf16 && shape.getK() == 16)
    return 0;
  if (*type == NVVM::MMATypes::f16 && shape.getK() == 16)
    return 1;
  if (*type == NVVM::MMATypes::tf32 && shape.getK() == 8)
    return 2;
  return std::nullopt;
}

LogicalResult OpEmulation::multiply(NVVM::MmaOp product) {
  std::optional<int64_t> kind = getProductKind(product);
  if (!kind) {
    auto type = product.getMultiplicandAPtxType();
    return refuse("found m" + Twine(product.getShape().getM()) + "n" +
                  Twine(product.getShape().getN()) + "k" +
                  Twine(product.getShape().getK()) + " of " +
                  (type ? NVVM::stringifyMMATypes(*type) : "unknown factors") +
                  ", expected m16n8k16 of bf16 or f16 or m16n8k8 of tf32, with "
                  "sums of f32");
  }
  Value slot = function.getOperandSlot(), result = function.getResultSlot();
  for (auto [index, operand] : llvm::enumerate(product.getOperands())) {
    Value place = LLVM::GEPOp::create(
        b, loc, slot.getType(), getWord(), slot,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(b, loc, operand, place);
  }
  callSynchronized("mp_emulated_multiply", {word(*kind), slot, result});
  return finish(
      LLVM::LoadOp::create(b, loc, product.getType(), result)->getResults());
}

LogicalResult OpEmulation::copy(NVVM::CpAsyncOp copy) {
  function.shares = true;
  Value bytes = word(copy.getSize());
  Value used = copy.getCpSize() ? copy.getCpSize() : bytes;
  callPlaced("mp_emulated_copy", {copy.getDst(), copy.getSrc(), bytes, used});
  return finish();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {
/// Integers of any shape.
struct Bits {
  OpBuilder &b;
  Location loc;
  Type type;

  Value get(int64_t value) {
    Type element = getElementTypeOrSelf(type);
    TypedAttr attribute = b.getIntegerAttr(element, value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, attribute);
    return LLVM::ConstantOp::create(b, loc, type, attribute);
  }
  Value add(Value x, Value y) { return LLVM::AddOp::create(b, loc, x, y); }
  Value mask(Value x, int64_t y) {
    return LLVM::AndOp::create(b, loc, x, get(y));
  }
  Value shift(Value x, int64_t by) {
    return LLVM::LShrOp::create(b, loc, x, get(by));
  }
  Value isNaN(Value x) {
    return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ugt,
                                mask(x, 0x7fffffff), get(0x7f800000));
  }
  Value select(Value condition, Value x, Value y) {
    return LLVM::SelectOp::create(b, loc, condition, x, y);
  }
};
} // namespace

LogicalResult OpEmulation::round(NVVM::ConvertFloatToTF32Op round) {
  if (round.getSat() != NVVM::SaturationMode::NONE || round.getRelu() ||
      round.getRnd() == NVVM::FPRoundingMode::NONE)
    return refuse("expected rounding alone");
  Bits bits = {b, loc, getWord()};
  Value x = castWord(round.getSrc(), getWord());
  Value rounded = x;
  if (round.getRnd() == NVVM::FPRoundingMode::RNA)
    rounded = bits.add(x, bits.get(0x1000));
  else if (round.getRnd() == NVVM::FPRoundingMode::RN)
    rounded =
        bits.add(bits.add(x, bits.get(0xfff)), bits.mask(bits.shift(x, 13), 1));
  else if (round.getRnd() != NVVM::FPRoundingMode::RZ)
    return refuse("expected rounding to nearest or to zero");
  return finish(bits.select(bits.isNaN(x), bits.get(0x7fffffff),
                            bits.mask(rounded, ~int64_t(0x1fff))));
}

/// Rounds to bf16 in integers: the instructions of processors flush subnormals
/// to zero.
LogicalResult OpEmulation::round(LLVM::FPTruncOp round) {
  Type from = round.getArg().getType(), to = round.getType();
  if (!getElementTypeOrSelf(to).isBF16() || !getElementTypeOrSelf(from).isF32())
    return success();
  auto shaped = [&](Type element) -> Type {
    if (auto vector = dyn_cast<VectorType>(to))
      return vector.clone(element);
    return element;
  };
  Bits bits = {b, loc, shaped(getWord())};
  Value x = LLVM::BitcastOp::create(b, loc, bits.type, round.getArg());
  Value upper = bits.shift(x, 16);
  Value rounded = bits.shift(
      bits.add(bits.add(x, bits.get(0x7fff)), bits.mask(upper, 1)), 16);
  Value quiet = LLVM::OrOp::create(b, loc, upper, bits.get(0x40));
  Value word = bits.select(bits.isNaN(x), quiet, rounded);
  Value half = LLVM::TruncOp::create(b, loc, shaped(b.getI16Type()), word);
  return finish(LLVM::BitcastOp::create(b, loc, to, half)->getResults());
}

/// Emulates intrinsics for which LLVM has no op, or a more exact one.
LogicalResult OpEmulation::approximate(LLVM::CallIntrinsicOp call) {
  StringRef name = call.getIntrin();
  if (!name.consume_front("llvm.nvvm."))
    return success();
  bool isFloat = call.getNumResults() == 1 && call.getArgs().size() == 1 &&
                 call.getResult(0).getType().isF32() &&
                 call.getArgs()[0].getType().isF32();
  auto [function, kind] = name.split('.');
  if (!isFloat || !kind.starts_with("approx"))
    return refuse("intrinsic '" + call.getIntrin() + "'");
  Value x = call.getArgs()[0];
  auto invert = [&](Value y) -> Value {
    Value one =
        LLVM::ConstantOp::create(b, loc, b.getF32Type(), b.getF32FloatAttr(1));
    return LLVM::FDivOp::create(b, loc, one, y);
  };
  Value result;
  if (function == "ex2")
    result = LLVM::Exp2Op::create(b, loc, x);
  else if (function == "lg2")
    result = LLVM::Log2Op::create(b, loc, x);
  else if (function == "tanh")
    result = LLVM::TanhOp::create(b, loc, b.getF32Type(), x);
  else if (function == "sqrt")
    result = LLVM::SqrtOp::create(b, loc, x);
  else if (function == "rcp")
    result = invert(x);
  else if (function == "rsqrt")
    result = invert(LLVM::SqrtOp::create(b, loc, x));
  else
    return refuse("intrinsic '" + call.getIntrin() + "'");
  return finish(result);
}

LogicalResult OpEmulation::run() {
  if (const Register *entry = findRegister(op))
    return readRegister(*entry);
  using R = LogicalResult;
  return llvm::TypeSwitch<Operation *, R>(op)
      .Case([&](NVVM::WarpSizeOp) { return finish(word(32)); })
      .Case([&](NVVM::Barrier0Op) {
        callSynchronized("mp_emulated_barrier", {});
        return finish();
      })
      .Case([&](NVVM::BarrierOp barrier) { return synchronize(barrier); })
      .Case([&](NVVM::BarrierArriveOp arrive) {
        Value id = arrive.getBarrierId();
        callSynchronized(
            "mp_emulated_named_barrier",
            {id ? id : word(0), arrive.getNumberOfThreads(), word(0)});
        return finish();
      })
      .Case([&](NVVM::SyncWarpOp sync) {
        callSynchronized("mp_emulated_sync_warp", {sync.getMask()});
        return finish();
      })
      .Case([&](NVVM::ShflOp shfl) { return shuffle(shfl); })
      .Case([&](NVVM::VoteSyncOp sync) { return vote(sync); })
      .Case([&](NVVM::ReduxOp redux) { return reduce(redux); })
      .Case([&](NVVM::MatchSyncOp sync) { return match(sync); })
      .Case([&](NVVM::ElectSyncOp sync) { return elect(sync); })
      .Case([&](NVVM::LdMatrixOp matrix) { return load(matrix); })
      .Case([&](NVVM::MmaOp product) { return multiply(product); })
      .Case([&](NVVM::CpAsyncOp async) { return copy(async); })
      .Case([&](NVVM::CpAsyncCommitGroupOp) {
        call("mp_emulated_commit", {});
        return finish();
      })
      .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
        callPlaced("mp_emulated_wait", {word(wait.getN())});
        return finish();
      })
      .Case([&](NVVM::ConvertFloatToTF32Op convert) { return round(convert); })
      .Case([&](LLVM::FPTruncOp truncate) { return round(truncate); })
      .Case([&](LLVM::CallIntrinsicOp intrinsic) {
        return approximate(intrinsic);
      })
      // Threads run one at a time, and their writes are in memory at once.
      .Case<NVVM::MembarOp, NVVM::FenceScClusterOp, NVVM::FenceProxyOp,
            NVVM::NanosleepOp, NVVM::SetMaxRegisterOp>(
          [&](Operation *) { return finish(); })
      .Case([&](LLVM::InlineAsmOp) { return refuse("inline assembly"); })
      .Case([&](LLVM::CallOp callee) {
        return callee.getCallee() ? success() : refuse("a call by a pointer");
      })
      .Default([&](Operation *other) {
        if (isa_and_nonnull<LLVM::LLVMDialect>(other->getDialect()))
          return R(success());
        return refuse("'" + other->getName().getStringRef() + "'");
      });
}

} // namespace mp::emulation
