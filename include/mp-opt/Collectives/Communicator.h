//===- Communicator.h - Processes that work together ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transfers bytes between the ranks of a run with MPI, whose library is opened
// if a launcher has started the process. Building requires no part of MPI, and
// one binary runs with Open MPI, MPICH and its derivatives, and libraries with
// the ABI of MPI 5.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_COLLECTIVES_COMMUNICATOR_H
#define MPOPT_COLLECTIVES_COMMUNICATOR_H

#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace mp {

/// All ranks of a run. Every function is called by all ranks with the same
/// number of bytes, and returns when this rank's part is done. All functions
/// and the destructor must be called by the thread that has connected.
class Communicator {
public:
  virtual ~Communicator() = default;

  int getRank() const { return rank; }
  int getSize() const { return size; }
  /// "Open MPI v4.1.4", as the library calls itself.
  const std::string &getLibrary() const { return library; }
  /// Bytes of a chunk that one call of `allToAll` or `allGather` moves best.
  size_t getChunkBytes() const { return chunkBytes; }

  /// Sends chunk r of `chunks` to rank r, and stores the chunk received from
  /// rank r as chunk r of `from`. Chunks have `bytes` bytes, less than 2 GiB.
  virtual llvm::Error allToAll(const void *chunks, void *from,
                               size_t bytes) = 0;
  /// Gathers the bytes of all ranks, in the order of ranks.
  virtual llvm::Error allGather(const void *own, void *all, size_t bytes) = 0;
  /// Sends the bytes of rank 0 to all others.
  virtual llvm::Error broadcast(void *data, size_t bytes) = 0;

protected:
  int rank = 0, size = 1;
  std::string library;
  size_t chunkBytes = 1 << 19;
};

/// The launcher's settings in the environment of this process.
struct Launch {
  enum Kind {
    /// No launcher, or one of other programs.
    None,
    OpenMPI,
    /// MPICH, Intel MPI, MVAPICH: launchers that use PMI.
    PMI,
  };
  Kind kind = None;
  int rank = 0, size = 1;
  /// The number among the ranks of this machine; 0 if the launcher does not set
  /// it.
  int localRank = 0;

  /// Fails if torchrun has started the process, since it does not use MPI.
  static llvm::Expected<Launch> find();
};

/// Opens the launcher's library and joins the run. Fails if the library or a
/// part of it is missing, or if it reports another number of processes than the
/// launcher has started, in which case each process would run alone.
llvm::Expected<std::unique_ptr<Communicator>> connect(const Launch &launch);

} // namespace mp

#endif // MPOPT_COLLECTIVES_COMMUNICATOR_H
