# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same model and flags give the same bytes, whatever else differs.

Threads, the places of memory and what it held, locale, time zone, folder and
environment; models, reports, texts and messages. What a report says of the
path is the path that was given, and nothing more.
"""

import hashlib
import os
import re
import shutil
import socket
import subprocess

import onnx
import pytest

import support
import sweeps

# Each environment except 'plain' differs from it as its name says.
ENVIRONMENTS = {
    "C": {"LC_ALL": "C"},
    "C.UTF-8": {"LC_ALL": "C.UTF-8"},
    "no locale": {"LC_ALL": "xx_YY.UTF-8", "LANGUAGE": "xx"},
    "Tokyo": {"TZ": "Asia/Tokyo"},
    "Marquesas": {"TZ": "<-0930>+9:30"},
    "small environment": {},
    "odd environment": {"X": "x" * 12345},
    "big environment": {f"X{i}": "x" * 1000 for i in range(100)},
    "memory filled with 55": {"MALLOC_PERTURB_": "85"},
    "memory filled with ff": {"MALLOC_PERTURB_": "255"},
    "all memory mapped": {
        "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=64"
        ":glibc.malloc.mmap_max=60000"
    },
    "memory of jemalloc filled": {"MALLOC_CONF": "junk:true,tcache:false"},
    "no memory reused": {
        "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"
        ":glibc.malloc.arena_max=1:glibc.malloc.top_pad=1"
    },
    "another home": {"HOME": "/nonexistent", "USER": "nobody"},
    "no color": {"NO_COLOR": "1", "TERM": "dumb"},
}
PREFIXES = {
    "one processor": ["taskset", "-c", "0"],
    "fixed addresses": ["setarch", "-R"],
    "old layout of addresses": ["setarch", "-L"],
    "small stack": ["bash", "-c", 'ulimit -s 1024; exec "$@"', "bash"],
    "unlimited stack": ["bash", "-c", 'ulimit -s unlimited; exec "$@"', "bash"],
}
FLAGS = {
    "one thread": ["--mlir-disable-threading"],
    "checked": ["--verify-each"],
}

PIPELINES = {
    "bf16": ["--mixed-bf16"],
    "fp16": ["--mixed-fp16"],
    "emulate": ["--mixed-bf16", "--emulate"],
}
MODELS = [
    "fwd/bert_hf_op20/model.onnx",
    "fwd/resnet18_w8_op20_ext/model.onnx",
    "train/bert2_dropout/training_model.onnx",
    "traininfo/mlp_momentum/model.onnx",
]


def turkish():
    """A locale whose I is not the capital of i, or nothing."""
    folder = support.scratch_dir("locale")
    if not shutil.which("localedef"):
        return {}
    subprocess.run(
        ["localedef", "-i", "tr_TR", "-f", "UTF-8", folder / "tr_TR.UTF-8"],
        capture_output=True,
    )
    if not any(folder.iterdir()):
        return {}
    return {"Turkish": {"LC_ALL": "tr_TR.UTF-8", "LOCPATH": str(folder)}}


ENVIRONMENTS.update(turkish())


def run_in(source, pipeline, extra=(), prefix=(), changes=(), named=None):
    """All that a run makes, by name: three runs, for all forms of output."""
    folder = support.scratch_dir("run")
    for path in source.parent.iterdir():
        if path.name == source.name or path.suffix == ".data":
            shutil.copy(path, folder)
    named = named(folder) if named else source.name
    environment = {"PATH": os.environ["PATH"], **dict(changes)}
    reports = ["--report=r.html", "--overlay=o.json", "--annotate"]
    forms = {
        "onnx": ["--summary=json", "-o", "out.onnx"] + reports,
        "text": ["--summary"],
        "bytecode": ["-o", "out.mlirbc", "--remarks-filter=mp-precision"],
    }
    made = {}
    for form, flags in forms.items():
        command = [*prefix, support.MP_OPT, named, *pipeline, *flags, *extra]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()
        made[form + " stdout"] = done.stdout
        made[form + " stderr"] = done.stderr
    for path in folder.iterdir():
        if path.name != source.name:
            made[path.name] = path.read_bytes()
    assert {"out.onnx", "out.mlirbc", "r.html", "o.json"} <= made.keys()
    return made


def digest(made):
    lines = [
        hashlib.sha256(content).hexdigest() + "  " + name
        for name, content in sorted(made.items())
    ]
    return "\n".join(lines)


def variants():
    for number in range(5):
        yield f"again {number}", {}
    for name, changes in ENVIRONMENTS.items():
        yield name, {"changes": changes}
    for name, prefix in PREFIXES.items():
        if name == "old layout of addresses" or shutil.which(prefix[0]):
            yield name, {"prefix": prefix}
    for name, extra in FLAGS.items():
        yield name, {"extra": extra}


# Every model in bf16, two in every way; those first that a sample takes.
CASES = [("fp16", MODELS[0]), ("emulate", MODELS[1])]
CASES += [("bf16", model) for model in reversed(MODELS)]
CASES += [("fp16", MODELS[1]), ("emulate", MODELS[0])]


def classes(case):
    """A sample has every model, and every pipeline."""
    return case


@pytest.mark.parametrize(
    "pipeline,relative",
    sweeps.sample("Tools/test_reproducible.py", CASES, classes),
)
def test_one_digest(pipeline, relative):
    source = support.staged(relative)
    flags = PIPELINES[pipeline]
    expected = digest(run_in(source, flags))
    names = []
    for name, variant in variants():
        names.append(name)
        assert digest(run_in(source, flags, **variant)) == expected, name
    assert len(names) >= 20
    print(f"{relative}, {pipeline}: {len(names) + 1} runs, one digest")


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_path_is_what_was_given(pipeline):
    """Another spelling of the path changes itself, nothing else."""
    source = support.staged(MODELS[0])
    flags = PIPELINES[pipeline]
    plain = run_in(source, flags)
    for named in (
        lambda folder: f"./{source.name}",
        lambda folder: f"../{folder.name}/{source.name}",
        lambda folder: str(folder / source.name),
    ):
        spelled = []

        def remember(folder):
            spelled.append(named(folder))
            return spelled[0]

        made = run_in(source, flags, named=remember)
        for name in ("out.onnx", "o.json", "text stdout"):
            assert made[name] == plain[name], name
        for name, content in made.items():
            if name != "out.mlirbc":
                content = content.replace(spelled[0].encode(), b"model.onnx")
                assert content == plain[name], name


def test_standard_input():
    source = support.staged(MODELS[0])
    flags = ["--mixed-bf16", "-o"]
    folder = support.scratch_dir("run")
    support.run_mp_opt(source, *flags, folder / "file.onnx")
    for name in ("file", "pipe"):
        subprocess.run(
            ["bash", "-c", '"$@" < "$0"' if name == "file" else 'cat "$0" | "$@"']
            + [source, support.MP_OPT, "-", *flags, folder / f"{name}-in.onnx"],
            check=True,
            capture_output=True,
        )
        assert (folder / f"{name}-in.onnx").read_bytes() == (
            folder / "file.onnx"
        ).read_bytes()


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_nothing_of_the_machine(pipeline):
    """No output names a folder, the machine, or a time."""
    source = support.staged(MODELS[0])
    made = run_in(source, PIPELINES[pipeline])
    words = [str(source.parent), str(support.ROOT), os.path.dirname(support.MP_OPT)]
    # No number of a process either, but those are in weights by chance: each
    # output is compared with that of another process (test_one_digest).
    words += [os.path.expanduser("~") + "/", "/tmp/"]
    if len(socket.gethostname()) > 3:
        words.append(socket.gethostname())
    date = re.compile(rb"\b20\d\d-[01]\d-[0-3]\d|\b[0-2]\d:[0-5]\d:[0-5]\d\b")
    for name, content in made.items():
        if name in ("out.onnx", "out.mlirbc"):
            continue  # weights hold any bytes; test_one_digest has these
        for word in words:
            assert word.encode() not in content, (name, word)
        assert not date.search(content), (name, date.search(content))


def test_explanations():
    """--explain of every node that a report can name first and last."""
    source = support.staged(MODELS[0])
    nodes = onnx.load(source).graph.node
    names = [n.name or n.output[0] for n in nodes if n.output][:: len(nodes) // 9]
    flags = ["--mixed-bf16", *(f"--explain={name}" for name in names)]
    texts = {
        subprocess.run(
            [*prefix, support.MP_OPT, source, *flags],
            capture_output=True,
            env={"PATH": os.environ["PATH"], **changes},
            check=True,
        ).stdout
        for prefix, changes in [
            ([], {}),
            ([], ENVIRONMENTS["memory filled with 55"]),
            ([], ENVIRONMENTS["all memory mapped"]),
            ([], ENVIRONMENTS["C"]),
            (PREFIXES["fixed addresses"], {}),
            (PREFIXES["one processor"], {}),
        ]
        for _ in range(4)
    }
    assert len(texts) == 1 and len(texts.pop()) > 1000
