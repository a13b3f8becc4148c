//===- InternalErrors.cpp - How a run that met a bug ends -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InternalErrors.h"
#include "ExitCodes.h"
#include "OutOfMemory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/StringSaver.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <typeinfo>
#include <ucontext.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

namespace {

enum class Phase { Start, Reading, Passes, Writing, Comparing };

/// A signal handler takes no arguments and may call few functions: all that it
/// needs is prepared here.
struct State {
  std::vector<char *> arguments;
  /// The arguments of the second run; the first one is the hidden flag.
  std::vector<char *> rerunArguments;
  std::string folder;
  /// True in the second run.
  bool isRerun = false;

  std::atomic<Phase> phase{Phase::Start};
  std::atomic<unsigned> step{0};
  /// The number of active passes in all threads.
  std::atomic<int> activePasses{0};
  std::atomic<const char *> input{nullptr};
  std::atomic<const char *> finished{nullptr};
  /// The reasons why there is no reproducer: for the whole run, and in this
  /// phase.
  std::atomic<const char *> obstacle{nullptr};
  std::atomic<const char *> phaseObstacle{"no model was read yet"};
  /// The message of a fatal error that raised SIGABRT.
  std::atomic<const char *> reason{nullptr};
};

/// The passes that this thread is in, the innermost last.
struct PassStack {
  static constexpr unsigned capacity = 8;
  const char *names[capacity];
  unsigned depth = 0;
};

/// A thread's stack for signal handlers. LLVM gives one to the main thread
/// only, but a stack may overflow in a thread of MLIR's pool too.
class AlternateStack {
public:
  AlternateStack() {
    stack_t current;
    if (::sigaltstack(nullptr, &current) || !(current.ss_flags & SS_DISABLE))
      return;
    memory = std::make_unique<char[]>(size);
    stack_t stack = {};
    stack.ss_sp = memory.get();
    stack.ss_size = size;
    ::sigaltstack(&stack, nullptr);
  }
  ~AlternateStack() {
    if (!memory)
      return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }

private:
  static constexpr size_t size = 1 << 16;
  std::unique_ptr<char[]> memory;
};

} // namespace

static constexpr char rerunFlag[] = "--debug-write-step=";
/// Limits of the second run: its time, and its additional memory.
static constexpr unsigned rerunSeconds = 60;
static constexpr rlim_t rerunMemory = rlim_t(1) << 30;

static State &getState() {
  static State state;
  return state;
}

static thread_local PassStack passes;

