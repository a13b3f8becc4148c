//===- TileStore.cpp - Results of tiles -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileStore.h"

using namespace mlir;

namespace mp::kernel::tiling {

namespace {
class TileStore {
public:
  TileStore(TileBuilder &e, const Problem &problem, const TilePlan &plan,
            ArrayRef<OperandPlaces> places, const Multiply &multiply,
            const BlockPlace &block)
      : e(e), problem(problem), plan(plan), places(places), multiply(multiply),
        block(block) {
    for (const OperandPlaces &operand : places.drop_front(2))
      batches.push_back(operand.atBatch(e, block.batch));
  }

  /// Stores directly from registers, at most `maxWidth` elements at a time.
  void store(ValueRange sums, int64_t maxWidth) {
    width = std::min(multiply.runLength, maxWidth);
    for (Value row : multiply.rows)
      rows.push_back(getRow(row));
    for (auto [number, run] : llvm::enumerate(multiply.runs))
      for (int64_t first = 0; first < multiply.runLength; first += width)
        storeColumns(number, first, e.add(run, first), sums);
  }

  /// Stores through shared memory.
  void storeStaged(Value shared, Value thread, ValueRange sums) {
    width = plan.store.width;
    Value memory = writeSums(shared, sums);
    int64_t runs = plan.tile.getN() / width, step = plan.numThreads / runs;
    Value column = e.mul(e.rem(thread, runs), width);
    Value firstRow = e.div(thread, runs);
    Line columns = getColumns(column);
    Value takesPart = columns.exists;
    if (plan.numThreads % runs != 0)
      takesPart = e.both(takesPart, e.isWithin(thread, step * runs));
    int64_t together = plan.store.together;
    e.ifThen(takesPart, [&] {
      readColumns(columns, column);
      e.loop(plan.tile.getM(), step * together, {}, [&](Value i, ValueRange) {
        SmallVector<Value> numbers;
        for (int64_t j = 0; j < together; ++j)
          numbers.push_back(e.add(e.add(firstRow, i), j * step));
        storeRows(memory, numbers, columns, column);
        return SmallVector<Value>();
      });
    });
  }

private:
  /// Writes the sums of all threads as rows; returns that memory.
  Value writeSums(Value shared, ValueRange sums) {
    auto space = cast<MemRefType>(shared.getType()).getMemorySpace();
    auto type = MemRefType::get({plan.tile.getM() * plan.store.pitch},
                                problem.getAccumulator(),
                                MemRefLayoutAttrInterface(), space);
    Value zero = arith::ConstantIndexOp::create(e, 0);
    Value memory = memref::ViewOp::create(e, type, shared, zero, ValueRange{});
    // Other warps still read their last tiles.
    mlir::gpu::BarrierOp::create(e);
    for (auto [i, row] : llvm::enumerate(multiply.rows))
      for (auto [j, run] : llvm::enumerate(multiply.runs)) {
        SmallVector<Value> own;
        for (int64_t k = 0; k < multiply.runLength; ++k)
          own.push_back(sums[multiply.getSum(i, j, k)]);
        e.store(e.fromElements(own), memory,
                e.add(e.mul(row, plan.store.pitch), run));
      }
    mlir::gpu::BarrierOp::create(e);
    return memory;
  }

  /// The offsets of the extra operands and of c for a row or for neighbouring
  /// columns, and elements that are read once for all.
  struct Line {
    Value exists;
    SmallVector<Value> offsets;
    /// The elements of each extra operand; empty if they depend on more.
    SmallVector<SmallVector<Value>> elements;
  };

  unsigned getNumExtras() const { return places.size() - 3; }
  Line getLine(GroupKind kind, Value index, int64_t length) {
    Line line;
    for (const OperandPlaces &operand : places.drop_front(2)) {
      Place place = operand.at(e, kind, index, length);
      line.exists = place.exists;
      line.offsets.push_back(place.offset);
    }
    line.elements.resize(getNumExtras());
    return line;
  }

  /// A row, where it `isInTile`.
  Line getRow(Value row, Value isInTile = Value()) {
    Line line = getLine(M, e.add(block.m, row), plan.tile.getM());
    line.exists = e.both(line.exists, isInTile);
    for (unsigned i = 0; i < getNumExtras(); ++i) {
      const OperandPlaces &extra = places[2 + i];
      // Loads must not read after the last row.
      line.offsets[i] = e.select(line.exists, line.offsets[i], e.index(0));
      if (problem.dependsOn(2 + i, N))
        continue;
      Value element = e.load(extra.getMemory(),
                             e.add(batches[i].offset, line.offsets[i]), 1);
      line.elements[i].assign(width, element);
    }
    return line;
  }

  Line getColumns(Value column) {
    return getLine(N, e.add(block.n, column), plan.tile.getN());
  }

  /// Reads elements that are the same for all rows, where the columns exist.
  void readColumns(Line &columns, Value column) {
    for (unsigned i = 0; i < getNumExtras(); ++i)
      if (problem.dependsOn(2 + i, N) && !problem.dependsOn(2 + i, M))
        columns.elements[i] =
            readExtra(i, e.add(batches[i].offset, columns.offsets[i]), column);
  }

