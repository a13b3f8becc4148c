#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Prepares a Debian 12 machine for mp-opt and builds it. Existing parts are
# kept: a second run takes seconds.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/setup.sh [--no-build] [--with-tests]

  --no-build    install what building needs, and stop there
  --with-tests  install what the tests need as well, and build the programs that
                only tests run, the sanitized mp-opt and the fuzzers
                (build/sanitized); else the programs and the plugin are built

environment:
  MPOPT_CACHE   tools and libraries  (default: ~/.cache/mp-opt)
  MPOPT_BUILD   build folder         (default: build)
  MPOPT_JOBS    parallel compilers   (default: number of cores)
  MPOPT_PYTHON  Python 3.11 or newer (default: Debian's, else python3)
END
}

packages=(
  # compiler (g++ brings the C++ library and the cc that --emit=lib calls),
  # linker, build tools
  clang-22 lld-22 g++ ninja-build ccache ca-certificates python3-venv
  # MLIR, and packages that its CMake files need
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-format-22
  zlib1g-dev libzstd-dev libxml2-dev
  # ONNX
  protobuf-compiler libprotobuf-dev
  # the allocator
  libjemalloc-dev
)
# Packages that only the tests use: for the sanitized build, code for another
# processor, runs of several ranks, completion in shells, man pages, the Debian
# package and the Python package.
test_packages=(libclang-rt-22-dev g++-aarch64-linux-gnu qemu-user openmpi-bin
  mpich python3-dev zsh fish man-db mandoc dpkg-dev lintian debootstrap)
llvm=/usr/lib/llvm-22
cmake_version=4.4.4

onnx_version=1.23.2
onnx_sha256=008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8
onnx_settings=(
  -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_CXX_COMPILER="$llvm/bin/clang++"
  # ONNX's headers are most of the work: a unity build takes a quarter of the
  # time.
  -DONNX_USE_UNITY_BUILD=ON
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON
  -DCMAKE_CXX_VISIBILITY_PRESET=hidden
  -DONNX_ML=ON
  -DONNX_BUILD_PYTHON=OFF
  -DONNX_USE_PROTOBUF_SHARED_LIBS=ON
  -DONNX_GEN_PB_TYPE_STUBS=OFF
)
# The name of its sources in the messages that it holds, in any folder.
onnx_source_name="onnx-work"

# The settings of the sanitized build. Inference runs on untrusted nodes:
# undefined behaviour in it ends the process, and so does an index out of a
# vector.
sanitizers=address,undefined
sanitized_onnx_settings=(
  "${onnx_settings[@]}"
  -DCMAKE_BUILD_TYPE=None
  -DCMAKE_CXX_FLAGS="-O1 -gline-tables-only -D_GLIBCXX_ASSERTIONS \
-fsanitize=$sanitizers,fuzzer-no-link -fno-sanitize=vptr \
-fno-sanitize-recover=all -w"
)

# logged FILE COMMAND...: writes the output of the command to FILE, and its end
# to the terminal if it fails.
logged() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 30 "$log" >&2
    die "failed: $* (all of its output: $log)"
  }
}

