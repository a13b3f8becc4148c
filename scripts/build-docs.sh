#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the documentation site: build/site/index.html is its first page.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/build-docs.sh [--no-install] [-o FOLDER]

  -o FOLDER     where the site goes, in the place of an older one
                (default: build/site)
  --no-install  fail if the Python packages are not there, install none

The site consists of files: open FOLDER/index.html, or serve the folder from any
address; search works both ways. It loads nothing from elsewhere. Pages of flags
come from the programs in build/bin, those of passes and dialects from the .td
files, by mlir-tblgen.

environment:
  MPOPT_CACHE   tools and libraries  (default: ~/.cache/mp-opt)
  MPOPT_BUILD   build folder         (default: build)
  MLIR_TBLGEN   mlir-tblgen          (default: that of LLVM 22)
END
}

install=1
site=
while (($#)); do
  case $1 in
  --no-install) install=0 ;;
  -o)
    (($# > 1)) || die "-o needs a folder"
    site=$(realpath -m -- "$2")
    shift
    ;;
  --help | -h) usage && exit ;;
  *) usage >&2 && exit 2 ;;
  esac
  shift
done
site=${site:-$build/site}
step_total=3
llvm=/usr/lib/llvm-22
tblgen=${MLIR_TBLGEN:-$llvm/bin/mlir-tblgen}
# The folder's content is replaced.
if [[ -n $(ls -A -- "$site" 2>/dev/null) && ! -e $site/site/style.css ]]; then
  die "$site: expected an older site or an empty folder, found other files"
fi
for program in "$tblgen" "$build/bin/mp-opt" "$build/bin/mp-run"; do
  [[ -x $program ]] || die "$program is not there: run scripts/setup.sh"
done

step "Python packages of the site"
python=$cache/venv-docs/bin/python
if ((install)); then
  ensure_venv venv-docs -r "$root/scripts/requirements-docs.txt"
else
  "$python" -c 'import material' 2>/dev/null ||
    die "no packages at $cache/venv-docs: run without --no-install"
fi

step "Pages"
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$python" -B "$root/scripts/docs/make_pages.py" "$pages" \
  --programs="$build/bin" --tblgen="$tblgen" --mlir-include="$llvm/include"

step "Site"
# mkdocs' notices about its own next version are not for readers here.
NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true \
  "$python" -B -m mkdocs build --strict --clean \
  --config-file "$pages/mkdocs.yml" --site-dir "$site" \
  >"$pages/log" 2>&1 || {
  # Quiet, it would not count its warnings, which are errors here.
  cat "$pages/log" >&2
  die "mkdocs build failed"
}
say "$site/index.html"
