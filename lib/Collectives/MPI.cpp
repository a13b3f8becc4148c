//===- MPI.cpp - Ranks that MPI has started -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All MPI libraries have the same functions. They differ in handles such as
// MPI_COMM_WORLD: Open MPI uses addresses of data in the library, MPICH
// numbers, and the ABI of MPI 5 small numbers as pointers. Only bytes are sent,
// so few handles are needed.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Collectives/Communicator.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>

using namespace llvm;

namespace mp {

namespace {

template <typename Handle> struct Handles {
  Handle world, byte, errorsReturn;
  /// All calls come from one thread, which is not necessarily the main one.
  int serialized;
  /// Its blocking calls yield the processor if there are more ranks than
  /// processors.
  bool yields = false;
};

/// The functions of the library that are used.
template <typename Handle> struct Functions {
  int (*MPI_Init_thread)(int *, char ***, int, int *);
  int (*MPI_Finalize)();
  int (*MPI_Comm_rank)(Handle, int *);
  int (*MPI_Comm_size)(Handle, int *);
  int (*MPI_Comm_set_errhandler)(Handle, Handle);
  int (*MPI_Error_string)(int, char *, int *);
  int (*MPI_Get_library_version)(char *, int *);
  int (*MPI_Alltoall)(const void *, int, Handle, void *, int, Handle, Handle);
  int (*MPI_Allgather)(const void *, int, Handle, void *, int, Handle, Handle);
  int (*MPI_Bcast)(void *, int, Handle, int, Handle);
  int (*MPI_Ialltoall)(const void *, int, Handle, void *, int, Handle, Handle,
                       Handle *);
  int (*MPI_Iallgather)(const void *, int, Handle, void *, int, Handle, Handle,
                        Handle *);
  int (*MPI_Ibcast)(void *, int, Handle, int, Handle, Handle *);
  int (*MPI_Test)(Handle *, int *, void *);
};

/// An upper bound of the length of texts in all libraries.
constexpr size_t textBytes = 1 << 14;

template <typename Handle> class MPICommunicator : public Communicator {
public:
  MPICommunicator(const Handles<Handle> &handles) : handles(handles) {}
  ~MPICommunicator() override {
    if (isStarted)
      mpi.MPI_Finalize();
  }

  /// Loads the functions from the library `open`. Returns the name of the first
  /// one that is missing; null if there is none.
  const char *findFunctions(void *open);
  Error start();

  Error allToAll(const void *chunks, void *from, size_t bytes) override {
    return collect("MPI_Alltoall", mpi.MPI_Alltoall, mpi.MPI_Ialltoall, chunks,
                   from, bytes);
  }
  Error allGather(const void *own, void *all, size_t bytes) override {
    return collect("MPI_Allgather", mpi.MPI_Allgather, mpi.MPI_Iallgather, own,
                   all, bytes);
  }
  Error broadcast(void *data, size_t bytes) override {
    // Counts are ints.
    constexpr size_t most = 1 << 30;
    for (size_t at = 0; at < bytes; at += most)
      if (Error failed = broadcastChunk(static_cast<char *>(data) + at,
                                        int(std::min(most, bytes - at))))
        return failed;
    return Error::success();
  }

private:
  using Collective = int (*)(const void *, int, Handle, void *, int, Handle,
                             Handle);
  using Request = int (*)(const void *, int, Handle, void *, int, Handle,
                          Handle, Handle *);
  /// Runs the blocking or the non-blocking form of a collective.
  Error collect(const char *name, Collective blocking, Request begin,
                const void *from, void *to, size_t bytes) {
    if (handles.yields)
      return check(name, blocking(from, int(bytes), handles.byte, to,
                                  int(bytes), handles.byte, handles.world));
    Handle request;
    return wait(name, request,
                begin(from, int(bytes), handles.byte, to, int(bytes),
                      handles.byte, handles.world, &request));
  }
  Error broadcastChunk(char *data, int bytes) {
    if (handles.yields)
      return check("MPI_Bcast", mpi.MPI_Bcast(data, bytes, handles.byte,
                                              /*root=*/0, handles.world));
    Handle request;
    return wait("MPI_Ibcast", request,
                mpi.MPI_Ibcast(data, bytes, handles.byte, /*root=*/0,
                               handles.world, &request));
  }

  /// Waits until others have done their part. MPICH polls without a limit,
  /// which takes the processor from the ranks that are waited for, if there are
  /// more ranks than processors, and from this rank's kernels. Fewer polls
  /// would slow down long messages, since each poll moves only a chunk.
  Error wait(const char *function, Handle &request, int code) {
    if (Error failed = check(function, code))
      return failed;
    constexpr unsigned busyPolls = 1000;
    constexpr std::chrono::microseconds nap(20);
    // A buffer that is larger than the status of any library.
    alignas(std::max_align_t) char status[256];
    for (unsigned polls = 0;; ++polls) {
      int isDone = 0;
      if (Error failed =
              check("MPI_Test", mpi.MPI_Test(&request, &isDone, status)))
        return failed;
      if (isDone)
        return Error::success();
      if (polls < busyPolls)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(nap);
    }
  }

  Error check(const char *function, int code) {
    if (code == 0)
      return Error::success();
    char text[textBytes] = "";
    int length = 0;
    mpi.MPI_Error_string(code, text, &length);
    return createStringError(Twine(function) + ": " + text);
  }

  Handles<Handle> handles;
  Functions<Handle> mpi = {};
  bool isStarted = false;
};

} // namespace

template <typename Handle>
const char *MPICommunicator<Handle>::findFunctions(void *open) {
#define FIND(NAME)                                                             \
  mpi.NAME = reinterpret_cast<decltype(mpi.NAME)>(dlsym(open, #NAME));         \
  if (!mpi.NAME)                                                               \
    return #NAME;
  FIND(MPI_Init_thread)
  FIND(MPI_Finalize)
  FIND(MPI_Comm_rank)
  FIND(MPI_Comm_size)
  FIND(MPI_Comm_set_errhandler)
  FIND(MPI_Error_string)
  FIND(MPI_Get_library_version)
  FIND(MPI_Alltoall)
  FIND(MPI_Allgather)
  FIND(MPI_Bcast)
  FIND(MPI_Ialltoall)
  FIND(MPI_Iallgather)
  FIND(MPI_Ibcast)
  FIND(MPI_Test)
#undef FIND
  return nullptr;
}

template <typename Handle> Error MPICommunicator<Handle>::start() {
  int provided = 0;
  if (int code =
          mpi.MPI_Init_thread(nullptr, nullptr, handles.serialized, &provided))
    return createStringError("MPI does not start: MPI_Init_thread returns " +
                             Twine(code));
  isStarted = true;
  char text[textBytes] = "";
  int length = 0;
  mpi.MPI_Get_library_version(text, &length);
  // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2".
  auto [name, version] =
      StringRef(text).split('\n').first.split(',').first.split(" Version:");
  library = (name.trim() + (version.empty() ? "" : " ") + version.trim()).str();
  mpi.MPI_Comm_set_errhandler(handles.world, handles.errorsReturn);
  mpi.MPI_Comm_rank(handles.world, &rank);
  mpi.MPI_Comm_size(handles.world, &size);
  // Open MPI copies through buffers that ranks of one machine share: chunks
  // that fit these stay in the cache. All ranks come to the same answer.
  const char *local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (handles.yields && local && StringRef(local) == std::to_string(size))
    chunkBytes = 1 << 15;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// Names a library to try first.
static constexpr const char *mpiVariable = "MPOPT_MPI_LIBRARY";

static SmallVector<const char *> getNames(const Launch &launch) {
  if (const char *given = std::getenv(mpiVariable); given && *given)
    return {given};
  if (launch.kind == Launch::OpenMPI)
    return {"libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0"};
  return {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpich.so.12",
          "libmpi.so.12"};
}

/// Opens the first library that is found. Symbols are global, since plugins of
/// Open MPI look them up.
static Expected<void *> open(const Launch &launch, std::string &name) {
  std::string tried;
  for (const char *candidate : getNames(launch)) {
    if (void *found = dlopen(candidate, RTLD_NOW | RTLD_GLOBAL)) {
      name = candidate;
      return found;
    }
    tried += (tried.empty() ? "" : ", ") + std::string(candidate);
  }
  return createStringError("there is no MPI library (" + tried + "): " +
                           dlerror() + "; " + mpiVariable + " may name one");
}

template <typename Handle>
static Expected<std::unique_ptr<Communicator>>
start(void *library, StringRef name, const Handles<Handle> &handles) {
  auto made = std::make_unique<MPICommunicator<Handle>>(handles);
  if (const char *missing = made->findFunctions(library))
    return createStringError(name + " has no " + missing);
  if (Error failed = made->start())
    return failed;
  return made;
}

static void *asPointer(uintptr_t number) {
  return reinterpret_cast<void *>(number);
}

static Expected<std::unique_ptr<Communicator>> startAny(void *library,
                                                        StringRef name) {
  if (name.contains("mpi_abi"))
    return start<void *>(library, name,
                         {asPointer(0x101), asPointer(0x247), asPointer(0x143),
                          /*serialized=*/2048});
  if (void *world = dlsym(library, "ompi_mpi_comm_world")) {
    void *byte = dlsym(library, "ompi_mpi_byte");
    void *errorsReturn = dlsym(library, "ompi_mpi_errors_return");
    if (!byte || !errorsReturn)
      return createStringError(
          name + " is not Open MPI: it has no " +
          (byte ? "ompi_mpi_errors_return" : "ompi_mpi_byte"));
    return start<void *>(library, name,
                         {world, byte, errorsReturn, /*serialized=*/2,
                          /*yields=*/true});
  }
  return start<int>(library, name,
                    {0x44000000, 0x4c00010d, 0x54000001, /*serialized=*/2});
}

Expected<std::unique_ptr<Communicator>> connect(const Launch &launch) {
  std::string name;
  Expected<void *> library = open(launch, name);
  if (!library)
    return library.takeError();
  auto made = startAny(*library, name);
  if (!made)
    return made.takeError();
  if ((*made)->getSize() != launch.size)
    return createStringError("the launcher has started " + Twine(launch.size) +
                             " processes, " + (*made)->getLibrary() + " (" +
                             name + ") sees " + Twine((*made)->getSize()) +
                             ": launcher and library do not belong together; " +
                             mpiVariable + " may name another library");
  return made;
}

} // namespace mp
