/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   What the archives of LLVM, which are made for glibc 2.36, ask for and glibc
   2.28 has not, or has under other names. No header is included: they say
   what newer ones have.                                                    */

typedef unsigned long size_t;
struct stat;

#define HIDDEN __attribute__((visibility("hidden")))
enum { statVersion = 1, sysGettid = 186 };

int __xstat(int version, const char *path, struct stat *to);
int __lxstat(int version, const char *path, struct stat *to);
int __fxstat(int version, int file, struct stat *to);
int __fxstatat(int version, int folder, const char *path, struct stat *to,
               int flags);
int __xmknod(int version, const char *path, unsigned mode, unsigned long *dev);
long syscall(long number, ...);
int fork(void);
long getrandom(void *to, size_t size, unsigned flags);

/* On x86-64, the 64-bit forms are the same. */
HIDDEN int stat(const char *path, struct stat *to) {
  return __xstat(statVersion, path, to);
}
HIDDEN int stat64(const char *path, struct stat *to) {
  return __xstat(statVersion, path, to);
}
HIDDEN int lstat(const char *path, struct stat *to) {
  return __lxstat(statVersion, path, to);
}
HIDDEN int lstat64(const char *path, struct stat *to) {
  return __lxstat(statVersion, path, to);
}
HIDDEN int fstat(int file, struct stat *to) {
  return __fxstat(statVersion, file, to);
}
HIDDEN int fstat64(int file, struct stat *to) {
  return __fxstat(statVersion, file, to);
}
HIDDEN int fstatat(int folder, const char *path, struct stat *to, int flags) {
  return __fxstatat(statVersion, folder, path, to, flags);
}
HIDDEN int fstatat64(int folder, const char *path, struct stat *to,
                     int flags) {
  return __fxstatat(statVersion, folder, path, to, flags);
}
HIDDEN int mknod(const char *path, unsigned mode, unsigned long dev) {
  return __xmknod(0, path, mode, &dev);
}
HIDDEN int gettid(void) { return (int)syscall(sysGettid); }
HIDDEN int _Fork(void) { return fork(); }
HIDDEN unsigned arc4random(void) {
  unsigned number = 0;
  while (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
  }
  return number;
}
/* LLVM prints this as statistics, which nobody asks for here. */
struct mallinfo2 {
  size_t fields[10];
};
HIDDEN struct mallinfo2 mallinfo2(void) {
  struct mallinfo2 none = {{0}};
  return none;
}
/* libstdc++ then counts references with locks, always. */
HIDDEN char __libc_single_threaded = 0;
