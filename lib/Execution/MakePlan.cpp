//===- MakePlan.cpp - From `main` as launches to a plan -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `main` is a list of ops on memory that is known at compile time: each op
// becomes a record or defines a location in memory.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/DevicePlan.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"
#include "mp-opt/Runtime/Plan.h"
#include "mp-opt/Runtime/Runtime.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>

using namespace mlir;

namespace mp {

static_assert(device::controlWords == MP_PLAN_CONTROL_WORDS);
static_assert(int(device::CallNumber) == MP_CONTROL_CALL &&
              int(device::HasFailed) == MP_CONTROL_FAILED &&
              int(device::ErrorText) == MP_CONTROL_ERROR &&
              int(device::ErrorFirst) == MP_CONTROL_FIRST &&
              int(device::ErrorSecond) == MP_CONTROL_SECOND);

using Space = DevicePlan::Space;
using RecordKind = DevicePlan::RecordKind;

/// The size of an element as kernels see it; absent if it is unknown or the
/// type does not exist in ONNX.
static std::optional<uint64_t> getElementBytes(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    auto part = getElementBytes(complex.getElementType());
    return part ? std::optional<uint64_t>(2 * *part) : std::nullopt;
  }
  if (type.isIndex())
    return sizeof(int64_t);
  if (!type.isIntOrFloat())
    return std::nullopt;
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

static std::optional<uint64_t> getBytes(ShapedType type) {
  std::optional<uint64_t> bytes = getElementBytes(type.getElementType());
  if (!bytes || !type.hasStaticShape())
    return std::nullopt;
  auto product = int64_t(*bytes);
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(product, size, product))
      return std::nullopt;
  return uint64_t(product);
}

/// The range of bytes after its base that a type's elements occupy.
struct Extent {
  uint64_t begin = 0, end = 0;
  /// True if rows are dense and consecutive.
  bool isContiguous = true;
};

static std::optional<Extent> getExtent(MemRefType type) {
  std::optional<uint64_t> element = getElementBytes(type.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!element || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) || offset < 0)
    return std::nullopt;
  Extent extent;
  int64_t last = 0, dense = 1;
  for (int64_t axis = type.getRank(); axis-- > 0;) {
    int64_t size = type.getDimSize(axis);
    if (size != 1) {
      if (strides[axis] < 0)
        return std::nullopt;
      extent.isContiguous &= strides[axis] == dense;
      last += strides[axis] * (size - 1);
    }
    dense *= size;
  }
  extent.begin = uint64_t(offset) * *element;
  extent.end = extent.begin + (dense ? uint64_t(last + 1) * *element : 0);
  return extent;
}

namespace {

class PlanMaker {
public:
  explicit PlanMaker(ModuleOp module) : module(module) {}

  FailureOr<DevicePlan> make();

private:
  LogicalResult addBuffers(StringRef name,
                           std::vector<DevicePlan::Buffer> &buffers);
  LogicalResult addErrors();
  LogicalResult addOp(Operation *op);
  LogicalResult addMemory(Operation *op, Space space, int64_t index,
                          ArrayRef<DevicePlan::Buffer> buffers);
  LogicalResult addConstant(runtime::ConstantOp op);
  LogicalResult addArena(memref::AllocOp op);
  LogicalResult addView(memref::ViewOp op);
  LogicalResult addLaunch(device::LaunchOp op);
  LogicalResult addCopy(memref::CopyOp op);
  LogicalResult addFill(linalg::FillOp op);
  LogicalResult addStart(runtime::CollectiveStartOp op);
  LogicalResult addWait(runtime::CollectiveWaitOp op);
  void addRankKernels();
  LogicalResult addAlias(Operation *op, Value source);
  FailureOr<DevicePlan::Place> getContiguous(Operation *op, Value value);
  LogicalResult checkOutputs(func::FuncOp main);

  DevicePlan::Record &addRecord(Operation *op, RecordKind kind) {
    DevicePlan::Record &record = plan.records.emplace_back();
    record.kind = kind;
    record.node = device::getNodeName(op->getLoc());
    return record;
  }

