// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs one entry of a kit of device_kit.py on a GPU: the calls of a model's
// library with stored inputs, their outputs against stored ones, all of it
// again for the same bits, and the time of a call. Needs libc and NVIDIA's
// driver alone.
//
//   device_check --device            name, capability and driver, by tabs
//   device_check ENTRY.txt [--seconds=S] [--results=FILE] [--launches=FILE]
//                          [--once]
//
// One row of a Markdown table for each entry, and one JSON object in FILE.
// --launches appends a line of JSON for each launch of a few more calls, with
// the time between events around it (MPOPT_LAUNCH_TIMES). --once checks the first calls alone: for compute-sanitizer.
//
// Exit codes: 0 right, 1 wrong, 2 usage or a damaged kit, 4 no device,
// 5 a call has failed.

#define _POSIX_C_SOURCE 200809L
#include "device_values.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { right = 0, wrong = 1, damaged = 2, noDevice = 4, failed = 5 };
enum { maxRecords = 4096, maxName = 200, maxTimes = 1000 };

/// A line of the entry: an input or an expected output of one call.
typedef struct {
  int isExpected, call, place;
  long offset, bytes;
  char measure[8];
  double bound;
} Record;

typedef struct {
  char name[maxName + 8], library[maxName], prefix[maxName];
  int calls, numRecords;
  Record records[maxRecords];
  // Bytes and operations of a call, and its least time; 0 if unknown.
  double bytes, flops, floorH100, floorH200;
  int launches;
  // Inputs that the first call fills: 1 uniform, 2 constant.
  int *fill;
  float *fillValue;
  FILE *data;
  void *handle;
  const mp_interface *interface;
  int32_t (*run)(const mp_tensor *, mp_tensor *);
  void (*release)(void);
  const char *(*lastError)(void);
} Entry;

static Entry entry;

static void die(int code, const char *what, const char *detail) {
  fprintf(stderr, "device_check: error: %s%s%s\n", what, *detail ? ": " : "",
          detail);
  exit(code);
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes ? bytes : 1);
  if (!memory)
    die(damaged, "no memory left", "");
  return memory;
}

static long countOf(const mp_value *value) {
  long count = 1;
  for (int i = 0; i < value->rank; ++i)
    count *= (long)value->sizes[i];
  return count;
}

static long bytesOf(const mp_value *value) {
  int size = sizeOf(value->type);
  if (!size)
    die(damaged, "a value has a type that is not known", value->name);
  return countOf(value) * size;
}

static int findValue(const mp_value *values, int count, const char *name) {
  for (int i = 0; i < count; ++i)
    if (!strcmp(values[i].name, name))
      return i;
  die(damaged, "the library has no value of this name", name);
  return -1;
}

//===-- Reading an entry -------------------------------------------------===//

static void *findFunction(const char *name) {
  void *found = dlsym(entry.handle, name);
  if (!found)
    die(damaged, "the library has no function of this name", name);
  return found;
}

static void openLibrary(const char *folder) {
  char path[2 * maxName + 2], name[maxName + 20];
  snprintf(path, sizeof path, "%s/%s", folder, entry.library);
  entry.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!entry.handle)
    die(damaged, "the library cannot be loaded", dlerror());
  const mp_interface *(*interface)(void);
  snprintf(name, sizeof name, "%s_interface", entry.prefix);
  *(void **)&interface = findFunction(name);
  snprintf(name, sizeof name, "%s_run", entry.prefix);
  *(void **)&entry.run = findFunction(name);
  snprintf(name, sizeof name, "%s_release", entry.prefix);
  *(void **)&entry.release = findFunction(name);
  *(void **)&entry.lastError = findFunction("mp_last_error");
  entry.interface = interface();
  entry.fill = allocate(entry.interface->num_inputs * sizeof(int));
  entry.fillValue = allocate(entry.interface->num_inputs * sizeof(float));
}

/// The offset of an input's data in the last earlier call that has them.
static long findGiven(int place) {
  for (int i = entry.numRecords - 1; i >= 0; --i)
    if (!entry.records[i].isExpected && entry.records[i].place == place)
      return entry.records[i].offset;
  die(damaged, "no call before has this input",
      entry.interface->inputs[place].name);
  return -1;
}

