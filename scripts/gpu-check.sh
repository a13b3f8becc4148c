#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Checks and measures the compiler's code for GPUs on a GPU. The machine with
# the GPU needs no build: --make writes a folder that is copied there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ -e $here/device_check ]]; then
  kit=$here
  root=
else
  # shellcheck source-path=SCRIPTDIR source=common.sh
  source "$here/common.sh"
  kit=$build/gpu-check
fi

usage() {
  cat <<'END'
usage: scripts/gpu-check.sh [--make[=KIT] [OPTION...]] [--run[=KIT]]
                            [--minutes=N] [--seconds=S]

--make       write KIT (default build/gpu-check), and KIT.tar.gz to take along,
             from a build; needs no GPU.
             OPTIONs are those of benchmarks/device_kit.py: --models=NAMES,
             --large, --device=emulated, --target=sm_80,sm_90a:cubin,
             --jobs=N
--run        run KIT. Without --make and --run, it is made if it is not there,
             and run. In KIT the same script is gpu-check.sh and runs it
--minutes=N  what does not fit into N minutes is skipped, and listed (10)
--seconds=S  how long each model's calls are timed (0.5)

To run, KIT needs bash, libc and NVIDIA's driver; torch and compute-sanitizer
are used if they are there. It prints tables, and writes them to KIT/results.md,
all numbers to KIT/results.jsonl, and the time of each launch to
KIT/launches.jsonl.

exit code: 0 all that ran is right; 1 something is wrong, has failed, or no time
was left to run anything; 2 usage, or the kit cannot be made; 4 there is no
driver or no device: nothing has run

environment:
  MPOPT_CACHE, MPOPT_BUILD   as for scripts/setup.sh
END
}

fail_usage() {
  printf 'gpu-check.sh: error: %s\n' "$1" >&2
  exit 2
}

is_make=
is_run=
minutes=10
seconds=0.5
options=()
for argument; do
  case $argument in
  --help | -h) usage && exit ;;
  --make) is_make=yes ;;
  --make=*) is_make=yes kit=${argument#*=} ;;
  --run) is_run=yes ;;
  --run=*) is_run=yes kit=${argument#*=} ;;
  --minutes=*) minutes=${argument#*=} ;;
  --seconds=*) seconds=${argument#*=} ;;
  --large | --models=* | --device=* | --target=* | --jobs=*) options+=("$argument") ;;
  *) usage >&2 && exit 2 ;;
  esac
done
[[ $minutes =~ ^[0-9]+$ ]] || fail_usage "--minutes=$minutes: expected a number"
[[ $seconds =~ ^[0-9.]+$ ]] || fail_usage "--seconds=$seconds: expected a number"

make_kit() {
  [[ $root ]] || fail_usage "--make is for a clone of mp-opt, not for a kit"
  [[ -x $build/bin/mp-opt ]] || fail_usage "no build in $build: scripts/setup.sh"
  local python=$cache/venv-test/bin/python
  [[ -x $python ]] || python=python3
  MP_OPT=$build/bin/mp-opt MP_RUN=$build/bin/mp-run \
    "$python" "$root/benchmarks/device_kit.py" "$kit" "${options[@]}" >&2 ||
    fail_usage "the kit is not made"
  du -sh "$kit" "$kit.tar.gz" >&2
}

if [[ $is_make || (! $is_run && $root && ! -e $kit/entries.list) ]]; then
  make_kit
  [[ ! $is_make || $is_run ]] || exit 0
fi
[[ -e $kit/entries.list ]] || fail_usage "$kit is not a kit, or not a whole one"

# Query the driver's device, or exit with the reason why nothing can run.
cd "$kit"
device=$(./device_check --device) || exit $?
IFS=$'\t' read -r name capability driver <<<"$device"
export DEVICE_CHECK_NAME=$name
deadline=$((SECONDS + 60 * minutes))
results=results.jsonl
launches=launches.jsonl
: >results.md
: >$launches
printf '{"device": "%s", "capability": "%s", "driver": "%s", "date": "%s", ' \
  "$name" "$capability" "$driver" "$(date -u +%FT%TZ)" >$results
printf '"kit": "%s"}\n' "$(<version)" >>$results

# tell TEXT...: prints to the terminal and into the table, at once.
tell() { printf '%s\n' "$@" | tee -a results.md; }
left() { echo $((deadline - SECONDS)); }

