#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzzes mp-opt: EXECUTIONS (a million unless said otherwise) for each of the
# targets, one after the other, each on all cores.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/fuzz.sh [EXECUTIONS] [TARGET...]

  EXECUTIONS  inputs for each target (default: 1000000)
  TARGET      bytes, calls, model or text (default: all of them)

The corpus grows in build/sanitized/corpus; inputs that end a target are left
in build/sanitized/crashes. fuzz/README.md says what to do with them.
END
}

executions=1000000
targets=()
for argument; do
  case $argument in
  --help | -h) usage && exit ;;
  bytes | calls | model | text) targets+=("$argument") ;;
  *[!0-9]* | '') usage >&2 && exit 2 ;;
  *) executions=$argument ;;
  esac
done
((${#targets[@]})) || targets=(bytes calls model text)

"$root/scripts/setup.sh" --with-tests
sanitized=$build/sanitized
corpus=$sanitized/corpus
mkdir -p "$sanitized/crashes"
"$sanitized/bin/fuzz-mutants" "$root/fuzz/seeds" "$root/test/models/traps" \
  --corpus="$corpus/seeds"
"$cache/venv/bin/python" -B "$root/fuzz/run_calls.py" \
  --seeds="$corpus/seeds/calls"
status=0
for target in "${targets[@]}"; do
  seeds=$corpus/seeds/models
  [[ $target != text ]] || seeds=$corpus/seeds/texts
  [[ $target != calls ]] || seeds=$corpus/seeds/calls
  mkdir -p "$corpus/$target" "$seeds"
  printf '\n%s: %d executions\n' "$target" "$executions"
  pids=()
  for ((job = 1; job <= jobs; ++job)); do
    # Memory and time of each input are limited: an unchecked number must not
    # determine an allocation, and nothing may hang.
    "$sanitized/bin/fuzz-$target" "$corpus/$target" "$seeds" \
      -runs=$((executions / jobs)) -seed="$job" -max_len=65536 \
      -rss_limit_mb=4096 -malloc_limit_mb=1024 -timeout=30 -reload=1 \
      -print_final_stats=1 -artifact_prefix="$sanitized/crashes/$target-" \
      >"$sanitized/fuzz-$target-$job.log" 2>&1 </dev/null &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do
    wait "$pid" || status=1
  done
  for ((job = 1; job <= jobs; ++job)); do
    grep -hE '^(SUMMARY|broken promise|stat::number_of|stat::peak)' \
      "$sanitized/fuzz-$target-$job.log" || true
  done
done
exit "$status"
