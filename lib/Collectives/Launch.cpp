//===- Launch.cpp - Detects the launcher of this process ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Collectives/Communicator.h"

#include "llvm/ADT/StringRef.h"

#include <cstdlib>

using namespace llvm;

namespace mp {

static bool isSet(const char *name) { return std::getenv(name) != nullptr; }

/// The number that a variable holds.
static Expected<int> read(const char *name) {
  const char *text = std::getenv(name);
  int number = 0;
  if (!text || StringRef(text).getAsInteger(10, number) || number < 0)
    return createStringError(Twine("the launcher's ") + name + " is " +
                             (text ? "'" + Twine(text) + "'" : "missing") +
                             ": expected a number");
  return number;
}

Expected<Launch> Launch::find() {
  struct Variables {
    Kind kind;
    const char *size, *rank, *localRank;
  };
  constexpr Variables known[] = {
      {OpenMPI, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
       "OMPI_COMM_WORLD_LOCAL_RANK"},
      {PMI, "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID"}};
  for (const Variables &variables : known) {
    if (!isSet(variables.size))
      continue;
    Expected<int> size = read(variables.size);
    if (!size)
      return size.takeError();
    Expected<int> rank = read(variables.rank);
    if (!rank)
      return rank.takeError();
    if (*rank >= *size)
      return createStringError("the launcher says that this is rank " +
                               Twine(*rank) + " of " + Twine(*size));
    Launch launch = {variables.kind, *rank, *size};
    // SLURM's own launcher uses another variable.
    for (const char *name : {variables.localRank, "SLURM_LOCALID"}) {
      if (!isSet(name))
        continue;
      Expected<int> local = read(name);
      if (!local)
        return local.takeError();
      launch.localRank = *local;
      break;
    }
    return launch;
  }
  if (isSet("WORLD_SIZE") && isSet("RANK") && isSet("MASTER_ADDR"))
    return createStringError(
        "torchrun has started this process (RANK, WORLD_SIZE, MASTER_ADDR): "
        "expected mpiexec -n N; --ranks=1 trains alone");
  return Launch();
}

} // namespace mp
