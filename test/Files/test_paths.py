# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R5 and R7: which files a run reads and writes, and which it never does."""

import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import threading

import onnx
import pytest
from files import (
    MIXED, MP_OPT, check_error, environment, make_model, run, run_well, state,
)

# Calls ------------------------------------------------------------------------

OPENED = re.compile(
    r"(?:open|openat|openat2|creat)\((?:AT_FDCWD(?:<[^>]*>)?, |\d+<([^>]*)>, )?"
    r'"([^"]*)"(.*)'
)
FORBIDDEN = re.compile(
    r"\b(socket|connect|bind|sendto|execve|execveat|fork|vfork)\("
)
# Files that the loader and libraries read.
SYSTEM = re.compile(
    r"/(?:etc/(?:ld\.so\S*|localtime)|usr/lib/\S*|lib/\S*|lib64/\S*"
    r"|proc/self/\S*|proc/\d+/\S*|proc/(?:cpuinfo|meminfo|stat)|sys/\S*"
    r"|proc/sys/vm/overcommit_memory"
    r"|dev/(?:null|urandom)|usr/share/\S*)"
)


def trace(arguments, log):
    command = ["strace", "-f", "-y", "-s", "4096", "-o", log, "-e",
               "trace=%file,%network,%process,openat2", MP_OPT]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True
    )
    if not log.exists() or "execve(" not in log.read_text():
        pytest.skip(f"strace does not work here: {done.stderr.strip()[:200]}")
    return done, log.read_text().splitlines()


def opened_files(lines):
    """What was opened for reading, and what for writing."""
    reads, writes = set(), set()
    for line in lines:
        found = OPENED.search(line)
        if not found or " = -1 " in line:
            continue
        folder, name, flags = found.groups()
        path = os.path.normpath(os.path.join(folder or os.getcwd(), name))
        is_write = re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TMPFILE", flags)
        (writes if is_write else reads).add(path)
    return reads, writes


def test_allowed_files(tmp_path):
    """R5: the model, its data, named files; no network, no other program."""
    if not shutil.which("strace"):
        pytest.skip("there is no strace; apt-get install strace")
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    source = make_model(tmp_path / "in" / "m.onnx", 64, 1.0, "w.bin")
    policy = tmp_path / "deny.txt"
    policy.write_text("Softmax\n")
    out = tmp_path / "out"
    total = 0
    for flags in (
        [*MIXED, f"--deny-file={policy}", f"--report={out}/r.html",
         f"--overlay={out}/o.json", "-o", out / "o.onnx"],
        ["-o", out / "copy.onnx"],
        ["-o", out / "o.mlir"],
    ):
        done, lines = trace([source, *flags], tmp_path / "log")
        assert done.returncode == 0, done.stderr
        forbidden = [line for line in lines if FORBIDDEN.search(line)]
        # The first is the run itself.
        assert len(forbidden) == 1 and "execve(" in forbidden[0], forbidden
        reads, writes = opened_files(lines)
        named = {str(source), str(source.parent), str(policy), str(out),
                 str(source.with_name("w.bin"))}
        strange = {
            path for path in reads - named
            if not SYSTEM.fullmatch(path) and not path.startswith(f"{out}/")
            and not path.startswith(str(MP_OPT.parents[1]))
        }
        assert not strange, strange
        strange = {
            path for path in writes
            if path != str(out) and os.path.dirname(path) != str(out)
            and path != "/dev/null"
        }
        assert not strange, strange
        total += len(reads) + len(writes)
    print(f"3 runs opened {total} files, all allowed; 0 sockets, 0 programs")


# Input ------------------------------------------------------------------------