  ModuleOp module;
  DevicePlan plan;
  /// The base of each memref; `bytes` counts from there.
  llvm::DenseMap<Value, DevicePlan::Place> bases;
  llvm::DenseMap<Attribute, unsigned> kernels;
  llvm::SmallDenseSet<int64_t> outputs;
  /// Numbers of reductions that are not waited for yet, by bucket.
  llvm::SmallDenseMap<int64_t, unsigned> reductions;
  bool hasArena = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading the module
//===----------------------------------------------------------------------===//

LogicalResult PlanMaker::addBuffers(StringRef name,
                                    std::vector<DevicePlan::Buffer> &buffers) {
  auto list = module->getAttrOfType<ArrayAttr>(name);
  if (!list)
    return module.emitError("expected a module with '")
           << name << "', which mp-bind-arguments writes";
  for (Attribute entry : list) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    auto attribute = fields ? fields.getAs<TypeAttr>("type") : TypeAttr();
    auto type = attribute ? dyn_cast<RankedTensorType>(attribute.getValue())
                          : RankedTensorType();
    if (!type)
      return module.emitError("found ")
             << entry << " in '" << name
             << "', expected what mp-bind-arguments writes";
    DevicePlan::Buffer &buffer = buffers.emplace_back();
    if (auto text = fields.getAs<StringAttr>(mark::name))
      buffer.name = text.str();
    std::optional<uint64_t> bytes = getBytes(type);
    if (!bytes)
      return module.emitError(name == mark::inputs    ? "input '"
                              : name == mark::outputs ? "output '"
                                                      : "constant '")
             << buffer.name << "': found " << type
             << ", expected known sizes: code for a device is made for them "
                "(--dim)";
    buffer.bytes = *bytes;
    if (auto state = fields.getAs<IntegerAttr>(mark::state))
      buffer.state = state.getInt();
  }
  return success();
}

LogicalResult PlanMaker::addErrors() {
  auto errors = module->getAttrOfType<ArrayAttr>(device::errorsName);
  for (Attribute entry : errors ? errors.getValue() : ArrayRef<Attribute>()) {
    auto text = dyn_cast<StringAttr>(entry);
    if (!text)
      return module.emitError("found ")
             << entry << " in '" << device::errorsName << "', expected a text";
    plan.errors.push_back(text.str());
  }
  return success();
}

/// Outputs without memory of their own in `main` are written over their states.
LogicalResult PlanMaker::checkOutputs(func::FuncOp main) {
  for (auto [index, output] : llvm::enumerate(plan.outputs)) {
    if (outputs.contains(index)) {
      output.state = -1;
      continue;
    }
    if (output.state < 0 || size_t(output.state) >= plan.inputs.size() ||
        plan.inputs[output.state].bytes != output.bytes)
      return main.emitError("output '") << output.name
                                        << "' has no memory: it is not a state "
                                           "of an input, and there is no "
                                           "runtime.output for it";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult PlanMaker::addMemory(Operation *op, Space space, int64_t index,
                                   ArrayRef<DevicePlan::Buffer> buffers) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  std::optional<uint64_t> bytes = getBytes(type);
  if (index < 0 || size_t(index) >= buffers.size() || !bytes ||
      *bytes != buffers[index].bytes)
    return op->emitError("found ")
           << type << ", expected the size of number " << index << " of "
           << buffers.size() << " in the module's attributes";
  bases[op->getResult(0)] = {space, unsigned(index), 0, *bytes};
  return success();
}

LogicalResult PlanMaker::addConstant(runtime::ConstantOp op) {
  StringRef symbol = op.getSymbol();
  int64_t index = -1;
  if (!symbol.consume_front("mp_constant_") || symbol.getAsInteger(10, index))
    return op.emitError("found '")
           << op.getSymbol() << "', expected 'mp_constant_' and a number";
  return addMemory(op, Space::Constant, index, plan.constants);
}

LogicalResult PlanMaker::addArena(memref::AllocOp op) {
  std::optional<uint64_t> bytes = getBytes(op.getType());
  if (!bytes || hasArena)
    return op.emitError("found ")
           << (hasArena ? "another allocation"
                        : "an allocation of unknown size")
           << ", expected one arena: a device has no other memory";
  hasArena = true;
  plan.arenaBytes = *bytes;
  bases[op] = {Space::Arena, 0, 0, *bytes};
  return success();
}

LogicalResult PlanMaker::addView(memref::ViewOp op) {
  APInt shift;
  auto base = bases.find(op.getSource());
  std::optional<uint64_t> bytes = getBytes(op.getType());
  if (base == bases.end() || !bytes ||
      !matchPattern(op.getByteShift(), m_ConstantInt(&shift)))
    return op.emitError("expected a known place of known memory");
  DevicePlan::Place place = base->second;
  if (shift.isNegative() || shift.ugt(place.bytes) ||
      *bytes > place.bytes - shift.getZExtValue())
    return op.emitError("found ")
           << *bytes << " bytes at " << shift.getSExtValue()
           << ", expected them within " << place.bytes;
  place.offset += shift.getZExtValue();
  place.bytes = *bytes;
  if (place.offset % MP_PLAN_ALIGNMENT)
    return op.emitError("found the place ")
           << place.offset << ", expected a multiple of " << MP_PLAN_ALIGNMENT;
  bases[op] = place;
  return success();
}

/// Handles another type of the same memory, which selects a part of it.
LogicalResult PlanMaker::addAlias(Operation *op, Value source) {
  auto base = bases.find(source);
  auto extent = getExtent(cast<MemRefType>(op->getResult(0).getType()));
  if (base == bases.end() || !extent || extent->end > base->second.bytes)
    return op->emitError("expected a known part of known memory, found ")
           << op->getResult(0).getType();
  DevicePlan::Place place = base->second;
  bases[op->getResult(0)] = place;
  return success();
}

/// The elements of the memref, which must be contiguous.
FailureOr<DevicePlan::Place> PlanMaker::getContiguous(Operation *op,
                                                      Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  auto base = bases.find(value);
  std::optional<Extent> extent = type ? getExtent(type) : std::nullopt;
  if (base == bases.end() || !extent || !extent->isContiguous)
    return LogicalResult(op->emitError("found ")
                         << value.getType()
                         << ", expected memory of `main` without gaps");
  DevicePlan::Place place = base->second;
  place.offset += extent->begin;
  place.bytes = extent->end - extent->begin;
  return place;
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

LogicalResult PlanMaker::addLaunch(device::LaunchOp op) {
  auto [entry, isNew] =
      kernels.try_emplace(op.getKernelAttr(), plan.kernels.size());
  if (isNew) {
    DevicePlan::Kernel &kernel = plan.kernels.emplace_back();
    kernel.name = op.getKernelAttr().getLeafReference().str();
    kernel.parameters = op.getOperands().size();
  }
  DevicePlan::Record &record = addRecord(op, RecordKind::Launch);
  record.kernel = entry->second;
  llvm::copy(op.getGrid(), record.grid.begin());
  llvm::copy(op.getBlock(), record.block.begin());
  record.shared = op.getShared();
  record.whenSet = op.getWhenSet();
  if (ArrayAttr work = op.getWorkAttr())
    for (auto entry : work.getAsRange<device::WorkAttr>())
      record.work.push_back(DevicePlan::Work::get(entry));
  for (Value operand : op.getOperands()) {
    auto base = bases.find(operand);
    if (base == bases.end())
      return op.emitError("found an operand of ")
             << operand.getType() << ", expected memory of `main`";
    // Kernels know the offset of their elements from the type.
    record.places.push_back(base->second);
  }
  DevicePlan::Kernel &kernel = plan.kernels[record.kernel];
  unsigned threads = record.block[0] * record.block[1] * record.block[2];
  kernel.threads = std::max(kernel.threads, threads);
  kernel.shared = std::max(kernel.shared, record.shared);
  if (op.getGrid()[1] > UINT16_MAX || op.getGrid()[2] > UINT16_MAX ||
      op.getBlock()[2] > 64)
    return op.emitError("expected at most 65535 blocks in the second and third "
                        "direction, and 64 threads in the third");
  return success();
}

LogicalResult PlanMaker::addCopy(memref::CopyOp op) {
  auto source = getContiguous(op, op.getSource());
  auto target = succeeded(source) ? getContiguous(op, op.getTarget()) : source;
  if (failed(target))
    return failure();
  if (!source->bytes)
    return success();
  DevicePlan::Record &record = addRecord(op, RecordKind::Copy);
  record.places = {*source, *target};
  record.work = {{device::WorkKind::Copy, source->bytes, target->bytes}};
  return success();
}

LogicalResult PlanMaker::addFill(linalg::FillOp op) {
  Attribute value;
  APInt bits;
  auto target = getContiguous(op, op.getOutputs().front());
  if (failed(target))
    return failure();
  if (!target->bytes)
    return success();
  if (matchPattern(op.getInputs().front(), m_Constant(&value))) {
    if (auto number = dyn_cast<FloatAttr>(value))
      bits = number.getValue().bitcastToAPInt();
    else if (auto number = dyn_cast<IntegerAttr>(value))
      bits = number.getValue();
  }
  unsigned width = llvm::alignTo(bits.getBitWidth(), 8);
  bits = bits.zext(width);
  // Reduces a value of two equal halves to one half.
  while (width > 32 && width % 16 == 0 && bits.isSplat(width / 2)) {
    width /= 2;
    bits = bits.trunc(width);
  }
  if (!value || (width != 8 && width != 16 && width != 32))
    return op.emitError("expected a constant of 8, 16 or 32 bits");
  DevicePlan::Record &record = addRecord(op, RecordKind::Fill);
  record.value = unsigned(bits.getZExtValue());
  record.valueBytes = width / 8;
  record.places = {*target};
  record.work = {{device::WorkKind::Copy, 0, target->bytes}};
  return success();
}

/// An mp_reduced_type; 0 for those that ranks do not reduce.
static int getReducedType(Type type) {
  if (type.isF32())
    return MP_FLOAT;
  if (type.isF64())
    return MP_DOUBLE;
  return type.isInteger(1) || type.isInteger(8) ? MP_BOOL : 0;
}

LogicalResult PlanMaker::addStart(runtime::CollectiveStartOp op) {
  DevicePlan::Reduction reduction;
  reduction.bucket = int(op.getBucket());
  reduction.operation = int(op.getKind());
  for (Value member : op.getMembers()) {
    auto memory = getContiguous(op, member);
    if (failed(memory))
      return failure();
    reduction.members.push_back(*memory);
  }
  auto type = cast<MemRefType>(op.getMembers().front().getType());
  reduction.type = getReducedType(type.getElementType());
  if (!reduction.type)
    return op.emitError("found ") << type << ", expected f32, f64 or i1";
  if (Value condition = op.getCondition()) {
    auto load = condition.getDefiningOp<memref::LoadOp>();
    auto type = load ? load.getMemRefType() : MemRefType();
    if (!load || !type.hasStaticShape() || type.getNumElements() != 1)
      return op.emitError("expected a condition that is loaded");
    auto place = getContiguous(op, load.getMemRef());
    if (failed(place))
      return failure();
    reduction.condition = *place;
  }
  if (!reductions.try_emplace(op.getBucket(), plan.reductions.size()).second)
    return op.emitError("expected a wait for bucket ")
           << op.getBucket() << " before its next start";
  addRecord(op, RecordKind::ReduceStart).kernel = plan.reductions.size();
  plan.reductions.push_back(reduction);
  return success();
}

LogicalResult PlanMaker::addWait(runtime::CollectiveWaitOp op) {
  auto found = reductions.find(op.getBucket());
  if (found == reductions.end())
    return op.emitError("expected a start of bucket ")
           << op.getBucket() << " before it";
  addRecord(op, RecordKind::ReduceWait).kernel = found->second;
  reductions.erase(found);
  return success();
}

/// Adds kernels that no record launches: ranks launch them if their devices
/// reduce.
void PlanMaker::addRankKernels() {
  if (plan.reductions.empty())
    return;
  DevicePlan::Kernel kernel;
  kernel.threads = MP_RANK_THREADS;
  kernel.parameters = 1;
  for (StringRef name : {
#define MP_RANK_KERNEL(WORK, FROM, TO) "mp_" #WORK "_" #FROM "_" #TO,
#include "mp-opt/Runtime/RankKernels.def"
       }) {
    kernel.name = name;
    plan.kernels.push_back(kernel);
  }
}

//===----------------------------------------------------------------------===//
// The whole plan
//===----------------------------------------------------------------------===//

static LogicalResult refuse(Operation *op) {
  return op->emitError("no device does this: expected launches and copies, as "
                       "convert-groups-to-gpu leaves them");
}

/// True if the value is only loaded as a condition of reductions, which refer
/// to its location.
static bool isCondition(memref::LoadOp load) {
  return !load->use_empty() &&
         llvm::all_of(load->getUsers(), [](Operation *user) {
           return isa<runtime::CollectiveStartOp, runtime::CollectiveWaitOp>(
               user);
         });
}

LogicalResult PlanMaker::addOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](runtime::InputOp input) {
        return addMemory(op, Space::Input, input.getNumber(), plan.inputs);
      })
      .Case([&](runtime::OutputOp output) {
        outputs.insert(output.getNumber());
        return addMemory(op, Space::Output, output.getNumber(), plan.outputs);
      })
      .Case([&](runtime::ConstantOp constant) { return addConstant(constant); })
      .Case([&](device::ControlOp control) {
        uint64_t bytes = MP_PLAN_CONTROL_WORDS * sizeof(int64_t);
        if (getBytes(control.getType()) != bytes)
          return LogicalResult(op->emitError("expected ")
                               << MP_PLAN_CONTROL_WORDS << " words");
        bases[control] = {Space::Control, 0, 0, bytes};
        return success();
      })
      .Case([&](memref::AllocOp alloc) { return addArena(alloc); })
      .Case([&](memref::ViewOp view) { return addView(view); })
      .Case<memref::SubViewOp, memref::ReinterpretCastOp, memref::CastOp,
            memref::CollapseShapeOp, memref::ExpandShapeOp>(
          [&](auto alias) { return addAlias(op, op->getOperand(0)); })
      .Case([&](device::LaunchOp launch) { return addLaunch(launch); })
      .Case([&](memref::CopyOp copy) { return addCopy(copy); })
      .Case([&](linalg::FillOp fill) { return addFill(fill); })
      .Case([&](runtime::CollectiveStartOp start) { return addStart(start); })
      .Case([&](runtime::CollectiveWaitOp wait) { return addWait(wait); })
      // The caller checks sizes.
      .Case([&](memref::LoadOp load) {
        return isCondition(load) ? success() : refuse(op);
      })
      .Case<arith::ConstantOp, memref::DeallocOp, runtime::CheckInputsOp,
            func::ReturnOp>([](auto) { return success(); })
      .Default([](Operation *other) { return refuse(other); });
}

FailureOr<DevicePlan> PlanMaker::make() {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return LogicalResult(
        module.emitError("expected a function `main` of one block"));
  if (failed(addBuffers(mark::inputs, plan.inputs)) ||
      failed(addBuffers(mark::outputs, plan.outputs)) ||
      failed(addBuffers(mark::constants, plan.constants)) ||
      failed(addErrors()))
    return failure();
  plan.images.emplace_back();
  for (Operation &op : main.getBody().front())
    if (failed(addOp(&op)))
      return failure();
  if (failed(checkOutputs(main)))
    return failure();
  addRankKernels();
  std::string packed = plan.pack();
  // The plan must lie at a multiple of 8.
  std::vector<uint64_t> aligned(packed.size() / sizeof(uint64_t));
  std::memcpy(aligned.data(), packed.data(), packed.size());
  if (const char *wrong = mp_check_plan(aligned.data(), packed.size()))
    return LogicalResult(main.emitError("a plan for a device: ") << wrong);
  return std::move(plan);
}

FailureOr<DevicePlan> makePlan(ModuleOp module) {
  return PlanMaker(module).make();
}

} // namespace mp
