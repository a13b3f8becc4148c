#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the Python wheel: self-contained, for glibc 2.28 and later.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/build-wheel.sh [--python=PYTHON]... [FOLDER]

Makes a wheel in FOLDER (build/dist) for each PYTHON, by default the one that
scripts/setup.sh uses, and checks that auditwheel takes it for manylinux_2_28.
With CPython 3.12 or later, the wheel is for that and all later versions; with
3.11, for 3.11 alone.

It runs `scripts/setup.sh --no-build` if ONNX has not been built. It compiles in
build-wheel: 15 to 40 minutes on two cores, a few minutes where the compiler
cache has the objects of a build of the same sources.

environment: that of scripts/setup.sh
END
}

llvm=/usr/lib/llvm-22
platform=manylinux_2_28_x86_64
# Debian's archives of these two are not position independent.
protobuf_version=3.21.12
protobuf_sha256=930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53
zlib_version=1.2.13
zlib_sha256=71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1

# fetch_source PACKAGE FILE SHA256: the source of a package of Debian's, by apt,
# whose own lists stay as they are.
fetch_source() {
  local package=$1 file=$2 sha256=$3 folder=$cache/downloads/sources
  if sha256sum --status --check - 2>/dev/null <<<"$sha256  $folder/$file"; then
    return
  fi
  mkdir -p "$folder/lists/partial" "$folder/archives/partial"
  cat >"$folder/debian.sources" <<'END'
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
  local apt=(apt-get -qq -o Dir::Etc::SourceList="$folder/debian.sources"
    -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$folder/lists"
    -o Dir::Cache="$folder" -o Debug::NoLocking=true)
  say "downloading the source of $package"
  (cd "$folder" && "${apt[@]}" update && "${apt[@]}" source --download-only \
    "$package") 2>"$folder/log" >&2 || die "no source of $package: $folder/log"
  sha256sum --status --check - <<<"$sha256  $folder/$file" ||
    die "$file is not the file it should be (sha256)"
}

# unpack FILE FOLDER
unpack() {
  rm -rf "$2"
  mkdir -p "$2"
  tar -xf "$cache/downloads/sources/$1" -C "$2" --strip-components 1
}

build_protobuf() {
  local work=$static/protobuf-work file
  file=protobuf_$protobuf_version.orig.tar.gz
  if [[ -f $static/libprotobuf.a ]]; then
    say "protobuf $protobuf_version is there"
    return
  fi
  fetch_source protobuf "$file" "$protobuf_sha256"
  say "building protobuf $protobuf_version (2 minutes on 2 cores)"
  unpack "$file" "$work"
  "$cmake" -S "$work" -B "$work/out" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER="$llvm/bin/clang" \
    -DCMAKE_CXX_COMPILER="$llvm/bin/clang++" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_STANDARD=17 \
    -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$work=protobuf -w" \
    -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF \
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_CXX_VISIBILITY_PRESET=hidden >"$static/log" 2>&1 ||
    die "protobuf: $static/log"
  "$cmake" --build "$work/out" --parallel "$jobs" --target libprotobuf \
    >>"$static/log" 2>&1 || die "protobuf: $static/log"
  cp "$work/LICENSE" "$static/protobuf.txt"
  # Renamed at the end: it is either whole or not there.
  cp "$work/out/libprotobuf.a" "$static/new.a"
  mv "$static/new.a" "$static/libprotobuf.a"
  rm -rf "$work"
}