install_packages() {
  local missing=() name installed as_root=()
  if command -v dpkg-query >/dev/null; then
    # dpkg-query fails when it knows nothing of one of the names.
    # shellcheck disable=SC2016
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' \
      "${packages[@]}" 2>/dev/null || true)
  else
    die "this script installs Debian packages; elsewhere, install the \
equivalent of: ${packages[*]}"
  fi
  for name in "${packages[@]}"; do
    grep -qxF "$name installed" <<<"$installed" || missing+=("$name")
  done
  if ((${#missing[@]} == 0)); then
    say "all ${#packages[@]} are there"
    return
  fi
  if ((EUID != 0)); then
    as_root=(sudo)
    # sudo may ask for the password only if there is a terminal.
    [[ -t 0 ]] || as_root=(sudo --non-interactive)
    "${as_root[@]}" true 2>/dev/null ||
      die "these packages are missing, and only root can install them:
  apt-get install --no-install-recommends ${missing[*]}"
  fi
  say "installing: ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0)
  # An unreachable index of another source does not matter here: the packages
  # only have to be available.
  "${apt[@]}" update </dev/null || say "some package lists are not up to date"
  logged "$cache/apt.log" "${apt[@]}" install -y --no-install-recommends \
    "${missing[@]}"
}

download_onnx() {
  local archive=$cache/downloads/onnx-$onnx_version.tar.gz
  if ! sha256sum --status --check - 2>/dev/null <<<"$onnx_sha256  $archive"; then
    say "downloading the source distribution"
    rm -f "$archive"
    "$cache/venv/bin/python" -m pip download --quiet --no-input \
      --disable-pip-version-check --no-deps --no-binary onnx \
      --dest "$cache/downloads" "onnx==$onnx_version"
    sha256sum --status --check - <<<"$onnx_sha256  $archive" ||
      die "onnx-$onnx_version.tar.gz is not the file it should be (sha256)"
  fi
}

# onnx_folder COMPILER SETTINGS...: where the built ONNX library belongs.
# Another version, other settings or another compiler give another folder.
onnx_folder() {
  local compiler=$1 key
  shift
  key=$(printf '%s\n' "$onnx_sha256" "$@" "$onnx_source_name" "$(uname -m)" \
    "$("$compiler" -dumpfullversion 2>/dev/null || "$compiler" -dumpversion)" \
    "$(protoc --version)" |
    sha256sum | cut -c 1-12)
  printf '%s\n' "$cache/onnx-$onnx_version-$key"
}

# build_onnx FOLDER TARGET SETTINGS...
build_onnx() {
  local folder=$1 target=$2
  shift 2
  if [[ -d $folder ]]; then
    say "${folder##*/} is there"
    return
  fi
  download_onnx
  say "building (a minute on 2 cores)"
  # One folder for every build of it: ccache then knows the files again.
  local work=$cache/onnx-work
  rm -rf "$work"
  mkdir -p "$work/source"
  tar -xzf "$cache/downloads/onnx-$onnx_version.tar.gz" -C "$work/source" \
    --strip-components 1
  logged "$work/log" env CXXFLAGS="-ffile-prefix-map=$work=$onnx_source_name" \
    "$cmake" -S "$work/source" -B "$work/build" -G Ninja "$@" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DPython3_EXECUTABLE="$cache/venv/bin/python"
  logged "$work/log" "$cmake" --build "$work/build" --target "$target" \
    --parallel "$jobs"
  logged "$work/log" "$cmake" --install "$work/build" --prefix "$work/prefix"
  # Renamed at the end: the folder is either whole or not there.
  mv -T "$work/prefix" "$folder"
  rm -rf "$work"
}

# build_mp_opt FOLDER ONNX SETTINGS...
build_mp_opt() {
  local folder=$1 onnx=$2 fresh=()
  shift 2
  # CMake keeps nothing else of a folder where the compiler was another one.
  grep -qs "^CMAKE_CXX_COMPILER:.*=$llvm/bin/clang++\$" \
    "$folder/CMakeCache.txt" || fresh=(--fresh)
  logged "$cache/configure.log" "$cmake" -S "$root" -B "$folder" -G Ninja \
    ${fresh[@]+"${fresh[@]}"} \
    -DCMAKE_C_COMPILER="$llvm/bin/clang" \
    -DCMAKE_CXX_COMPILER="$llvm/bin/clang++" \
    -DLLVM_DIR="$llvm/lib/cmake/llvm" -DMLIR_DIR="$llvm/lib/cmake/mlir" \
    -DONNX_DIR="$onnx/lib/cmake/ONNX" \
    -DPython3_EXECUTABLE="$cache/venv/bin/python" \
    -DMPOPT_TEST_VENV="$cache/venv-test" \
    -DMPOPT_TRAINING_VENV="$cache/venv-training" \
    -DMPOPT_PTXAS_VENV="$cache/venv-ptxas" \
    -DMPOPT_TORCH_VENV="$cache/venv-torch" "$@"
  "$cmake" --build "$folder" --parallel "$jobs" --target "${targets[@]}"
}

with_build=1
with_tests=0
targets=(mp-opt mp-opt-plugin mp-opt-c mp-opt-lsp-server mp-opt-shell)
for argument; do
  case $argument in
  --no-build) with_build=0 ;;
  --with-tests) with_tests=1 targets=(all) ;;
  --help | -h) usage && exit ;;
  *) usage >&2 && exit 2 ;;
  esac
done
step_total=$((3 + 3 * with_tests + with_build + with_tests * with_build))
((with_tests == 0)) || packages+=("${test_packages[@]}")
mkdir -p "$cache/downloads"
cmake=$cache/venv/bin/cmake

# One set-up at a time; builds may go on side by side.
exec 9>"$cache/lock"
flock 9
step "Debian packages"
install_packages
step "CMake $cmake_version"
ensure_venv venv "cmake==$cmake_version"
step "ONNX $onnx_version"
onnx=$(onnx_folder "$llvm/bin/clang++" "${onnx_settings[@]}")
build_onnx "$onnx" all "${onnx_settings[@]}"
# scripts/build-wheel.sh reads this file; it does not need a build folder.
printf '%s\n' "$onnx" >"$cache/onnx-folder"
if ((with_tests)); then
  step "ONNX $onnx_version, sanitized"
  sanitized_onnx=$(onnx_folder "$llvm/bin/clang++" \
    "${sanitized_onnx_settings[@]}")
  build_onnx "$sanitized_onnx" all "${sanitized_onnx_settings[@]}"
  step "Python packages of the tests"
  ensure_venv venv-test -r "$root/scripts/requirements-test.txt"
  ensure_venv venv-training --no-deps \
    -r "$root/scripts/requirements-training.txt"
  ensure_venv venv-ptxas --no-deps -r "$root/scripts/requirements-ptxas.txt"
  ensure_venv venv-docs -r "$root/scripts/requirements-docs.txt"
  # Unpacking takes some minutes, in parallel with the build.
  ensure_venv venv-torch -r "$root/scripts/requirements-torch.txt" &
  torch=$!
fi
exec 9>&-
if ((with_build)); then
  step "mp-opt"
  build_mp_opt "$build" "$onnx" -DCMAKE_BUILD_TYPE=Release
fi
if ((with_build && with_tests)); then
  step "mp-opt, sanitized"
  targets=(mp-opt kernel-opt fuzz/all)
  build_mp_opt "$build/sanitized" "$sanitized_onnx" -DCMAKE_BUILD_TYPE=None \
    -DMPOPT_SANITIZE="$sanitizers"
fi
if ((with_tests)); then
  step "Python packages with torch"
  wait "$torch"
fi
