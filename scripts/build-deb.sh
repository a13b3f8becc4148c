#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes mp-opt_VERSION_ARCHITECTURE.deb of the static programs in the build
# folder, with man pages, completion, documents and licences. The same build
# gives the same bytes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'END'
usage: scripts/build-deb.sh [--output=FOLDER] [--fast]

Writes the package into FOLDER (default: the build folder) and prints its name.
Nothing is built here: scripts/setup.sh or scripts/quickstart.sh has done that.

  --fast    compress quickly: for tests

environment: that of scripts/setup.sh; DEBFULLNAME and DEBEMAIL, who keeps the
package
END
}

output=$build
compression=(-Zxz -z6)
for argument; do
  case $argument in
  --output=*) output=${argument#*=} ;;
  --fast) compression=(-Zxz -z0) ;;
  --help | -h) usage && exit ;;
  *) usage >&2 && exit 2 ;;
  esac
done
for tool in dpkg-deb dpkg-shlibdeps; do
  command -v $tool >/dev/null || die "needs $tool, of the package dpkg-dev"
done
settings=$build/CMakeCache.txt
[[ -f $settings ]] || die "no build in $build: run scripts/quickstart.sh first"
grep -q '^MPOPT_STATIC:BOOL=ON$' "$settings" ||
  die "the programs in $build are not static: configure with -DMPOPT_STATIC=ON"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$settings")
date=$(sed -n 's/^set(MPOPT_DATE \(.*\))$/\1/p' "$root/cmake/MPOptShell.cmake")
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-The authors of mp-opt} \
<${DEBEMAIL:-mp-opt@localhost.localdomain}>"
# The timestamp of all files in the package.
SOURCE_DATE_EPOCH=$(date -u -d "$date" +%s)
export SOURCE_DATE_EPOCH
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/mp-opt
share=$tree/usr/share
"$cache/venv/bin/cmake" --install "$build" --prefix "$tree/usr" \
  --component programs --strip >"$work/log" 2>&1 || {
  tail -n 5 "$work/log" >&2
  die "cannot install what is in $build"
}
find "$share/man" -name '*.1' -exec gzip -9 --no-name {} +

doc=$share/doc/mp-opt
mkdir -p "$doc"
cp "$root/README.md" "$root/SECURITY.md" "$doc"
cp -r "$root/docs" "$root/examples" "$doc"
find "$doc" -type f -exec chmod 644 {} +
find "$doc" -name '*.sh' -exec chmod 755 {} +
find "$doc" -name __pycache__ -prune -exec rm -r {} +
cp "$root/scripts/debian/copyright" "$doc/copyright"
{
  printf 'mp-opt (%s) unstable; urgency=medium\n\n' "$version"
  printf '  * Release %s.\n\n' "$version"
  printf ' -- %s  %s\n' "$maintainer" "$(date -u -R -d "$date")"
} | gzip -9 --no-name >"$doc/changelog.gz"
mkdir -p "$share/lintian/overrides"
cp "$root/scripts/debian/lintian-overrides" "$share/lintian/overrides/mp-opt"

# dpkg-shlibdeps reads debian/control of the folder it runs in.
mkdir -p "$work/debian" "$tree/DEBIAN"
control=$(<"$root/scripts/debian/control.in")
control=${control/@ARCHITECTURE@/$architecture}
printf '%s\n' "${control/@MAINTAINER@/$maintainer}" >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O "$tree"/usr/bin/* 2>"$work/log") ||
  die "dpkg-shlibdeps: $(<"$work/log")"
depends=${depends#shlibs:Depends=}
# The size in KiB, where each file and folder takes whole ones, as Debian
# counts: the space on this disk varies.
size=$(find "$tree/usr" -printf '%y %s\n' |
  awk '{ sum += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print sum }')
{
  printf 'Package: mp-opt\nVersion: %s\n' "$version"
  sed -n '/^Maintainer:/p;/^Section:/p;/^Priority:/p' "$work/debian/control"
  printf 'Installed-Size: %s\n' "$size"
  sed -n '/^Package:/,$p' "$work/debian/control" | sed \
    -e '/^Package:/d' -e "s/\${shlibs:Depends}/$depends/"
} >"$tree/DEBIAN/control"
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) \
  >"$tree/DEBIAN/md5sums"
find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

mkdir -p "$output"
package=$output/mp-opt_${version}_$architecture.deb
dpkg-deb --root-owner-group "${compression[@]}" --build "$tree" "$package" \
  >"$work/log" || die "dpkg-deb: $(<"$work/log")"
printf '%s\n' "$package"