tell "$name (compute capability $capability), driver for CUDA $driver, $(
  date -u +%F), $(<version)"
if command -v nvidia-smi >/dev/null; then
  tell "$(nvidia-smi --query-gpu=driver_version,clocks.max.sm,power.limit \
    --format=csv,noheader -i 0 2>&1 || true)"
fi

ran=0
failures=0
skipped=()

# run_entry NAME SECONDS-TO-KEEP
run_entry() {
  local code=0 most=$(($(left) - $2))
  if ((most < 5)); then
    skipped+=("$1")
    return
  fi
  ((most < 120)) || most=120
  ran=$((ran + 1))
  timeout "$most" ./device_check "$1.txt" --seconds="$seconds" \
    --results=$results --launches=$launches 2>entry.err | tee -a results.md || code=$?
  if ((code != 0)); then failures=$((failures + 1)); fi
  # Rows of those that ended on their own are there.
  case $code in
  0 | 1 | 4 | 5) return ;;
  124) set -- "$1" "no end after $most s" ;;
  *) set -- "$1" "exit code $code: $(tr '\n|' '  ' <entry.err)" ;;
  esac
  tell "| $1 | FAILED: $2 | | | | | | | |"
  printf '{"entry": "%s", "verdict": "FAILED"}\n' "$1" >>$results
}

# run_stage STAGE TITLE SECONDS-TO-KEEP
run_stage() {
  local stage entry
  grep -q "^$1 " entries.list || return 0
  tell '' "$2" '' \
    '| entry | verdict | error | same bits | ms | least ms | x least | GB/s | TFLOP/s |' \
    '|---|---|---:|---|---:|---:|---:|---:|---:|'
  while read -r stage entry; do
    [[ $stage != "$1" ]] || run_entry "$entry" "$3"
  done <entries.list
}

has_torch=
reserve=30
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  has_torch=yes
  reserve=200
fi
run_stage small 'Small kernels:' 0
run_stage big 'Products of 4096 x 4096 x 4096; steps of larger models:' $reserve
run_stage large 'Steps of GPT-2 (124M, 8 x 1024 tokens), BERT-large (16 x 512) and ResNet-50 (256 images):' $reserve
run_stage models 'Models forward, and eight training steps:' $reserve

if [[ ! $has_torch ]]; then
  tell '' "Not compared with torch: python3 has no torch that sees a GPU."
elif (($(left) < 30)); then
  skipped+=(torch)
else
  tell '' 'Training steps in torch:' '' '| entry | torch | ms |' '|---|---|---:|'
  timeout $(($(left) - 20)) python3 device_torch.py torch.json \
    --results=$results --seconds="$seconds" 2>torch.err | tee -a results.md ||
    tell '' "torch has not ended on its own: see torch.err."
fi

sanitizer=$(command -v compute-sanitizer || true)
for path in /usr/local/cuda*/bin/compute-sanitizer; do
  [[ $sanitizer || ! -x $path ]] || sanitizer=$path
done
if [[ ! $sanitizer ]]; then
  tell '' "Not run under compute-sanitizer: it is not there."
else
  tell '' "Small kernels under compute-sanitizer:" '' '| entry | tool | verdict |' \
    '|---|---|---|'
  for tool in memcheck racecheck; do
    while read -r stage entry; do
      [[ $stage == small ]] || continue
      if (($(left) < 10)); then
        skipped+=("$entry under $tool")
        continue
      fi
      code=0
      timeout "$(left)" "$sanitizer" --tool=$tool --error-exitcode=9 \
        ./device_check "$entry.txt" --once >sanitizer.log 2>&1 || code=$?
      if ((code == 0)); then
        tell "| $entry | $tool | nothing found |"
      elif ((code == 124)); then
        skipped+=("$entry under $tool")
      else
        failures=$((failures + 1))
        tell "| $entry | $tool | FAILED: $(tail -n 1 sanitizer.log | tr '|' ' ') |"
        cp sanitizer.log "$entry.$tool.log"
      fi
    done <entries.list
  done
fi

tell ''
if ((${#skipped[@]})); then
  tell "Not run, as $minutes minutes were over: ${skipped[*]}."
fi
tell "$ran entries ran, $failures wrong or failed, ${#skipped[@]} skipped, $SECONDS s."
((ran > 0 && failures == 0))