def digest(folder):
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.fixture
def inputs(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    model = make_model(folder / "m.onnx", 64, 1.0, "w.bin")
    make_model(folder / "one.onnx", 64)
    run_well(folder / "one.onnx", "--elide-weights=false", "-o",
             folder / "m.mlir")
    run_well(folder / "one.onnx", "-o", folder / "m.mlirbc")
    run_well(folder / "one.onnx", "-o", folder / "m.onnxtxt", "--emit=onnxtext")
    for name in ("m.onnx", "m.mlir", "m.mlirbc", "m.onnxtxt", "w.bin"):
        (folder / f"link-{name}").symlink_to(name)
        os.link(folder / name, folder / f"hard-{name}")
    os.unlink(folder / "hard-w.bin")
    assert model.exists()
    return folder


def spellings(folder, name):
    """Ways to name one file."""
    yield folder / name
    yield f"{folder}/./{name}"
    yield f"{folder}/../{folder.name}/{name}"
    yield os.path.relpath(folder / name)
    yield folder / f"link-{name}"
    if (folder / f"hard-{name}").exists():
        yield folder / f"hard-{name}"


def test_output_is_input(inputs):
    """R7: under any of its names, for any format."""
    before, refused = digest(inputs), 0
    for name in ("m.onnx", "m.mlir", "m.mlirbc", "m.onnxtxt"):
        for flags in ([], MIXED):
            for output in spellings(inputs, name):
                done = run(inputs / name, *flags, "-o", output)
                assert "would replace the input" in check_error(done, name)
                refused += 1
            # The input under a name, the output under the model's own.
            for source in spellings(inputs, name):
                done = run(source, *flags, "-o", inputs / name)
                assert "would replace the input" in done.stderr
                assert done.returncode == 1
                refused += 1
            for flag in ("--report", "--overlay"):
                for output in spellings(inputs, name):
                    done = run(inputs / name, *MIXED, f"{flag}={output}")
                    error = check_error(done, name)
                    assert "would replace the input" in error
                    refused += 1
    assert digest(inputs) == before
    print(f"{refused} outputs that are the input: all refused, none modified")


def test_output_is_data_of_the_input(inputs):
    before, refused = digest(inputs), 0
    for flags in ([], MIXED):
        for output in spellings(inputs, "w.bin"):
            done = run(inputs / "m.onnx", *flags, "--emit=onnx", "-o", output)
            error = check_error(done, "w.bin")
            assert "would replace the input's data file" in error
            refused += 1
    for flag in ("--report", "--overlay"):
        for output in spellings(inputs, "w.bin"):
            done = run(inputs / "m.onnx", *MIXED, f"{flag}={output}")
            assert "would replace the input's data file" in done.stderr
            assert done.returncode == 1
            refused += 1
    assert digest(inputs) == before
    print(f"{refused} outputs that are the input's data: all refused")


def test_output_is_another_input(tmp_path):
    """Lists and schemas are inputs, too."""
    source = make_model(tmp_path / "in.onnx", 64)
    deny = tmp_path / "deny.txt"
    deny.write_text("Softmax\n")
    schemas = tmp_path / "s.json"
    schemas.write_text("{}")
    os.link(deny, tmp_path / "hard.onnx")
    for flag in (f"--deny-file={deny}", f"--schemas={schemas}"):
        read = flag.split("=")[1]
        for target in (["-o", read], [f"--report={read}"],
                       [f"--overlay={tmp_path}/./{os.path.basename(read)}"]):
            done = run(source, *MIXED, flag, *target)
            assert f"would replace '{read}'" in done.stderr, done.stderr
            assert done.returncode == 1
    done = run(source, *MIXED, f"--deny-file={deny}", "-o",
               tmp_path / "hard.onnx")
    assert "would replace" in check_error(done, "hard.onnx")
    assert deny.read_text() == "Softmax\n" and schemas.read_text() == "{}"
    # A policy's name is not a file.
    run_well(source, "--policy=mixed_bfloat16", "--emit=onnx", "-o",
             tmp_path / "mixed_bfloat16", folder=tmp_path)


def test_input_stays(inputs, tmp_path):
    before = digest(inputs)
    for name in ("m.onnx", "m.mlir", "m.mlirbc", "m.onnxtxt"):
        for flags in ([], MIXED):
            for output in ("o.onnx", "o.mlir", "o.mlirbc"):
                run_well(inputs / name, *flags, "-o", tmp_path / output)
    run_well(inputs / "m.onnx", *MIXED, "-o", inputs / "beside.onnx")
    after = digest(inputs)
    assert before.items() <= after.items()
    print(f"{len(before)} input files, 25 runs: none modified")


# Data files -------------------------------------------------------------------


def data_of(model):
    loaded = onnx.load(model, load_external_data=False)
    return {
        entry.value
        for weight in loaded.graph.initializer
        for entry in weight.external_data
        if entry.key == "location"
    }


def test_name_of_the_data_file(tmp_path):
    """The same bytes have the same name, others another."""
    names = set()
    for number, scale in enumerate((1.0, 2.0, 1.0)):
        source = make_model(tmp_path / f"{number}.onnx", 600, scale, f"{number}")
        run_well(source, *MIXED, "-o", tmp_path / "out.onnx")
        [name] = data_of(tmp_path / "out.onnx")
        assert re.fullmatch(r"out\.onnx-[0-9a-f]{16}\.data", name)
        # The old one is gone.
        assert [p.name for p in tmp_path.glob("*.data")] == [name]
        names.add(name)
    assert len(names) == 2
    onnx.checker.check_model(tmp_path / "out.onnx", full_check=True)


def test_only_own_old_data_is_removed(tmp_path):
    first = make_model(tmp_path / "1.onnx", 64, 1.0, "1")
    second = make_model(tmp_path / "2.onnx", 64, 2.0, "2")
    out = tmp_path / "out.onnx"
    run_well(first, *MIXED, "-o", out)
    [data] = data_of(out)
    # Moved aside, a model keeps its data.
    out.rename(tmp_path / "moved.onnx")
    run_well(second, *MIXED, "-o", out)
    assert (tmp_path / data).exists()
    # An input keeps them too.
    shutil.copy(tmp_path / "moved.onnx", out)
    run_well(tmp_path / "moved.onnx", "--mixed-fp16", "-o", out)
    assert (tmp_path / data).exists()
    # The old model names them, and something that is not ours.
    model = onnx.load(tmp_path / "1.onnx", load_external_data=False)
    for weight in model.graph.initializer:
        for entry in weight.external_data:
            if entry.key == "location":
                entry.value = "1"
    onnx.save(model, out)
    run_well(second, *MIXED, "-o", out)
    assert (tmp_path / "1").exists()
    # Without data of its own, the new model leaves none of the old one's.
    [last] = data_of(out)
    assert (tmp_path / last).exists()
    run_well(make_model(tmp_path / "3.onnx", 64), *MIXED, "-o", out)
    assert not data_of(out) and not (tmp_path / last).exists()
    assert (tmp_path / data).exists()


def test_same_data_are_left_alone(tmp_path):
    source = make_model(tmp_path / "in.onnx", 64, 1.0, "w")
    out = tmp_path / "out.onnx"
    run_well(source, *MIXED, "-o", out)
    [data] = tmp_path.glob("*.data")
    before = data.stat().st_ino
    run_well(source, *MIXED, "-o", out)
    assert data.stat().st_ino == before
    # If they are not what their name says, they are replaced.
    data.write_bytes(data.read_bytes()[:-1] + b"x")
    run_well(source, *MIXED, "-o", out)
    assert data.stat().st_ino != before


# Outputs ----------------------------------------------------------------------


@pytest.mark.parametrize("named", [0, 1], ids=["unnamed", "named"])
def test_permissions(named, tmp_path):
    source = make_model(tmp_path / "in.onnx", 64, 1.0, "w")
    out = tmp_path / "out.onnx"
    mask = os.umask(0o027)
    try:
        for mode in (None, 0o600, 0o664, 0o444):
            if mode:
                out.chmod(mode)
            run_well(source, *MIXED, "-o", out, NO_TMPFILE=named)
            [data] = tmp_path.glob("*.data")
            expected = mode or 0o640
            assert stat.S_IMODE(out.stat().st_mode) == expected
            # Weights are as private as their model.
            assert stat.S_IMODE(data.stat().st_mode) == expected
            data.unlink()
    finally:
        os.umask(mask)


def test_odd_outputs(tmp_path):
    source = make_model(tmp_path / "in.onnx", 64)
    data = make_model(tmp_path / "data.onnx", 64, 1.0, "w")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"file")
    before = state(tmp_path)
    cases = {
        "none/out.onnx": "No such file or directory",
        "none/": "No such file or directory|Is a directory",
        "folder": "Is a directory",
        "folder/": "Is a directory",
        ".": "Is a directory",
        "file/out.onnx": "Not a directory",
        "n" * 256: "File name too long",
    }
    for name, why in cases.items():
        for model in (source, data):
            for flags in ([], MIXED):
                done = run(model, *flags, "--emit=onnx", "-o",
                           f"{tmp_path}/{name}")
                assert re.search(why, check_error(done, name)), name
    assert state(tmp_path) == before