  /// Rows of a tile in `memory`, whose operands are read before the first is
  /// computed.
  void storeRows(Value memory, ArrayRef<Value> numbers, const Line &columns,
                 Value column) {
    int64_t step = plan.numThreads / (plan.tile.getN() / width);
    bool isWhole = plan.tile.getM() % (step * plan.store.together) == 0;
    SmallVector<Line> lines;
    SmallVector<SmallVector<SmallVector<Value>>> extras;
    for (Value number : numbers) {
      Value isInTile = isWhole ? Value() : e.isWithin(number, plan.tile.getM());
      lines.push_back(getRow(number, isInTile));
      extras.push_back(readExtras(lines.back(), columns, column));
    }
    for (auto [number, line, extra] : llvm::zip_equal(numbers, lines, extras))
      e.ifThen(line.exists,
               [&, &number = number, &line = line, &extra = extra] {
                 Value at = e.add(e.mul(number, plan.store.pitch), column);
                 storeElements(e.getElements(e.load(memory, at, width)), extra,
                               line, columns);
               });
  }

  void storeColumns(int64_t run, int64_t first, Value column, ValueRange sums) {
    Line columns = getColumns(column);
    e.ifThen(columns.exists, [&] {
      readColumns(columns, column);
      for (auto [i, row] : llvm::enumerate(rows))
        e.ifThen(row.exists, [&, i = i, &row = row] {
          SmallVector<Value> own;
          for (int64_t j = 0; j < width; ++j)
            own.push_back(sums[multiply.getSum(i, run, first + j)]);
          storeElements(own, readExtras(row, columns, column), row, columns);
        });
    });
  }

  /// `width` elements from `at` on, of neighbouring columns.
  SmallVector<Value> readExtra(unsigned i, Value at, Value column) {
    const OperandPlaces &extra = places[2 + i];
    if (problem.getRaggedWidth(N, 2 + i) >= width)
      return e.getElements(e.load(extra.getMemory(), at, width));
    SmallVector<Value> elements;
    Place begin = extra.at(e, N, e.add(block.n, column), 1);
    for (int64_t j = 0; j < width; ++j) {
      Place place = extra.at(e, N, e.add(e.add(block.n, column), j), 1);
      Value offset = e.add(at, e.sub(place.offset, begin.offset));
      elements.push_back(e.load(extra.getMemory(), offset, 1));
    }
    return elements;
  }

  Value getPlace(unsigned i, const Line &row, const Line &columns) {
    return e.add(e.add(batches[i].offset, row.offsets[i]), columns.offsets[i]);
  }

  /// `width` elements of each extra operand.
  SmallVector<SmallVector<Value>>
  readExtras(const Line &row, const Line &columns, Value column) {
    SmallVector<SmallVector<Value>> extras;
    for (unsigned i = 0; i < getNumExtras(); ++i) {
      if (!row.elements[i].empty())
        extras.push_back(row.elements[i]);
      else if (!columns.elements[i].empty())
        extras.push_back(columns.elements[i]);
      else
        extras.push_back(readExtra(i, getPlace(i, row, columns), column));
    }
    return extras;
  }

  void storeElements(ArrayRef<Value> sums, ArrayRef<SmallVector<Value>> extras,
                     const Line &row, const Line &columns) {
    SmallVector<Value> results;
    for (auto [j, sum] : llvm::enumerate(sums)) {
      SmallVector<Value> arguments{sum};
      for (ArrayRef<Value> extra : extras)
        arguments.push_back(extra[j]);
      results.push_back(
          applyBody(e, ContractOp(problem.op).getEpilogue().front(), 0,
                    [&](unsigned number) { return arguments[number]; }));
    }
    e.store(e.fromElements(results), places.back().getMemory(),
            getPlace(getNumExtras(), row, columns));
  }

  TileBuilder &e;
  const Problem &problem;
  const TilePlan &plan;
  ArrayRef<OperandPlaces> places;
  const Multiply &multiply;
  const BlockPlace &block;
  /// Columns that are stored at a time.
  int64_t width = 1;
  SmallVector<Place> batches;
  SmallVector<Line> rows;
};
} // namespace

void storeTile(TileBuilder &e, const Problem &problem, const TilePlan &plan,
               ArrayRef<OperandPlaces> places, const Multiply &multiply,
               const BlockPlace &block, Value shared, Value thread,
               ValueRange sums) {
  auto storeAll = [&] {
    TileStore store(e, problem, plan, places, multiply, block);
    if (plan.store.isStaged)
      store.storeStaged(shared, thread, sums);
    else
      store.store(sums, problem.getRaggedWidth(N, problem.getOutput()));
  };
  auto storeElements = [&] {
    TileStore(e, problem, plan, places, multiply, block).store(sums, 1);
  };
  if (!plan.store.isRagged)
    return storeAll();
  // Runs of the last tile of a row may have elements that do not exist.
  Value end = e.add(block.n, plan.tile.getN());
  Value isInside = e.isWithin(end, problem.sizes[N] + 1);
  e.ifThen(isInside, storeAll);
  Value yes = arith::ConstantOp::create(e, e.getBoolAttr(true));
  e.ifThen(arith::XOrIOp::create(e, isInside, yes), storeElements);
}

} // namespace mp::kernel::tiling