static void readRecord(const char *line, long *offset) {
  char kind[16], name[maxName];
  Record r = {0};
  int found = sscanf(line, "%15s %d %199s %ld %7s %lf", kind, &r.call, name,
                     &r.bytes, r.measure, &r.bound);
  r.isExpected = !strcmp(kind, "expect");
  const mp_interface *in = entry.interface;
  if (found != (r.isExpected ? 6 : 4) || r.call < 0 || r.call >= entry.calls ||
      entry.numRecords == maxRecords)
    die(damaged, "a line of the entry is not understood", line);
  r.place = r.isExpected ? findValue(in->outputs, in->num_outputs, name)
                         : findValue(in->inputs, in->num_inputs, name);
  if (r.bytes != bytesOf((r.isExpected ? in->outputs : in->inputs) + r.place))
    die(damaged, "a value has another size in the library", name);
  r.offset = *offset;
  if (strcmp(kind, "again"))
    *offset += r.bytes;
  else
    r.offset = findGiven(r.place);
  entry.records[entry.numRecords++] = r;
}

static void readFill(const char *line) {
  char name[maxName], mode[16];
  float value;
  if (sscanf(line, "fill %199s %15s %f", name, mode, &value) != 3)
    die(damaged, "a line of the entry is not understood", line);
  const mp_interface *in = entry.interface;
  int place = findValue(in->inputs, in->num_inputs, name);
  if (in->inputs[place].type != 1)
    die(damaged, "only float inputs are filled", name);
  entry.fill[place] = strcmp(mode, "uniform") ? 2 : 1;
  entry.fillValue[place] = value;
}

static void readEntry(const char *path) {
  char folder[maxName] = ".", text[maxName + 8], line[512];
  snprintf(text, sizeof text, "%s", path);
  char *slash = strrchr(text, '/'), *end = strrchr(text, '.');
  if (!end || strcmp(end, ".txt") || strlen(path) >= maxName)
    die(damaged, "expected a file NAME.txt of a kit", path);
  if (slash)
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - text), text);
  FILE *file = fopen(path, "r");
  strcpy(end, ".bin");
  entry.data = fopen(text, "rb");
  if (!file || !entry.data)
    die(damaged, "there is no such entry", path);
  *end = 0;
  snprintf(entry.name, sizeof entry.name, "%s", slash ? slash + 1 : text);
  long offset = 0;
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "library %199s %199s %d", entry.library, entry.prefix,
               &entry.calls) == 3)
      openLibrary(folder);
    else if (!entry.interface)
      die(damaged, "the entry does not begin with its library", path);
    else if (!strncmp(line, "fill ", 5))
      readFill(line);
    else if (sscanf(line, "work %lf %lf %d %lf %lf", &entry.bytes, &entry.flops,
                    &entry.launches, &entry.floorH100, &entry.floorH200) != 5)
      readRecord(line, &offset);
  }
  fclose(file);
  if (!entry.calls)
    die(damaged, "the entry has no library", path);
}

static void readBytes(const Record *r, void *to) {
  if (fseek(entry.data, r->offset, SEEK_SET) ||
      fread(to, 1, r->bytes, entry.data) != (size_t)r->bytes)
    die(damaged, "the data end before they should", entry.name);
}

//===-- Comparing --------------------------------------------------------===//

/// The error of `found`: the largest difference relative to the largest
/// expected value (max), the same for root mean squares (rms), or whether bits
/// differ (exact). Infinite if only one of two values is finite.
static double errorOf(const Record *r, const void *found,
                      const void *expected) {
  if (!strcmp(r->measure, "exact"))
    return memcmp(found, expected, r->bytes) ? INFINITY : 0;
  const mp_value *value = entry.interface->outputs + r->place;
  long count = countOf(value);
  double most = 0, scale = 0, sum = 0, scaleSum = 0;
  for (long i = 0; i < count; ++i) {
    double e = at(expected, value->type, i), f = at(found, value->type, i);
    if (e == f || (isnan(e) && isnan(f)))
      f = e = isfinite(e) ? e : 0;
    if (!isfinite(e) || !isfinite(f))
      return INFINITY;
    most = fmax(most, fabs(f - e));
    scale = fmax(scale, fabs(e));
    sum += (f - e) * (f - e);
    scaleSum += e * e;
  }
  int isMax = !strcmp(r->measure, "max");
  double error = isMax ? most : sqrt(sum), of = isMax ? scale : sqrt(scaleSum);
  return error == 0 ? 0 : of == 0 ? INFINITY : error / of;
}

//===-- Calling ----------------------------------------------------------===//