def test_folder_without_rights(tmp_path):
    if os.geteuid() == 0:
        # Root may write anywhere but into a file system that is read-only.
        done = run(make_model(tmp_path / "in.onnx", 64), *MIXED, "-o",
                   "/proc/out.onnx")
        check_error(done, "/proc/out.onnx")
        return
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    done = run(make_model(tmp_path / "in.onnx", 64), *MIXED, "-o",
               folder / "out.onnx")
    assert "Permission denied" in check_error(done, "out.onnx")


@pytest.mark.parametrize("named", [0, 1], ids=["unnamed", "named"])
def test_longest_names(named, tmp_path):
    """Temporary names and those of data files are no longer than any."""
    source = make_model(tmp_path / "in.onnx", 64, 1.0, "w")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("n" * 250 + ".onnx", "é" * 125 + ".onnx", "x" + "é" * 127):
        assert len(name.encode()) == 255
        target = out / name
        for scale in (1.0, 2.0):
            source = make_model(tmp_path / "in.onnx", 64, scale, "w")
            run_well(source, *MIXED, "--emit=onnx", "-o", target,
                     NO_TMPFILE=named)
            source.unlink()
            (tmp_path / "w").unlink()
        files = {p.name for p in out.iterdir()}
        assert len(files) == 2 and data_of(target) == files - {name}
        for path in out.iterdir():
            path.unlink()


