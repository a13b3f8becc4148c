# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034
# What the scripts of this folder share; to be sourced.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Everything made outside the build folder: tools, libraries, Python.
cache=${MPOPT_CACHE:-$HOME/.cache/mp-opt}
build=${MPOPT_BUILD:-$root/build}
jobs=${MPOPT_JOBS:-$(nproc)}

step_number=0
step_total=0

# step TITLE: the next step's heading, with the seconds gone by so far.
step() {
  step_number=$((step_number + 1))
  printf '[%d/%d] %s (%d s)\n' "$step_number" "$step_total" "$1" "$SECONDS"
}

# say TEXT: a detail of the current step.
say() { printf '      %s\n' "$1"; }

# die TEXT: end with an error.
die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$1" >&2
  exit 1
}