typedef struct {
  // Indexed by input or output; outputs are reused by all calls.
  mp_tensor *inputs, *outputs;
  void **filled, **given, **room;
} Buffers;

static Buffers makeBuffers(void) {
  const mp_interface *in = entry.interface;
  Buffers b;
  b.inputs = allocate(in->num_inputs * sizeof(mp_tensor));
  b.outputs = allocate(in->num_outputs * sizeof(mp_tensor));
  b.filled = allocate(in->num_inputs * sizeof(void *));
  b.given = allocate(in->num_inputs * sizeof(void *));
  b.room = allocate(in->num_outputs * sizeof(void *));
  for (int i = 0; i < in->num_outputs; ++i)
    b.room[i] = allocate(bytesOf(in->outputs + i));
  for (int i = 0; i < entry.numRecords; ++i) {
    const Record *r = entry.records + i;
    if (!r->isExpected && !b.given[r->place])
      b.given[r->place] = allocate(r->bytes);
  }
  for (int i = 0; i < in->num_inputs; ++i)
    if (entry.fill[i])
      b.filled[i] = allocate(bytesOf(in->inputs + i));
  return b;
}

/// Sets the inputs and outputs of a call. States stay on the device: they are
/// given in the first call, if at all, and requested in the last.
static void prepare(Buffers *b, int call) {
  const mp_interface *in = entry.interface;
  memset(b->inputs, 0, in->num_inputs * sizeof(mp_tensor));
  memset(b->outputs, 0, in->num_outputs * sizeof(mp_tensor));
  for (int i = 0; i < in->num_inputs; ++i) {
    long count = countOf(in->inputs + i);
    if (!entry.fill[i] || (call && in->inputs[i].written))
      continue;
    b->inputs[i].data = b->filled[i];
    if (entry.fill[i] == 1)
      fillUniform(b->filled[i], count, entry.fillValue[i]);
    else
      for (long k = 0; k < count; ++k)
        ((float *)b->filled[i])[k] = entry.fillValue[i];
  }
  for (int i = 0; i < entry.numRecords; ++i) {
    const Record *r = entry.records + i;
    if (r->isExpected || r->call != call)
      continue;
    readBytes(r, b->given[r->place]);
    b->inputs[r->place].data = b->given[r->place];
  }
  for (int i = 0; i < in->num_outputs; ++i)
    if (in->outputs[i].state < 0 || call + 1 == entry.calls)
      b->outputs[i].data = b->room[i];
}

/// FNV-1a hash of all outputs that a call has requested.
static uint64_t hashOutputs(const Buffers *b, uint64_t hash) {
  const mp_interface *in = entry.interface;
  for (int i = 0; i < in->num_outputs; ++i) {
    const unsigned char *bytes = b->outputs[i].data;
    for (long k = 0, end = bytes ? bytesOf(in->outputs + i) : 0; k < end; ++k)
      hash = (hash ^ bytes[k]) * 1099511628211u;
  }
  return hash;
}

typedef struct {
  int code;
  // The worst error relative to its bound, and its place.
  double error, bound, worst;
  int call;
  const char *where;
  uint64_t hash;
} Outcome;

static void compareCall(const Buffers *b, int call, Outcome *outcome) {
  for (int i = 0; i < entry.numRecords; ++i) {
    const Record *r = entry.records + i;
    if (!r->isExpected || r->call != call)
      continue;
    void *expected = allocate(r->bytes);
    readBytes(r, expected);
    double error = errorOf(r, b->outputs[r->place].data, expected);
    free(expected);
    double part = error == 0 ? 0 : r->bound == 0 ? INFINITY : error / r->bound;
    if (outcome->where && part <= outcome->worst)
      continue;
    outcome->worst = part;
    outcome->error = error, outcome->bound = r->bound, outcome->call = call;
    outcome->where = entry.interface->outputs[r->place].name;
  }
}