/// A name that outlives the pass manager. Callers hold the lock of MLIR's
/// instrumentation.
static const char *keep(StringRef name) {
  static BumpPtrAllocator memory;
  static UniqueStringSaver saver(memory);
  return saver.save(name).data();
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

namespace progress {

void startReading(StringRef name, const char *obstacle) {
  State &state = getState();
  state.input = keep(name);
  state.phaseObstacle = obstacle;
  state.phase = Phase::Reading;
}

void setObstacle(const char *obstacle) { getState().obstacle = obstacle; }

void startPass(StringRef name, bool isStep) {
  static thread_local AlternateStack stack;
  State &state = getState();
  if (passes.depth < PassStack::capacity)
    passes.names[passes.depth] = keep(name);
  ++passes.depth;
  ++state.activePasses;
  if (!isStep)
    return;
  state.phase = Phase::Passes;
  state.phaseObstacle = nullptr;
  ++state.step;
}

void finishPass(StringRef name) {
  getState().finished = keep(name);
  failPass();
}

void failPass() {
  --passes.depth;
  --getState().activePasses;
}

void startWriting(const char *obstacle) {
  State &state = getState();
  state.phase = Phase::Writing;
  state.phaseObstacle = obstacle;
  ++state.step;
}

void startComparing() { getState().phase = Phase::Comparing; }

unsigned getStep() { return getState().step; }
bool isInPass() { return getState().activePasses > 0; }

} // namespace progress

std::string getCommandLine() {
  std::string line = "mp-opt";
  for (const char *argument : ArrayRef(getState().arguments).drop_front()) {
    StringRef text(argument);
    bool isPlain = !text.empty() && all_of(text, [](char c) {
      return isAlnum(c) || StringRef("-_=./,:+%@").contains(c);
    });
    line += " ";
    if (isPlain) {
      line += text;
      continue;
    }
    // $'...' keeps control characters in one line.
    bool needsEscapes = any_of(text, [](char c) { return !isPrint(c); });
    line += needsEscapes ? "$'" : "'";
    for (char c : text) {
      if (!isPrint(c))
        line += "\\x" + toHex(StringRef(&c, 1), /*LowerCase=*/true);
      else if (needsEscapes && (c == '\'' || c == '\\'))
        (line += '\\') += c;
      else if (c == '\'')
        line += "'\\''";
      else
        line += c;
    }
    line += "'";
  }
  return line;
}

//===----------------------------------------------------------------------===//
// Code in the handler: no allocation, no locks
//===----------------------------------------------------------------------===//

namespace {

/// A line that is built without allocation.
class Line {
public:
  Line &operator<<(const char *text) {
    size_t length = std::min(strlen(text), sizeof(buffer) - 1 - size);
    memcpy(buffer + size, text, length);
    size += length;
    buffer[size] = 0;
    return *this;
  }
  Line &operator<<(uint64_t number) {
    char digits[24];
    unsigned first = sizeof(digits) - 1;
    digits[first] = 0;
    do
      digits[--first] = char('0' + number % 10);
    while (number /= 10);
    return *this << digits + first;
  }
  char *text() { return buffer; }
  void print() const { printDirectly({buffer, size}); }

private:
  char buffer[4096] = "";
  size_t size = 0;
};

} // namespace

/// Appends the place that the run had reached.
static void describePlace(Line &line) {
  State &state = getState();
  if (passes.depth) {
    unsigned last = std::min(passes.depth, PassStack::capacity) - 1;
    line << " in pass '" << passes.names[last] << "'";
  } else if (state.phase == Phase::Reading) {
    line << " while reading '" << state.input.load() << "'";
  } else if (state.phase == Phase::Writing) {
    line << " while writing";
  } else if (state.phase == Phase::Passes) {
    line << " between passes";
  } else if (state.phase == Phase::Comparing) {
    line << " while comparing";
  }
  if (const char *finished = state.finished)
    line << " (the last one that ended: '" << finished << "')";
}

/// The number of bytes that the second run may map.
static rlim_t getMemoryBound() {
  char text[64] = "";
  int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0 || ::read(file, text, sizeof(text) - 1) <= 0)
    return RLIM_INFINITY;
  ::close(file);
  rlim_t pages = 0;
  for (const char *digit = text; *digit >= '0' && *digit <= '9'; ++digit)
    pages = pages * 10 + rlim_t(*digit - '0');
  return pages * rlim_t(::sysconf(_SC_PAGESIZE)) + rerunMemory;
}

/// Becomes the second run, which writes to `file`.
[[noreturn]] static void execRerun(int file) {
  State &state = getState();
  rlimit memory;
  ::getrlimit(RLIMIT_AS, &memory);
  memory.rlim_cur = std::min(memory.rlim_max, getMemoryBound());
  ::setrlimit(RLIMIT_AS, &memory);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int null = ::open("/dev/null", O_RDWR);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::dup2(null, standard);
  Line flag;
  flag << rerunFlag << state.step.load() << ":" << uint64_t(file);
  state.rerunArguments[1] = flag.text();
  ::alarm(rerunSeconds);
  ::execv("/proc/self/exe", state.rerunArguments.data());
  ::_exit(exitInternal);
}

