#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets the machine up, builds mp-opt, and runs the tests.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/test.sh [--all] [CTEST-ARGUMENTS...]

Runs every test; long sweeps run a sample, the same one each time, that has a
case of each of their rules. Other arguments go to ctest: `-R Precision` runs
the tests of that name.

  --all         run long sweeps as a whole, too; it says what that adds

environment: that of scripts/setup.sh
END
}

# say_what_all_adds: the sweeps, and how many cases more they run.
say_what_all_adds() {
  printf 'Whole sweeps instead of samples:\n'
  "$cache/venv/bin/python" -B "$root/test/Support/sweeps.py"
}

arguments=()
all=0
for argument; do
  case $argument in
  --all) all=1 ;;
  --help | -h) usage && exit ;;
  *) arguments+=("$argument") ;;
  esac
done
"$root/scripts/setup.sh" --with-tests
export MPOPT_TEST_ALL=$all
((all == 0)) || say_what_all_adds
"$cache/venv/bin/ctest" --test-dir "$build" --parallel "$jobs" \
  --output-on-failure --no-tests=error "${arguments[@]}" </dev/null