/// All calls, from the beginning.
static Outcome runCalls(Buffers *b) {
  Outcome outcome = {0};
  outcome.hash = 14695981039346656037u;
  if (entry.interface->calls)
    *entry.interface->calls = 0;
  for (int call = 0; call < entry.calls; ++call) {
    prepare(b, call);
    outcome.call = call;
    if ((outcome.code = entry.run(b->inputs, b->outputs)))
      return outcome;
    outcome.hash = hashOutputs(b, outcome.hash);
    compareCall(b, call, &outcome);
  }
  return outcome;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compareDoubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// The median time of whole calls, including the copies of inputs and of
/// outputs that are not states. All calls have the first call's inputs.
/// Negative if a call failed.
static double timeCalls(Buffers *b, double seconds, double *least, int *count) {
  static double times[maxTimes];
  prepare(b, 0);
  const mp_interface *in = entry.interface;
  for (int i = 0; i < in->num_inputs; ++i)
    if (in->inputs[i].written)
      b->inputs[i].data = NULL;
  for (int i = 0; i < in->num_outputs; ++i)
    if (in->outputs[i].state >= 0)
      b->outputs[i].data = NULL;
  for (int i = 0; i < 3; ++i)
    if (entry.run(b->inputs, b->outputs))
      return -1;
  double end = now() + seconds;
  for (*count = 0; *count < maxTimes && (*count < 3 || now() < end); ++*count) {
    double start = now();
    if (entry.run(b->inputs, b->outputs))
      return -1;
    times[*count] = now() - start;
  }
  qsort(times, *count, sizeof *times, compareDoubles);
  *least = times[0];
  return times[*count / 2];
}

/// Calls of which each launch is timed, after `timeCalls`. A line with the
/// entry's name comes before those of a call. 0 if a call failed.
static int timeLaunches(const Buffers *b, const char *path) {
  enum { numCalls = 3 };
  int isGood = 1;
  setenv("MPOPT_LAUNCH_TIMES", path, 1);
  for (int call = 0; isGood && call < numCalls; ++call) {
    FILE *file = fopen(path, "a");
    if (!file)
      die(damaged, "a file cannot be written", path);
    fprintf(file, "{\"entry\": \"%s\", \"call\": %d}\n", entry.name, call);
    fclose(file);
    isGood = !entry.run(b->inputs, b->outputs);
  }
  unsetenv("MPOPT_LAUNCH_TIMES");
  return isGood;
}

//===-- Telling ----------------------------------------------------------===//

/// Writes text as a JSON string.
static void writeText(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; ++text)
    if (*text == '"' || *text == '\\')
      fprintf(file, "\\%c", *text);
    else
      fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  fputc('"', file);
}

static void writeNumber(FILE *file, const char *name, double value) {
  if (isfinite(value))
    fprintf(file, ", \"%s\": %.9g", name, value);
  else
    fprintf(file, ", \"%s\": null", name);
}

typedef struct {
  Outcome first;
  // 1 yes, 0 no, -1 not looked at.
  int isSame;
  double median, least;
  int count;
} Result;

static void writeJSON(const char *path, const Result *r, const char *verdict) {
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file)
    return;
  fputs("{\"entry\": ", file);
  writeText(file, entry.name);
  fputs(", \"verdict\": ", file);
  writeText(file, verdict);
  fprintf(file, ", \"calls\": %d, \"launches\": %d", entry.calls,
          entry.launches);
  if (r->first.where) {
    writeNumber(file, "error", r->first.error);
    writeNumber(file, "bound", r->first.bound);
    fputs(", \"where\": ", file);
    writeText(file, r->first.where);
  }
  if (r->isSame >= 0)
    fprintf(file, ", \"same_bits\": %s", r->isSame ? "true" : "false");
  if (r->count) {
    writeNumber(file, "seconds", r->median);
    writeNumber(file, "least_seconds", r->least);
    fprintf(file, ", \"timed_calls\": %d", r->count);
  }
  writeNumber(file, "bytes", entry.bytes);
  writeNumber(file, "flop", entry.flops);
  writeNumber(file, "floor_h100", entry.floorH100);
  writeNumber(file, "floor_h200", entry.floorH200);
  fputs("}\n", file);
  fclose(file);
}

static void writeRow(const Result *r, const char *verdict, const char *device) {
  printf("| %s | %s |", entry.name, verdict);
  if (r->first.where)
    printf(" %.2g of %.2g |", r->first.error, r->first.bound);
  else
    printf(" |");
  printf(" %s |", r->isSame < 0 ? "" : r->isSame ? "yes" : "NO");
  double floor = strstr(device, "H100")   ? entry.floorH100
                 : strstr(device, "H200") ? entry.floorH200
                                          : 0;
  if (r->count)
    printf(" %.3f |", r->median * 1e3);
  else
    printf(" |");
  if (floor > 0)
    printf(" %.3f |", floor * 1e3);
  else
    printf(" |");
  if (r->count && floor > 0)
    printf(" %.1f |", r->median / floor);
  else
    printf(" |");
  if (r->count && entry.bytes > 0)
    printf(" %.1f | %.2f |\n", entry.bytes / r->median / 1e9,
           entry.flops / r->median / 1e12);
  else
    printf(" | |\n");
  fflush(stdout);
}

