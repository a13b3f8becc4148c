# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package for Debian 12, which scripts/build-deb.sh makes.

Its rules by lintian; that it installs and works where nothing else is: in a
root folder that debootstrap has made, which is kept beside the tools of
scripts/setup.sh (90 s the first time, root rights, Debian's index). With
scripts/test.sh --all, the container is built as well, by buildah on that root.
"""

import filecmp
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from support import MP_OPT, ROOT

CACHE = pathlib.Path(os.environ.get("MPOPT_CACHE") or
                     pathlib.Path.home() / ".cache" / "mp-opt")
MIRROR = "http://deb.debian.org/debian"
BARE = CACHE / "debian-12-root.tar"
MODEL = ROOT / "examples" / "mlp.onnxtxt"
PROGRAMS = ["mp-opt", "mp-run", "mp-opt-lsp-server"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root rights")


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=500, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
    return done.stdout


def needs(tool):
    return pytest.mark.skipif(
        not shutil.which(tool),
        reason=f"no {tool}: scripts/setup.sh --with-tests installs it",
    )


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    printed = run(ROOT / "scripts/build-deb.sh", f"--output={folder}", "--fast")
    return pathlib.Path(printed.strip())


@needs("lintian")
def test_lintian(package):
    assert re.fullmatch(r"mp-opt_[\d.]+_\w+\.deb", package.name)
    # Hints are included; of notes, those about overrides.
    printed = run("lintian", "--allow-root", "--display-info", "--pedantic",
                  "--fail-on=error,warning,info,pedantic", package)
    assert not re.search("^[EWIP]:", printed, re.M), printed


def test_same_bytes_again(package, tmp_path):
    run(ROOT / "scripts/build-deb.sh", f"--output={tmp_path}", "--fast")
    assert filecmp.cmp(package, tmp_path / package.name, shallow=False)


def test_programs_are_those_of_the_build(package, tmp_path):
    run("dpkg-deb", "-x", package, tmp_path)
    settings = (pathlib.Path(MP_OPT).parents[1] / "CMakeCache.txt").read_text()
    strip = re.search(r"^CMAKE_STRIP:\w+=(.*)$", settings, re.M)[1]
    for program in PROGRAMS:
        packed = tmp_path / "usr/bin" / program
        built = pathlib.Path(MP_OPT).with_name(program)
        stripped = tmp_path / "stripped"
        run(strip, "-o", stripped, built)
        assert filecmp.cmp(packed, stripped, shallow=False), program
        libraries = {line.split()[0].split(".so")[0]
                     for line in run("ldd", packed).splitlines()}
        assert libraries <= {
            "linux-vdso", "libm", "libgcc_s", "libc", "libdl", "libpthread",
            "librt", "/lib64/ld-linux-x86-64"}


def list_linked():
    """The archives on the command lines that link the programs."""
    ninja = shutil.which("ninja")
    commands = run(ninja, "-C", pathlib.Path(MP_OPT).parents[1], "-t", "commands",
                   "bin/mp-opt", "bin/mp-run", "bin/mp-opt-lsp-server")
    return {name for line in commands.splitlines() if " -o bin/mp-" in line
            for name in re.findall(r"(?<![\w.-])lib[\w+-]+\.a(?= |$)",
                                   line.replace("/", " "))}


def test_copyright_names_all_that_is_linked(package, tmp_path):
    archives = list_linked()
    assert len(archives) > 100
    run("dpkg-deb", "-x", package, tmp_path)
    text = (tmp_path / "usr/share/doc/mp-opt/copyright").read_text()
    comments = " ".join(re.findall(r"^Comment: (lib.*)$", text, re.M))
    patterns = [re.escape(name.strip(",;")).replace(r"\*", ".*")
                for name in re.findall(r"lib\S+\.a\b", comments)]
    patterns.append(r"libMPOpt\w+\.a")
    unnamed = [archive for archive in archives
               if not any(re.fullmatch(p, archive) for p in patterns)]
    assert not unnamed, unnamed
    # Every licence that is named is there.
    for names in re.findall(r"^Files:.*\n(?:.*\n)*?License: (.*)$", text, re.M):
        for name in names.split(" or "):
            assert re.search(rf"^License: {re.escape(name)}\n ", text, re.M), name


@pytest.fixture(scope="module")
def root(package, tmp_path_factory):
    """A bare Debian 12 with man and bash's completion, and the package in it."""
    if not BARE.exists():
        made = tmp_path_factory.mktemp("debootstrap")
        done = subprocess.run(
            ["debootstrap", "--variant=minbase",
             "--include=man-db,bash-completion", "bookworm", made, MIRROR],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=500)
        if done.returncode:
            pytest.skip("debootstrap: " + done.stdout.strip().split("\n")[-1])
        for path in (made / "var/cache/apt/archives").glob("*.deb"):
            path.unlink()
        fresh = BARE.with_suffix(f".{os.getpid()}")
        run("tar", "-C", made, "--one-file-system", "-cf", fresh, ".")
        fresh.replace(BARE)
        shutil.rmtree(made)
    folder = tmp_path_factory.mktemp("root")
    run("tar", "-C", folder, "-xf", BARE)
    shutil.copy(package, folder / "tmp")
    inside(folder, f"dpkg -i /tmp/{package.name}")
    shutil.copy(MODEL, folder / "tmp")
    yield folder
    shutil.rmtree(folder)


def inside(root, command):
    """What bash prints there, with nothing of this environment."""
    return run("chroot", root, "/usr/bin/env", "-i", "HOME=/tmp", "TERM=dumb",
               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "bash", "-c",
               "cd /tmp; " + command)


def in_bare_root(test):
    return needs_root(needs("debootstrap")(test))


@in_bare_root
def test_it_works_in_a_bare_debian(root, tmp_path):
    inside(root, "mp-opt mlp.onnxtxt --mixed-bf16 --verify -o mlp.onnx")
    run(MP_OPT, MODEL, "--mixed-bf16", "-o", tmp_path / "mlp.onnx")
    assert filecmp.cmp(root / "tmp/mlp.onnx", tmp_path / "mlp.onnx", shallow=False)
    assert "probabilities" in inside(root, "mp-run run mlp.onnx --random=1")
    assert "mp-opt-lsp-server" in inside(root, "mp-opt-lsp-server --version")


@in_bare_root
def test_man_and_completion_are_found(root):
    pages = ["mp-opt", "mp-opt-diff", "mp-run", "mp-run-train",
             "mp-opt-lsp-server"]
    for page in pages:
        assert inside(root, f"man -w {page}").strip().endswith(f"{page}.1.gz")
    # Words of the table of flags, as man shows them.
    assert "--mixed-bf16" in inside(root, "man -P cat mp-opt | col -b")
    listing = inside(root, ". /usr/share/bash-completion/bash_completion; "
                     "_completion_loader mp-run; complete -p mp-run")
    assert "-F _mp-run mp-run" in listing


@in_bare_root
def test_a_library_needs_a_compiler_and_says_so(root):
    printed = inside(root, "mp-opt mlp.onnxtxt --emit=lib -o l.so; echo $?")
    assert "the program 'cc', which links, was not found" in printed
    assert printed.strip().endswith("\n1")


@in_bare_root
def test_nothing_is_left_when_it_goes(root):
    listed = inside(root, "dpkg -L mp-opt").split()
    assert "/usr/bin/mp-opt" in listed
    assert not inside(root, "dpkg --verify mp-opt")
    inside(root, "dpkg -P mp-opt")
    left = [name for name in listed if (root / name.lstrip("/")).is_file()]
    assert not left
    assert not (root / "usr/share/doc/mp-opt").exists()


CONTAINER = ROOT / "scripts/debian/Containerfile"


def read_instructions():
    text = re.sub(r"^#.*\n", "", CONTAINER.read_text(), flags=re.M)
    lines = text.replace("\\\n", " ").strip().splitlines()
    return [line.split(" ", 1) for line in lines]


def test_container_file():
    names = [name for name, _ in read_instructions()]
    assert names == ["FROM", "COPY", "RUN", "LABEL", "ENV", "WORKDIR", "CMD"]
    assert read_instructions()[0][1] == "debian:12-slim"
    (command,) = [text for name, text in read_instructions() if name == "RUN"]
    run("bash", "-n", "-c", command)


@needs_root
@pytest.mark.skipif(not shutil.which("buildah"), reason="no buildah")
@pytest.mark.skipif(os.environ.get("MPOPT_TEST_ALL") != "1",
                    reason="40 s: only with --all")
def test_container(root, package, tmp_path):
    """No registry is asked: debian:12-slim is the bare root."""
    environment = {**os.environ, "STORAGE_DRIVER": "vfs",
                   "BUILDAH_ISOLATION": "chroot"}

    def buildah(*arguments):
        storage = ["--root", tmp_path / "images", "--runroot", tmp_path / "run"]
        return run("buildah", *storage, *arguments, env=environment)

    base = buildah("from", "scratch").strip()
    buildah("add", base, BARE, "/")
    buildah("commit", base, "localhost/debian:12-slim")
    buildah("build", "--from", "localhost/debian:12-slim", "-f", CONTAINER,
            "-t", "mp-opt", package.parent)
    container = buildah("from", "localhost/mp-opt").strip()
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(MODEL, work)
    buildah("run", "-v", f"{work}:/work", container, "--", "mp-opt",
            "mlp.onnxtxt", "--mixed-bf16", "--emit=lib", "--dim=batch=1", "-o",
            "libmlp.so")
    assert (work / "libmlp.so").stat().st_size > 10000
    buildah("rm", "-a")
