# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of mp-opt over old files, in which a call of the system goes wrong."""

from files import MIXED, TEMPORARY, make_model, run, run_well, state

CALLS = (
    "write", "pwrite", "writev", "openat", "fchmod", "posix_fallocate",
    "ftruncate", "fallocate", "sync_file_range", "fsync", "fdatasync",
    "linkat", "rename", "renameat", "renameat2", "unlinkat", "mkdirat",
)
SIDE = 300


class Scenario:
    """A run over old files: the arguments, and the folder before and after."""

    def __init__(self, folder, name):
        self.input = folder / "in"
        self.output = folder / "out"
        self.log = folder / "fault"
        self.input.mkdir()
        self.output.mkdir()
        self.flags = []
        self.target = self.output / "out.onnx"
        getattr(self, name)()
        self.arguments = [self.source, *self.flags, "-o", self.target]
        self.old = state(self.output)
        run_well(*self.arguments)
        self.new = state(self.output)
        # Old files, complete new ones, and nothing that is both.
        assert self.new != self.old

    def single(self):
        self.source = make_model(self.input / "in.onnx", SIDE, 2.0)
        self.flags = MIXED
        self.target.write_bytes(b"old")

    def fresh(self):
        self.single()
        self.target.unlink()

    def pair(self):
        old = make_model(self.input / "old.onnx", SIDE, 1.0, "old.bin")
        run_well(old, *MIXED, "-o", self.target)
        self.source = make_model(self.input / "in.onnx", SIDE, 2.0, "w.bin")
        self.flags = MIXED

    def unchanged(self):
        self.source = make_model(self.input / "in.onnx", SIDE, 2.0, "w.bin")
        self.target.write_bytes(b"old")

    def subfolder(self):
        (self.input / "sub").mkdir()
        self.source = make_model(self.input / "in.onnx", SIDE, 2.0, "sub/w.bin")

    def text(self):
        self.single()
        self.flags = []
        self.target = self.output / "out.mlir"
        self.target.write_bytes(b"old")
        (self.output / "out.onnx").unlink()

    def bytecode(self):
        self.text()
        self.target.unlink()
        self.target = self.output / "out.mlirbc"
        self.target.write_bytes(b"old")

    def reports(self):
        self.single()
        self.flags = [
            *MIXED,
            f"--report={self.output}/r.html",
            f"--overlay={self.output}/o.json",
        ]
        (self.output / "r.html").write_bytes(b"old report")
        (self.output / "o.json").write_bytes(b"old overlay")

    def reset(self):
        for path in sorted(self.output.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for name, content in self.old.items():
            (self.output / name).write_bytes(content)
        self.log.unlink(missing_ok=True)

    def fail(self, call, number, action, **more):
        """Runs it; true if the fault has happened."""
        self.reset()
        self.done = run(
            *self.arguments, FAULT_CALL=call, FAULT_NUMBER=number,
            FAULT_ACTION=action, FAULT_LOG=self.log, **more,
        )
        return self.log.exists()

    def check_whole(self, leftovers=()):
        """Every file is the old one or the new one; a model has its data."""
        found = {
            name: content
            for name, content in state(self.output).items()
            if name not in leftovers
        }
        if len(self.flags) > 2:
            for name, content in found.items():
                assert content in (self.old.get(name), self.new.get(name)), name
            assert found.keys() <= self.old.keys() | self.new.keys()
        else:
            assert found in (self.old, self.new), (
                sorted(found), sorted(self.old), sorted(self.new),
                self.done.stderr,
            )
        return found


def check_next_run(scenario):
    """It removes what this one has left; the answer says what that was."""
    found = state(scenario.output).keys()
    left = {name for name in found if TEMPORARY.fullmatch(name)}
    assert found - left <= scenario.old.keys() | scenario.new.keys()
    check_pair(scenario, left)
    run_well(*scenario.arguments)
    assert state(scenario.output) == scenario.new
    return left


def check_pair(scenario, left):
    """The model in place is the old one or the new one, and so are its data.
    Data of the other may still, or already, be there."""
    found = state(scenario.output)
    model = found.get(scenario.target.name)
    assert model in (
        scenario.old.get(scenario.target.name),
        scenario.new.get(scenario.target.name),
    )
    which = scenario.new if model == scenario.new[scenario.target.name] else (
        scenario.old
    )
    if len(scenario.flags) <= 2:
        for name, content in which.items():
            assert found[name] == content, name
    for name, content in found.items():
        if name not in left:
            assert content in (scenario.old.get(name), scenario.new.get(name))
