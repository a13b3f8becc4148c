# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the package says of itself."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
import subprocess
import sys

import mp_opt
import pytest
from models import ROOT
from support import MP_OPT

STUBS = pathlib.Path(mp_opt.__path__[0], "__init__.pyi")
# Modules that import optional packages.
OPTIONAL = {
    "backend", "keras", "model_explorer", "olive", "onnx_ir", "onnxruntime", "torch",
}  # fmt: skip


def test_version():
    cmake = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(MPOpt VERSION ([\d.]+)", cmake)[1]
    assert mp_opt.__version__ == version
    project = (ROOT / "python/pyproject.toml").read_text()
    assert f'\nversion = "{version}"\n' in project


def test_stubs_know_what_there_is():
    tree = ast.parse(STUBS.read_text())
    told = {n.name for n in tree.body if hasattr(n, "name")}
    assert {name for name in told if not name.startswith("_")} == set(
        mp_opt.__all__
    )
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        kind = getattr(mp_opt, node.name)
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                assert hasattr(kind, member.name), (node.name, member.name)


def test_arguments_are_those_of_the_stubs():
    """Of methods without flags, which have none in common with a table."""
    tree = ast.parse(STUBS.read_text())
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or not hasattr(mp_opt, node.name):
            continue
        for member in node.body:
            if not isinstance(member, ast.FunctionDef) or (
                member.name.startswith("__") or member.decorator_list
            ):
                continue
            function = getattr(getattr(mp_opt, node.name), member.name)
            own = [
                p.name for p in inspect.signature(function).parameters.values()
            ]
            told = member.args
            names = [a.arg for a in told.args + told.kwonlyargs]
            names += [a.arg for a in (told.vararg, told.kwarg) if a]
            assert sorted(own) == sorted(names), (node.name, member.name)


def test_examples_in_documentation():
    assert doctest.testmod(mp_opt).failed == 0


@pytest.mark.parametrize("name", sorted(mp_opt.__all__))
def test_everything_says_what_it_is(name):
    assert inspect.getdoc(getattr(mp_opt, name)) or name == "num_threads"


def test_modules():
    # Other libraries in the folder have the names of modules, too.
    names = {
        module.name
        for module in pkgutil.iter_modules(mp_opt.__path__)
        if not module.name.startswith("lib")
    }
    assert OPTIONAL <= names
    for name in sorted(names - OPTIONAL):
        importlib.import_module(f"mp_opt.{name}")


def test_importing_takes_little():
    """Nothing that is not used: neither numpy nor onnx, nor what reflects."""
    code = "import mp_opt, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c",
         f"import sys; sys.path.insert(0, {str(pathlib.Path(mp_opt.__path__[0]).parent)!r}); " + code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.split())
    for name in ("numpy", "onnx", "torch", "json", "inspect", "typing", "dataclasses"):
        assert name not in loaded, name
    assert "mp_opt._mp_opt" in loaded


def test_every_flag_is_an_argument():
    """A flag of mp-opt is an argument of convert(), or of train_step()."""
    import json

    told = json.loads(
        subprocess.run(
            [MP_OPT, "--help=json"], capture_output=True, check=True
        ).stdout
    )
    names = {row["flag"].lstrip("-").replace("-", "_") for row in told}
    assert names == {row["name"] for row in mp_opt.flags()}
    stub = STUBS.read_text()
    functions = stub.split("\n@overload\n")[1] + stub.split("def train_step")[1]
    left_out = {"o", "print_config", "dry_run", "summary", "explain", "train"}
    for name in names - left_out:
        assert re.search(rf"^ +{name}: ", functions, re.M), name