def test_pipes(tmp_path):
    """From a pipe to a pipe, by name and as standard input and output."""
    source = make_model(tmp_path / "in.onnx", 128)
    expected = tmp_path / "expected.onnx"
    run_well(source, *MIXED, "-o", expected)
    for path in (tmp_path / "from", tmp_path / "to"):
        os.mkfifo(path)
    received = []
    feed = threading.Thread(
        target=lambda: (tmp_path / "from").write_bytes(source.read_bytes())
    )
    drain = threading.Thread(
        target=lambda: received.append((tmp_path / "to").read_bytes())
    )
    feed.start()
    drain.start()
    run_well(tmp_path / "from", *MIXED, "--emit=onnx", "-o", tmp_path / "to")
    feed.join()
    drain.join()
    assert received == [expected.read_bytes()]
    assert stat.S_ISFIFO((tmp_path / "to").stat().st_mode)
    with open(source, "rb") as stdin:
        done = subprocess.run([MP_OPT, "-", *MIXED, "--emit=onnx"],
                              stdin=stdin, capture_output=True)
    assert done.returncode == 0 and done.stdout == expected.read_bytes()


def test_data_need_a_file(tmp_path):
    """A pipe cannot take a model with data beside it; nothing may be lost."""
    source = make_model(tmp_path / "in.onnx", 64, 1.0, "w")
    done = subprocess.run(
        [MP_OPT, source, *MIXED, "--emit=onnx", "-o", "/dev/stdout"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    assert done.returncode == 1 and "external data" in done.stderr
    run_well(source, *MIXED, "-o", "/dev/null")
    assert not list(pathlib.Path("/dev").glob("*.data"))


def test_opaque_data_are_copied(tmp_path):
    """Tensors that the dialect cannot look into stay in files of their own."""
    folder = tmp_path / "in"
    folder.mkdir()
    source = make_model(folder / "in.onnx", 64)
    model = onnx.load(source)
    small = model.graph.initializer.add(name="e", dims=[16])
    small.data_type = onnx.TensorProto.FLOAT8E4M3FN
    small.data_location = onnx.TensorProto.EXTERNAL
    small.external_data.add(key="location", value="e.bin")
    onnx.save(model, source)
    (folder / "e.bin").write_bytes(bytes(range(16)))
    out = tmp_path / "out"
    out.mkdir()
    run_well(source, *MIXED, "-o", out / "o.onnx")
    assert data_of(out / "o.onnx") == {"e.bin"}
    assert (out / "e.bin").read_bytes() == bytes(range(16))
    (folder / "e.bin").unlink()
    (folder / "e.bin").symlink_to("../secret")
    (tmp_path / "secret").write_bytes(bytes(16))
    assert "e.bin" in check_error(run(source, "-o", out / "p.onnx"), source)


def test_environment_is_there():
    """The library that makes calls fail is loaded where tests ask for it."""
    done = subprocess.run(
        ["sh", "-c", "echo x > /dev/null; cat /proc/self/maps"],
        env=environment(NO_TMPFILE=1), capture_output=True, text=True,
    )
    assert "libmp-opt-faults.so" in done.stdout and not done.stderr
