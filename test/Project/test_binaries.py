# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No binary says where it was built, or takes libraries from anywhere.

usage: test_binaries.py [--forbid=PATH]... BINARY...

Fails if a file holds one of the paths, the user's home folder, or the name of
this machine's cache of libraries; if its run path has an entry that is not
absolute (an empty one is the current folder, where a stranger's library may
lie); or if the loader really looks into the current folder.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def find_paths(binary, forbidden):
    content = binary.read_bytes()
    for path in forbidden:
        at = content.find(os.fsencode(path))
        if at >= 0:
            text = re.match(rb"[ -~]*", content[at : at + 200]).group()
            yield f"holds '{text.decode()}'"


def find_run_paths(binary):
    listing = subprocess.run(
        ["readelf", "-d", binary],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout
    for match in re.finditer(r"(?:runpath|rpath): \[(.*)\]", listing):
        for entry in match.group(1).split(":"):
            if not entry.startswith(("/", "$ORIGIN")):
                yield f"has the run path entry '{entry}'"


def find_loaded(binary):
    """A broken library in the current folder must make no difference."""
    listing = subprocess.run(
        ["readelf", "-d", binary],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    names = re.findall(r"NEEDED.*\[(.*)\]", listing)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            pathlib.Path(folder, name).write_text("not a library")
        done = subprocess.run(
            [os.path.abspath(binary), "--version"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
    if done.returncode != 0 or not names:
        yield f"loads libraries of the current folder: {done.stderr.strip()}"


def main():
    arguments = sys.argv[1:]
    forbidden = {
        argument.removeprefix("--forbid=").rstrip("/") + "/"
        for argument in arguments
        if argument.startswith("--forbid=")
    }
    home = os.path.expanduser("~")
    if len(home) > 4:
        forbidden.add(home + "/")
    binaries = [pathlib.Path(a) for a in arguments if not a.startswith("--")]
    found = []
    for binary in binaries:
        problems = [*find_paths(binary, sorted(forbidden))]
        if shutil.which("readelf") and binary.suffix != ".a":
            problems += find_run_paths(binary)
            if not binary.suffix:
                problems += find_loaded(binary)
        found += [f"{binary}: {problem}" for problem in problems]
    print("\n".join(found))
    print(f"{len(binaries)} binaries, {len(found)} problems")
    return 1 if found or not binaries else 0


if __name__ == "__main__":
    sys.exit(main())
