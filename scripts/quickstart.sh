#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets the machine up, builds mp-opt, and turns an example to bf16.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh"
input=examples/mlp.onnxtxt
output=${build#"$root"/}/mlp.bf16.onnx
cd "$root"
command=("${build#"$root"/}/bin/mp-opt" "$input" --mixed-bf16 -o "$output")
printf '\n$ %s\n' "${command[*]}"
"${command[@]}"
printf 'written: %s (%d bytes)\n' "$output" "$(stat -c %s "$output")"
