//===- Communicator.h - Processes that work together ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What carries bytes between the ranks of a run: MPI, whose library is opened
// when a launcher has started the process. Nothing of it is needed to build,
// and one binary runs with Open MPI, MPICH and its kin, and libraries with the
// ABI of MPI 5.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_COLLECTIVES_COMMUNICATOR_H
#define MPOPT_COLLECTIVES_COMMUNICATOR_H

#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace mp {

/// All ranks of a run. Every call is made by all of them, with as many bytes,
/// and returns when this rank's part is done. All calls, and the destructor,
/// are made by the thread that has connected.
class Communicator {
public:
  virtual ~Communicator() = default;

  int getRank() const { return rank; }
  int getSize() const { return size; }
  /// "Open MPI v4.1.4", as the library calls itself.
  const std::string &getLibrary() const { return library; }
  /// Bytes of a part that one call of `exchange` or `gather` moves best.
  size_t getPieceBytes() const { return pieceBytes; }

  /// Sends the r-th part of `parts` to rank r, and puts what rank r sends to
  /// `from`'s r-th. Each part has `bytes` bytes, less than 2 GiB.
  virtual llvm::Error exchange(const void *parts, void *from, size_t bytes) = 0;
  /// All ranks' bytes, in the order of ranks.
  virtual llvm::Error gather(const void *own, void *all, size_t bytes) = 0;
  /// Those of rank 0, to all others.
  virtual llvm::Error broadcast(void *data, size_t bytes) = 0;

protected:
  int rank = 0, size = 1;
  std::string library;
  size_t pieceBytes = 1 << 19;
};

/// What the launcher of this process says in the environment.
struct Launch {
  enum Kind {
    /// There is none, or one of another kind of programs.
    None,
    OpenMPI,
    /// MPICH, Intel MPI, MVAPICH: by PMI.
    PMI,
  };
  Kind kind = None;
  int rank = 0, size = 1;
  /// Among the ranks of this machine; 0 where the launcher does not say.
  int localRank = 0;

  /// Fails where torchrun has started the process, which MPI knows nothing of.
  static llvm::Expected<Launch> find();
};

/// Opens the launcher's library and joins the run. Fails where there is none,
/// where something is missing in it, or where it sees another number of
/// processes than the launcher has started: these would be so many runs of one
/// rank each.
llvm::Expected<std::unique_ptr<Communicator>> connect(const Launch &launch);

} // namespace mp

#endif // MPOPT_COLLECTIVES_COMMUNICATOR_H
