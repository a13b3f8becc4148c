/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   A program of the Python package: all of it is in libmp-opt.so.           */

int mp_opt_run_program(const char *name, int argc, char **argv);

int main(int argc, char **argv) {
  return mp_opt_run_program(MPOPT_PROGRAM, argc, argv);
}
