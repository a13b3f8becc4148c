#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds mp-opt twice from copies of the sources, in folders whose names differ
# in text and in length and without ccache, and compares the results of `cmake
# --install` bit for bit. Takes about 8 minutes on 2 cores.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/check-reproducible.sh

Needs what scripts/setup.sh --no-build installs.

environment:
  MPOPT_CACHE, MPOPT_JOBS, MPOPT_BUILD   as for scripts/setup.sh; the build
                                         folder says where LLVM and ONNX are
END
}
case ${1-} in
'') ;;
--help | -h) usage && exit ;;
*) usage >&2 && exit 2 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
settings=()
for name in CMAKE_C_COMPILER CMAKE_CXX_COMPILER LLVM_DIR MLIR_DIR ONNX_DIR \
  Python3_EXECUTABLE; do
  value=$(sed -n "s/^$name:[A-Z]*=//p" "$build/CMakeCache.txt")
  settings+=("-D$name=$value")
done
cmake=$cache/venv/bin/cmake

# build_in SOURCE BUILD PREFIX DATE
build_in() {
  step "building in $2"
  mkdir -p "$1"
  (cd "$root" && git ls-files -z --cached --others --exclude-standard |
    tar --null --files-from=- -cf -) | tar -xf - -C "$1"
  # Another time of day, language and mask of modes, too.
  find "$1" -exec touch -d "$4" {} +
  "$cmake" -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    "${settings[@]}" >"$work/log"
  CCACHE_DISABLE=1 "$cmake" --build "$2" --parallel "$jobs" \
    --target mp-opt mp-opt-plugin >>"$work/log"
  "$cmake" --install "$2" --prefix "$3" >>"$work/log"
}

step_total=3
build_in "$work/a" "$work/a/build" "$work/first" 2001-01-01
umask 077
LC_ALL=C TZ=Asia/Tokyo build_in "$work/a-longer-name/source" \
  "$work/elsewhere" "$work/second" 2020-02-29

step "comparing"
different=0
while IFS= read -r -d '' file; do
  if ! cmp "$work/first/$file" "$work/second/$file"; then
    different=$((different + 1))
  fi
done < <(cd "$work/first" && find . -type f -print0 | sort -z)
diff <(cd "$work/first" && find . | sort) <(cd "$work/second" && find . | sort)
readelf -d "$work/first/bin/mp-opt" | grep -i 'runpath\|rpath' || true
readelf -n "$work/first/bin/mp-opt" | grep -i 'build id' || true
count=$(find "$work/first" -type f | wc -l)
say "$count installed files, $different differ"
((different == 0))
