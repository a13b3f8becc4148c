#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compares training steps of exported models with torch itself: which parameters
# are trained, their gradients in fp32 and 16 bit, and 40 steps of AdamW.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/compare-torch.sh [--all] [--match REGEX]

  20 exports of 10 architectures, by both exporters of torch, beside torch; then
  the recipes of examples/training. Packages (some 5 GB) go to a virtual
  environment of their own. The exit code is 1 if anything differs.

  --all          all architectures, perturbed weights, fp16 and the exports that
                 are optimized or made for inference
  --match REGEX  the exports of that name

environment:
  MPOPT_BUILD         build folder with bin/mp-opt  (default: build)
  MPOPT_TORCH_PYTHON  a Python that has the packages of
                      scripts/requirements-torch.txt already
END
}

plan=(--few)
match=
while (($#)); do
  case $1 in
  --all) plan=() ;;
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

mp_opt=$build/bin/mp-opt
[[ -x $mp_opt ]] || die "$mp_opt is not there: run scripts/setup.sh"
step_total=4
mkdir -p "$cache"

step "Python packages"
python=${MPOPT_TORCH_PYTHON:-}
if [[ -z $python ]]; then
  ensure_venv venv-torch -r "$root/scripts/requirements-torch.txt"
  python=$cache/venv-torch/bin/python
fi
"$python" -c 'import onnxruntime, onnxscript, torch' ||
  die "$python lacks packages of scripts/requirements-torch.txt"

# Sums of one thread have one order.
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1
models=$build/compare-torch
((${#plan[@]})) || models+=-all
failed=0

step "exports"
"$python" "$root/test/Torch/build_models.py" "$models" \
  ${plan[@]+"${plan[@]}"} 2>"$build/compare-torch.log" ||
  die "see $build/compare-torch.log"

step "what is trained"
"$python" "$root/test/Torch/judge.py" "$models" --mp-opt "$mp_opt" \
  --match "$match" --types bf16 fp16 --curve || failed=1

step "recipes"
while read -r recipe exporter flags; do
  say "$recipe, $exporter"
  # $flags is not quoted: an empty list gives no argument.
  # shellcheck disable=SC2086
  "$python" "$root/examples/training/export_torch.py" \
    "$root/examples/training/torch_models.py:$recipe" \
    --exporter "$exporter" -o "$models/recipe.onnx" --check \
    --mp-opt "$mp_opt" $flags >"$models/recipe.log" 2>&1 </dev/null || {
    failed=1
    grep -v '^  ' "$models/recipe.log" >&2 || true
  }
done <<'END'
transformers_bert dynamo
transformers_bert script
timm_resnet dynamo
timm_resnet script
keras_dense dynamo
keras_dense script
keras_convnet dynamo --inference
END
exit "$failed"