build_zlib() {
  local work=$static/zlib-work file source
  file=zlib_$zlib_version.dfsg.orig.tar.bz2
  if [[ -f $static/libz.a ]]; then
    say "zlib $zlib_version is there"
    return
  fi
  fetch_source zlib "$file" "$zlib_sha256"
  say "building zlib $zlib_version"
  unpack "$file" "$work"
  for source in "$work"/*.c; do
    "$llvm/bin/clang" -O2 -fPIC -fvisibility=hidden -w -D_LARGEFILE64_SOURCE=1 \
      -ffile-prefix-map="$work=zlib" -DHAVE_HIDDEN -c "$source" -o "${source%.c}.o"
  done
  cp "$work/README" "$static/zlib.txt"
  rm -f "$static/new.a"
  ar qcD "$static/new.a" "$work"/*.o
  mv "$static/new.a" "$static/libz.a"
  rm -rf "$work"
}

# The library with everything, and the programs, in $bundle.
build_bundle() {
  logged_configure "$root" "$wheel_build" \
    -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER="$llvm/bin/clang" \
    -DCMAKE_CXX_COMPILER="$llvm/bin/clang++" \
    -DLLVM_DIR="$llvm/lib/cmake/llvm" -DMLIR_DIR="$llvm/lib/cmake/mlir" \
    -DONNX_DIR="$onnx" -DPython3_EXECUTABLE="$cache/venv/bin/python" \
    -DMPOPT_TEST_VENV="$cache/no-tests" \
    -DMPOPT_STATIC_PROTOBUF="$static/libprotobuf.a" \
    -DMPOPT_STATIC_ZLIB="$static/libz.a" -DMPOPT_BUNDLE_LINKER="$linker"
  "$cmake" --build "$wheel_build" --parallel "$jobs" \
    --target mp-opt-bundle mp-opt-onnxruntime-bundle mp-opt-launcher \
    mp-run-launcher
}

# logged_configure SOURCE FOLDER SETTINGS...
logged_configure() {
  local log=$cache/configure-wheel.log
  "$cmake" -S "$1" -B "$2" -G Ninja "${@:3}" >"$log" 2>&1 ||
    die "cmake failed: $log"
}

# Collects the licences of all linked libraries.
collect_licenses() {
  local to=$bundle/licenses
  rm -rf "$to"
  mkdir -p "$to"
  cp "$root/LICENSE" "$to/mp-opt.txt"
  cp "$static/protobuf.txt" "$static/zlib.txt" "$to"
  cp /usr/share/doc/libmlir-22-dev/copyright "$to/llvm.txt"
  cp /usr/share/doc/libzstd-dev/copyright "$to/zstd.txt"
  cp /usr/share/doc/libgcc-s1/copyright "$to/gcc.txt"
  tar -xOzf "$cache"/downloads/onnx-*.tar.gz --wildcards '*/LICENSE' |
    head -c 20000 >"$to/onnx.txt"
  cp "$("$python" -c 'import importlib.metadata as m
print([f.locate() for f in m.files("nanobind") if f.name == "LICENSE"][0])')" \
    "$to/nanobind.txt"
}

# build_wheel PYTHON
build_wheel() {
  local version environment made=$wheel_build/made
  version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  environment=venv-wheel-$version
  say "for CPython $version"
  MPOPT_PYTHON=$1 ensure_venv "$environment" --no-deps \
    -r "$root/scripts/requirements-wheel.txt"
  rm -rf "$made"
  PATH=$cache/venv/bin:$PATH "$cache/$environment/bin/python" -m pip wheel \
    --quiet --no-deps --no-build-isolation --disable-pip-version-check \
    -w "$made" "$root/python" \
    --config-settings=cmake.define.CMAKE_CXX_COMPILER="$llvm/bin/clang++" \
    --config-settings=cmake.define.MPOPT_SOURCE="$root" \
    --config-settings=cmake.define.MPOPT_BUNDLE="$bundle" \
    --config-settings=cmake.define.MPOPT_BUNDLE_LINKER="$linker" \
    --config-settings=build-dir="$wheel_build/python-$version"
  "$python" -m auditwheel show "$made"/*.whl | tee "$wheel_build/audit"
  # Words are wrapped.
  tr -s '\n ' '  ' <"$wheel_build/audit" | grep -q "\"$platform\"" ||
    die "the wheel is not for $platform"
  # No library has to be added to the wheel: only the tag is missing.
  "$python" -m wheel tags --remove --platform-tag "$platform" "$made"/*.whl \
    >/dev/null
  mv "$made"/*.whl "$folder"
}

pythons=()
folder=$build/dist
while (($#)); do
  case $1 in
  --python=?*) pythons+=("${1#*=}") ;;
  --python)
    (($# > 1)) || die "--python: expected a Python"
    pythons+=("$2")
    shift
    ;;
  --help | -h) usage && exit ;;
  -*) usage >&2 && exit 2 ;;
  *) folder=$1 ;;
  esac
  shift
done
((${#pythons[@]})) || pythons=("$(find_python)")
for one in "${pythons[@]}"; do
  "$one" -c '' 2>/dev/null || die "--python: cannot run $one"
done
cmake=$cache/venv/bin/cmake
python=$cache/venv-wheel/bin/python
static=$cache/static-$protobuf_version-$zlib_version
# Next to the build folder: the compiler cache finds objects by paths from the
# folder to the sources, and those of the main build have the same ones there.
wheel_build=${build%/}-wheel
bundle=$wheel_build/bundle
linker="$python -m ziglang cc -target x86_64-linux-gnu.2.28"
export ZIG_GLOBAL_CACHE_DIR=$cache/zig
onnx=$(sed -n 's/^ONNX_DIR:[^=]*=//p' "$build/CMakeCache.txt" 2>/dev/null) ||
  true
if [[ -z $onnx ]]; then
  "$root/scripts/setup.sh" --no-build
  onnx=$(<"$cache/onnx-folder")/lib/cmake/ONNX
fi
mkdir -p "$static" "$folder"
step_total=4
step "Tools"
ensure_venv venv-wheel --no-deps -r "$root/scripts/requirements-wheel.txt"
step "Archives"
build_protobuf
build_zlib
step "The library"
build_bundle
collect_licenses
step "Wheels"
for one in "${pythons[@]}"; do
  build_wheel "$one"
done
ls -l "$folder"