static int finish(const char *results, const Result *r, const char *verdict,
                  int code) {
  const char *device = getenv("DEVICE_CHECK_NAME");
  writeRow(r, verdict, device ? device : "");
  writeJSON(results, r, verdict);
  return code;
}

static int checkEntry(double seconds, const char *results,
                      const char *launches, int isOnce) {
  char verdict[600];
  Result r = {.isSame = -1};
  Buffers b = makeBuffers();
  r.first = runCalls(&b);
  if (!r.first.code && !isOnce) {
    entry.release();
    Outcome second = runCalls(&b);
    r.isSame = !second.code && second.hash == r.first.hash;
    if (second.code)
      r.first.code = second.code, r.first.call = second.call;
  }
  if (!r.first.code && !isOnce) {
    r.median = timeCalls(&b, seconds, &r.least, &r.count);
    if (r.median < 0 || (launches && !timeLaunches(&b, launches)))
      r.first.code = failed, r.count = 0;
  }
  if (r.first.code) {
    snprintf(verdict, sizeof verdict, "FAILED in call %d: %.500s",
             r.first.call + 1, entry.lastError());
    return finish(results, &r, verdict,
                  r.first.code == noDevice ? noDevice : failed);
  }
  entry.release();
  if (!r.first.where)
    return finish(results, &r, "NOTHING COMPARED", damaged);
  if (!(r.first.worst <= 1)) {
    snprintf(verdict, sizeof verdict, "WRONG: '%s' of call %d", r.first.where,
             r.first.call + 1);
    return finish(results, &r, verdict, wrong);
  }
  if (!r.isSame)
    return finish(results, &r, "OTHER BITS AGAIN", wrong);
  return finish(results, &r, "right", right);
}

/// Prints the driver and its first device.
static int showDevice(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    die(noDevice, "there is no NVIDIA driver", dlerror());
  int (*init)(unsigned), (*version)(int *), (*count)(int *), (*get)(int *, int);
  int (*getName)(char *, int, int), (*attribute)(int *, int, int);
  *(void **)&init = dlsym(library, "cuInit");
  *(void **)&version = dlsym(library, "cuDriverGetVersion");
  *(void **)&count = dlsym(library, "cuDeviceGetCount");
  *(void **)&get = dlsym(library, "cuDeviceGet");
  *(void **)&getName = dlsym(library, "cuDeviceGetName");
  *(void **)&attribute = dlsym(library, "cuDeviceGetAttribute");
  if (!init || !version || !count || !get || !getName || !attribute)
    die(noDevice, "libcuda.so.1 has not the functions of a driver", "");
  int driver = 0, devices = 0, device = 0, major = 0, minor = 0;
  char name[maxName] = "";
  char code[32];
  int error = init(0);
  snprintf(code, sizeof code, "error %d", error);
  if (error || count(&devices) || devices < 1)
    die(noDevice, "the NVIDIA driver finds no device", error ? code : "");
  if (version(&driver) || get(&device, 0) ||
      getName(name, sizeof name, device) || attribute(&major, 75, device) ||
      attribute(&minor, 76, device))
    die(noDevice, "the NVIDIA driver does not say what its device is", "");
  printf("%s\t%d.%d\t%d.%d\n", name, major, minor, driver / 1000,
         driver % 1000 / 10);
  return right;
}

int main(int argc, char **argv) {
  const char *path = NULL, *results = NULL, *launches = NULL;
  double seconds = 0.5;
  int isOnce = 0;
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "--device"))
      return showDevice();
    if (!strcmp(argv[i], "--once"))
      isOnce = 1;
    else if (!strncmp(argv[i], "--results=", 10))
      results = argv[i] + 10;
    else if (!strncmp(argv[i], "--launches=", 11))
      launches = argv[i] + 11;
    else if (!strncmp(argv[i], "--seconds=", 10))
      seconds = atof(argv[i] + 10);
    else if (argv[i][0] == '-' || path)
      die(damaged,
          "expected one entry, --seconds, --results, --launches or --once",
          argv[i]);
    else
      path = argv[i];
  }
  if (!path)
    die(damaged, "expected an entry of a kit, or --device", "");
  readEntry(path);
  return checkEntry(seconds, results, launches, isOnce);
}
