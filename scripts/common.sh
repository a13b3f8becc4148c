# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034
# Functions and settings of the scripts of this folder; to be sourced.

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

# The Python to make virtual environments with.
find_python() {
  local candidate
  for candidate in "${MPOPT_PYTHON:-}" /usr/bin/python3 python3; do
    if [[ -n $candidate ]] && "$candidate" -c '
import ensurepip, sys, venv
sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  die "no Python 3.11 or newer that can make virtual environments"
}

# ensure_venv NAME PIP-ARGUMENTS...: makes the virtual environment NAME with the
# packages that `pip install PIP-ARGUMENTS` installs. A stamp records the
# arguments, including the contents of files.
ensure_venv() {
  local folder=$cache/$1 argument stamp
  shift
  stamp=.mp-opt-$({
    printf '%s\n' "$@"
    for argument; do [[ ! -f $argument ]] || cat "$argument"; done
  } | sha256sum | cut -c 1-16)
  if [[ -e $folder/$stamp ]] && "$folder/bin/python" -c '' 2>/dev/null; then
    say "${folder##*/} is there"
    return
  fi
  say "${folder##*/}: pip install $*"
  if ! "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
    "$(find_python)" -m venv --clear "$folder"
  fi
  "$folder/bin/python" -m pip install --quiet --no-input \
    --disable-pip-version-check --only-binary :all: "$@"
  rm -f "$folder"/.mp-opt-*
  touch "$folder/$stamp"
}
