#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets the machine up, builds mp-opt, and runs all tests. Arguments go to
# ctest: `scripts/test.sh -R Precision` runs the tests of that name.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh" --with-tests
"$cache/venv/bin/ctest" --test-dir "$build" --parallel "$jobs" \
  --output-on-failure --no-tests=error "$@" </dev/null