/// Writes the reproducer and sets `path` to its name. Returns the reason of a
/// failure, or null.
static const char *writeReproducer(Line &path) {
  State &state = getState();
  if (const char *obstacle = state.obstacle)
    return obstacle;
  if (const char *obstacle = state.phaseObstacle)
    return obstacle;
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  path << state.folder.c_str() << "/mp-opt-" << uint64_t(::getpid()) << "-"
       << uint64_t(now.tv_sec) << uint64_t(now.tv_nsec)
       << (state.phase == Phase::Reading ? ".onnx" : ".mlir");
  int file =
      ::open(path.text(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  // Keep clear of the standard streams of both runs.
  if (file >= 0 && file <= STDERR_FILENO)
    file = ::fcntl(file, F_DUPFD, STDERR_FILENO + 1);
  if (file < 0)
    return "the temporary folder cannot be written to";
  // fork would run handlers that take locks.
  pid_t child = ::_Fork();
  if (child == 0)
    execRerun(file);
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  struct stat written = {};
  ::fstat(file, &written);
  ::close(file);
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == exitOk &&
      written.st_size)
    return nullptr;
  ::unlink(path.text());
  if (child < 0)
    return "no second process could be started";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return "a second run did not get as far in time";
  return "a second run did not get as far";
}

/// Ends every run that met a bug.
[[noreturn]] static void endRun(const char *what) {
  claimEndOfRun();
  State &state = getState();
  if (state.isRerun)
    ::_exit(exitInternal);
  Line message;
  message << "mp-opt: internal error: " << what;
  describePlace(message);
  (message << "\n").print();
  // Removes temporaries.
  sys::RunInterruptHandlers();
  Line path, hint;
  const char *obstacle = writeReproducer(path);
  // A memory limit that a second run exceeds as well is not a bug.
  if (obstacle && StringRef(what) == "out of memory")
    ::_exit(exitInternal);
  if (obstacle)
    hint << "mp-opt: no reproducer: " << obstacle << "\n"
         << "mp-opt: please report this, as SECURITY.md says, with the "
            "command line\n";
  else
    hint << "mp-opt: reproducer, without big weights: " << path.text()
         << "\nmp-opt: please report this, as SECURITY.md says, with that file"
         << (state.phase == Phase::Reading
                 ? " and the command line\n"
                 : ", which `mp-opt FILE --run-reproducer` runs again\n");
  hint.print();
  ::_exit(exitInternal);
}

/// True if the fault is where the stack ends: near the stack pointer.
static bool isStackOverflow(const siginfo_t *info, const void *context) {
  auto *user = static_cast<const ucontext_t *>(context);
#if defined(__x86_64__)
  auto pointer = uintptr_t(user->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  auto pointer = uintptr_t(user->uc_mcontext.sp);
#else
  (void)user;
  uintptr_t pointer = 0;
#endif
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  constexpr uintptr_t nearby = 1 << 20;
  return info->si_code > 0 && address < pointer + nearby &&
         pointer < address + nearby;
}

static void handleSignal(int signal, siginfo_t *info, void *context) {
  if (signal == SIGABRT) {
    const char *reason = getState().reason;
    endRun(reason             ? reason
           : isMemoryUsedUp() ? "out of memory"
                              : "the run was aborted");
  }
  if (isMemoryUsedUp())
    endRun("out of memory");
  if (signal == SIGSEGV)
    endRun(isStackOverflow(info, context) ? "stack overflow"
                                          : "segmentation fault");
  if (signal == SIGBUS)
    endRun("bus error (was the file cut short while it was read?)");
  endRun(signal == SIGFPE ? "arithmetic error" : "illegal instruction");
}

//===----------------------------------------------------------------------===//
// Errors that are not signals
//===----------------------------------------------------------------------===//

/// Raises SIGABRT, which MLIR's own recovery from crashes may wait for.
[[noreturn]] static void abortWith(const char *reason) {
  getState().reason = reason;
  struct sigaction action = {};
  ::sigaction(SIGABRT, nullptr, &action);
  if (action.sa_sigaction != handleSignal)
    (Line() << "mp-opt: internal error: " << reason << "\n").print();
  ::abort();
}

[[noreturn]] static void handleTerminate() {
  static char text[256] = "uncaught exception";
  const std::type_info *type = abi::__cxa_current_exception_type();
  if (!type)
    abortWith("std::terminate was called");
  if (isLackOfMemoryThrown())
    abortWith("out of memory");
  int status = 0;
  if (char *name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status))
    snprintf(text, sizeof(text), "uncaught exception '%s'", name);
  abortWith(text);
}

void installInternalErrorHandler(int argc, char **argv) {
  State &state = getState();
  for (char *argument : ArrayRef(argv, argc))
    if (StringRef(argument).starts_with(rerunFlag))
      state.isRerun = true;
    else
      state.arguments.push_back(argument);
  state.rerunArguments = state.arguments;
  if (state.rerunArguments.empty())
    state.rerunArguments.push_back(const_cast<char *>("mp-opt"));
  state.rerunArguments.insert(state.rerunArguments.begin() + 1, nullptr);
  state.rerunArguments.push_back(nullptr);
  const char *folder = ::getenv("TMPDIR");
  state.folder = folder && *folder ? folder : "/tmp";

  install_fatal_error_handler([](void *, const char *reason, bool) {
    // The text dies with the caller, but the caller does not return.
    abortWith(isLackOfMemory(reason) ? "out of memory" : reason);
  });
  install_bad_alloc_error_handler(
      [](void *, const char *, bool) { abortWith("out of memory"); });
  std::set_terminate(handleTerminate);
  struct sigaction action = {};
  action.sa_sigaction = handleSignal;
  // A second fault, in the handler, must take effect.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    ::sigaction(signal, &action, nullptr);
  // Exceeding a file-size limit is an error of the write, and must not kill.
  ::signal(SIGXFSZ, SIG_IGN);
}

} // namespace mp
