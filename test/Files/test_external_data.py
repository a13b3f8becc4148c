# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R5: a model leads to no file that is not its own, neither to be read nor to
be written. The attacks are those of ONNX's advisories from 2022 to 2026."""

import os
import shutil
import socket
import subprocess
import threading
import time

import pytest
from files import (
    MIXED, check_error, make_model, place, run, run_well, state,
)

SIDE = 4
SIZE = SIDE * SIDE * 4
SECRET = bytes(range(65, 65 + 26)) * 10
KERNELS = {"openat2": {}, "no openat2": {"NO_OPENAT2": "ENOSYS"},
           "forbidden openat2": {"NO_OPENAT2": "EPERM"}}
kernels = pytest.mark.parametrize("kernel", KERNELS)


class Attack:
    """A model in `models`, a file that it must not reach in `private`."""

    def __init__(self, folder):
        self.models = folder / "models"
        self.private = folder / "private"
        self.out = folder / "out"
        for path in (self.models, self.private, self.out):
            path.mkdir()
        self.secret = self.private / "secret"
        self.secret.write_bytes(SECRET)
        self.good = self.models / "good.bin"
        self.good.write_bytes(bytes(SIZE))

    def link_file(self):
        (self.models / "w.bin").symlink_to(self.secret)
        return {"location": "w.bin"}

    def link_file_inside(self):
        (self.models / "w.bin").symlink_to("good.bin")
        return {"location": "w.bin"}

    def link_folder(self):
        (self.models / "sub").symlink_to(self.private)
        return {"location": "sub/secret"}

    def link_to_parent(self):
        (self.models / "sub").symlink_to("..")
        return {"location": "sub/private/secret"}

    def link_to_proc(self):
        (self.models / "sub").symlink_to("/proc/self/root")
        return {"location": f"sub{self.secret}"}

    def link_to_zero(self):
        (self.models / "w.bin").symlink_to("/dev/zero")
        return {"location": "w.bin"}

    def link_loop(self):
        (self.models / "w.bin").symlink_to("w.bin")
        return {"location": "w.bin"}

    def hard_link(self):
        os.link(self.secret, self.models / "w.bin")
        return {"location": "w.bin"}

    def parent(self):
        return {"location": "../private/secret"}

    def nested_parent(self):
        (self.models / "a").mkdir()
        return {"location": "a/../../private/secret"}

    def hidden_parent(self):
        return {"location": "./../private/secret"}

    def same_prefix(self):
        shutil.copytree(self.private, self.models.parent / "models2")
        return {"location": "../models2/secret"}

    def absolute(self):
        return {"location": str(self.secret)}

    def zero(self):
        return {"location": "/dev/zero", "length": SIZE}

    def device(self):
        try:
            os.mknod(self.models / "w.bin", 0o20666, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("no right to make a device")
        return {"location": "w.bin", "length": SIZE}

    def pipe(self):
        os.mkfifo(self.models / "w.bin")
        return {"location": "w.bin"}

    def socket(self):
        with socket.socket(socket.AF_UNIX) as server:
            here = os.getcwd()
            os.chdir(self.models)
            server.bind("w.bin")
            os.chdir(here)
        return {"location": "w.bin"}

    def folder(self):
        (self.models / "w.bin").mkdir()
        return {"location": "w.bin"}

    def model_folder(self):
        return {"location": "."}

    def empty(self):
        return {"location": ""}

    def no_location(self):
        return {"offset": 0}

    def nul(self):
        return {"location": "good.bin\0../private/secret"}

    def trailing_slash(self):
        return {"location": "good.bin/"}

    def long_name(self):
        return {"location": "n" * 300}

    def long_path(self):
        return {"location": "n/" * 4000 + "w"}

    def negative_offset(self):
        return {"location": "good.bin", "offset": -1}

    def negative_length(self):
        return {"location": "good.bin", "length": -64}

    def offset_beyond_end(self):
        return {"location": "good.bin", "offset": SIZE + 1}

    def past_end(self):
        return {"location": "good.bin", "offset": 4, "length": SIZE}

    def petabyte(self):
        return {"location": "good.bin", "length": 1 << 50}

    def overflow(self):
        return {"location": "good.bin", "offset": SIZE, "length": 2**64 - 1}

    def overflow_of_number(self):
        return {"location": "good.bin", "offset": 2**64}

    def no_number(self):
        return {"location": "good.bin", "offset": "0x10"}

    def location_twice(self):
        return {"location": ["good.bin", "../private/secret"]}

    def length_twice(self):
        return {"location": "good.bin", "length": [SIZE, 1 << 50]}

    def terabyte(self):
        with open(self.models / "w.bin", "wb") as file:
            try:
                file.truncate(1 << 40)
            except OSError:
                pytest.skip("no sparse files of 1 TB here")
        return {"location": "w.bin"}


TWICE = "is given twice"
RELATIVE = "expected a path relative to the model"
BELOW = "expected a path below the model's folder"
REGULAR = "is not a regular file"
ROOT = "--external-data-root=DIR"
SIZES = "is not a size in bytes"
END = f"are beyond its end at {SIZE}"
READS = {
    "link_file": ROOT, "link_file_inside": ROOT, "link_folder": ROOT,
    "link_to_parent": ROOT, "link_to_proc": ROOT, "link_to_zero": ROOT,
    "link_loop": "Too many levels of symbolic links", "hard_link": ROOT,
    "parent": BELOW, "nested_parent": BELOW, "hidden_parent": BELOW,
    "same_prefix": BELOW, "absolute": RELATIVE, "zero": RELATIVE,
    "device": REGULAR, "pipe": REGULAR, "socket": "w.bin",
    "folder": REGULAR, "model_folder": REGULAR, "empty": RELATIVE,
    "no_location": RELATIVE, "nul": RELATIVE,
    "trailing_slash": "Not a directory", "long_name": "File name too long",
    "long_path": "external data file 'n/n/n/", "negative_offset": SIZES,
    "negative_length": SIZES, "offset_beyond_end": END, "past_end": END,
    "petabyte": END, "overflow": END, "overflow_of_number": SIZES,
    "no_number": SIZES, "location_twice": TWICE, "length_twice": TWICE,
    "terabyte": f"expected {SIZE} bytes of data",
}


@kernels
@pytest.mark.parametrize("name", READS)
def test_read_is_refused(name, kernel, tmp_path):
    attack = Attack(tmp_path)
    source = place(attack.models / "m.onnx", SIDE, **getattr(attack, name)())
    target = attack.out / "out.onnx"
    target.write_bytes(b"old")
    start = time.monotonic()
    done = run(source, *MIXED, "-o", target, **KERNELS[kernel])
    assert time.monotonic() - start < 10
    error = check_error(done, source)
    assert READS[name] in error and "initializer 'w'" in error
    assert SECRET[:20].decode() not in done.stdout + done.stderr
    assert state(attack.out) == {"out.onnx": b"old"}
    assert attack.secret.read_bytes() == SECRET


@kernels
def test_good_names_are_read(kernel, tmp_path):
    attack = Attack(tmp_path)
    (attack.models / "a" / "b").mkdir(parents=True)
    shutil.copy(attack.good, attack.models / "a" / "b" / "..w..")
    for location in ("good.bin", "./good.bin", "a/b/..w..", "a//b/./..w.."):
        source = place(attack.models / "m.onnx", SIDE, location=location)
        run_well(source, *MIXED, "-o", attack.out / "o.onnx",
                 **KERNELS[kernel])
    # The folder's own path may have links: it is the user's.
    (tmp_path / "short").symlink_to(attack.models)
    run_well(tmp_path / "short" / "m.onnx", *MIXED, "-o",
             attack.out / "o.onnx", **KERNELS[kernel])
    run_well("m.onnx", *MIXED, "-o", attack.out / "o.onnx",
             folder=attack.models, **KERNELS[kernel])


class Hub:
    """The cache of a model hub: a snapshot is links to blobs beside it."""

    def __init__(self, folder):
        self.cache = folder / "models--a--b"
        self.blobs = self.cache / "blobs"
        self.snapshot = self.cache / "snapshots" / "0123"
        self.blobs.mkdir(parents=True)
        self.snapshot.mkdir(parents=True)
        made = make_model(folder / "m.onnx", 32, 1.0, "m.onnx_data")
        for name in ("m.onnx", "m.onnx_data"):
            shutil.move(folder / name, self.blobs / f"blob-{name}")
            (self.snapshot / name).symlink_to(f"../../blobs/blob-{name}")
        self.model = self.snapshot / made.name


@kernels
def test_hub_cache(kernel, tmp_path):
    hub = Hub(tmp_path)
    target = tmp_path / "out.onnx"
    error = check_error(run(hub.model, "-o", target, **KERNELS[kernel]),
                        hub.model)
    assert "m.onnx_data" in error and ROOT in error
    (tmp_path / "elsewhere").mkdir()
    for root in (tmp_path / "elsewhere", hub.snapshot):
        flag = f"--external-data-root={root}"
        error = check_error(
            run(hub.model, flag, "-o", target, **KERNELS[kernel]), hub.model
        )
        assert "lies outside the model's folder and those" in error
        assert not target.exists()
    roots = [f"--external-data-root={tmp_path / 'elsewhere'}",
             f"--external-data-root={hub.blobs}"]
    run_well(hub.model, *roots, "-o", target, **KERNELS[kernel])
    assert target.read_bytes() == hub.model.read_bytes()
    data = tmp_path / "m.onnx_data"
    assert not data.is_symlink()
    assert data.read_bytes() == (hub.blobs / "blob-m.onnx_data").read_bytes()
    # mp-opt diff has it too.
    assert run("diff", hub.model, target).returncode == 1
    run_well("diff", hub.model, target, *roots)


@kernels
def test_hard_links_below_a_root(kernel, tmp_path):
    attack = Attack(tmp_path)
    source = place(attack.models / "m.onnx", SIDE, **attack.hard_link())
    attack.secret.write_bytes(bytes(SIZE))
    target = attack.out / "o.onnx"
    for root in (attack.out, attack.private):
        flag = f"--external-data-root={root}"
        done = run(source, flag, "-o", target, **KERNELS[kernel])
        check_error(done, source)
    flag = f"--external-data-root={attack.models}"
    run_well(source, flag, "-o", target, **KERNELS[kernel])


def test_root_must_be_a_folder(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for root in (tmp_path / "none", tmp_path / "file", ""):
        flag = f"--external-data-root={root}"
        for command in (["m.onnx"], ["diff", "a.onnx", "b.onnx"]):
            done = run(*command, flag)
            assert done.returncode == 2
            assert "error:" in done.stderr and "external-data-root" in (
                done.stderr
            )


def test_link_that_comes_and_goes(tmp_path):
    """A race: the name is the model's own file, then a link to a secret."""
    attack = Attack(tmp_path)
    secret = bytes([1]) * SIZE
    attack.secret.write_bytes(secret)
    source = place(attack.models / "m.onnx", SIDE, location="w.bin")
    name, link = attack.models / "w.bin", attack.models / "l"
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            shutil.copy(attack.good, attack.models / "g")
            os.rename(attack.models / "g", name)
            link.symlink_to(attack.secret)
            os.rename(link, name)

    shutil.copy(attack.good, name)
    thread = threading.Thread(target=swap)
    thread.start()
    codes = {0: 0, 1: 0}
    try:
        for _ in range(60):
            done = run(source, "--emit=mlir", "--elide-weights=false")
            codes[done.returncode] += 1
            assert "2.36942783E-38" not in done.stdout
            assert done.returncode == 1 or "0.000000e+00" in done.stdout
    finally:
        stop.set()
        thread.join()
    print(f"60 runs: {codes[0]} read the file, {codes[1]} refused the link")


# Writing ----------------------------------------------------------------------


class Save:
    """A good model with external data, an output folder full of traps."""

    def __init__(self, folder, data="w.bin"):
        self.out = folder / "out"
        self.victim = folder / "victim"
        self.elsewhere = folder / "elsewhere"
        models = folder / "models"
        for path in (self.out, self.elsewhere, models):
            path.mkdir()
        self.victim.write_bytes(b"precious")
        (models / os.path.dirname(data)).mkdir(exist_ok=True)
        self.source = make_model(models / "m.onnx", 16, 1.0, data)
        self.target = self.out / "out.onnx"

    def check(self):
        assert self.victim.read_bytes() == b"precious"
        assert not list(self.elsewhere.iterdir())


OTHER = "holds another"
COPIES = {
    "link": lambda save: (save.out / "w.bin").symlink_to(save.victim),
    "dangling link": lambda save: (save.out / "w.bin").symlink_to(
        save.elsewhere / "new"
    ),
    "hard link": lambda save: os.link(save.victim, save.out / "w.bin"),
    "pipe": lambda save: os.mkfifo(save.out / "w.bin"),
    "folder": lambda save: (save.out / "w.bin").mkdir(),
    "other file": lambda save: (save.out / "w.bin").write_bytes(b"other"),
}


@kernels
@pytest.mark.parametrize("name", COPIES)
def test_copy_goes_through_no_link(name, kernel, tmp_path):
    save = Save(tmp_path)
    COPIES[name](save)
    before = state(save.out)
    done = run(save.source, "-o", save.target, **KERNELS[kernel])
    error = check_error(done, save.source)
    assert OTHER in error and "w.bin" in error
    save.check()
    assert state(save.out) == before


@kernels
@pytest.mark.parametrize("link", ["elsewhere", "/", "."])
def test_copy_goes_through_no_linked_folder(link, kernel, tmp_path):
    save = Save(tmp_path, "sub/w.bin")
    target = save.elsewhere if link == "elsewhere" else link
    (save.out / "sub").symlink_to(target)
    before = state(save.out)
    done = run(save.source, "-o", save.target, **KERNELS[kernel])
    assert "sub/w.bin" in check_error(done, save.source)
    save.check()
    assert state(save.out) == before


@kernels
@pytest.mark.parametrize("kind", ["link", "dangling", "hard link", "pipe"])
def test_data_file_goes_through_no_link(kind, kernel, tmp_path):
    """Whoever knows the name of the data file cannot lead it elsewhere."""
    save = Save(tmp_path)
    run_well(save.source, *MIXED, "-o", save.target)
    good = state(save.out)
    [data] = save.out.glob("*.data")
    save.target.unlink()
    data.unlink()
    if kind == "link":
        data.symlink_to(save.victim)
    elif kind == "dangling":
        data.symlink_to(save.elsewhere / "new")
    elif kind == "hard link":
        os.link(save.victim, data)
    else:
        os.mkfifo(data)
    run_well(save.source, *MIXED, "-o", save.target, **KERNELS[kernel])
    save.check()
    assert state(save.out) == good
    assert not data.is_symlink() and data.stat().st_nlink == 1


def test_data_file_is_a_folder(tmp_path):
    save = Save(tmp_path)
    run_well(save.source, *MIXED, "-o", save.target)
    [data] = save.out.glob("*.data")
    data.unlink()
    data.mkdir()
    save.target.write_bytes(b"old")
    done = run(save.source, *MIXED, "-o", save.target)
    check_error(done, "the data file of '" + str(save.target) + "'")
    assert state(save.out) == {"out.onnx": b"old", data.name: None}


def test_own_link_keeps_its_meaning(tmp_path):
    """-o is the user's: a link stays, and what it points to is replaced."""
    save = Save(tmp_path)
    real = tmp_path / "real.onnx"
    for content in (b"old", None):
        real.unlink(missing_ok=True)
        if content:
            real.write_bytes(content)
        save.target.unlink(missing_ok=True)
        save.target.symlink_to("../real.onnx")
        run_well(save.source, *MIXED, "-o", save.target)
        assert save.target.is_symlink() and real.stat().st_size > 100
        [data] = save.out.glob("*.data")
        assert data.name.encode() in real.read_bytes()
        assert not list(tmp_path.glob("*.data"))


def test_leftovers_of_others(tmp_path):
    """Only what has exactly our names, and is unused, is removed."""
    save = Save(tmp_path)
    kept = [".out.onnx.mp-opt-abc.tmp", ".out.onnx.mp-opt-abcdefgh.tmp2",
            ".other.onnx.mp-opt-abcdefgh.tmp", "out.onnx-0123456789abcdef.data"]
    for name in kept:
        (save.out / name).write_bytes(b"kept")
    (save.out / ".out.onnx.mp-opt-linklink.tmp").symlink_to(save.victim)
    os.link(save.victim, save.out / ".out.onnx.mp-opt-hardlink.tmp")
    locked = save.out / ".out.onnx.mp-opt-locked00.tmp"
    locked.write_bytes(b"in use")
    stale = save.out / ".out.onnx.mp-opt-stale000.tmp"
    stale.write_bytes(b"stale")
    with subprocess.Popen(
        ["flock", locked, "sh", "-c", "echo go; read x"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as holder:
        holder.stdout.readline()
        run_well(save.source, *MIXED, "-o", save.target)
        assert locked.exists()
        holder.communicate(b"\n")
    assert not stale.exists()
    for name in kept:
        assert (save.out / name).read_bytes() == b"kept", name
    assert (save.out / ".out.onnx.mp-opt-linklink.tmp").is_symlink()
    assert (save.out / ".out.onnx.mp-opt-hardlink.tmp").exists()
    save.check()
    run_well(save.source, *MIXED, "-o", save.target)
    assert not locked.exists()
