# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converting models, and asking why."""

from __future__ import annotations

import os

from . import _mp_opt
from ._data import argument_files
from ._errors import OUTSIDE, UsageError, check, to_python
from ._flags import precision_flags, to_flags, to_precision
from ._models import Source
from ._reports import Diff, Explanation, Report, Summary, Verification, parse


def _run(model, arguments, kinds="", output=None, name=None, wants_bytes=False):
    """(what Source makes of the result, texts by their kinds)"""
    source = model if isinstance(model, Source) else Source(model, name)
    if output is not None:
        output = os.fspath(output)
        arguments = {**arguments, "output": output}
    with argument_files(arguments) as given:
        result = _mp_opt.convert(
            source.content,
            source.name,
            to_flags(given),
            kinds,
            output,
            wants_bytes and output is None,
        )
    made, texts = check(result)
    return (None if made is None else source.wrap(made)), texts


def _refuse(arguments, names: tuple[str, ...], why: str) -> None:
    for name in names:
        if arguments.get(name) not in (None, False):
            raise UsageError(f"{name}: {why}", 2)


_NOT_HERE = ("o", "print_config", "dry_run", "summary", "explain", "train", "loss")


def convert(model, precision=None, *, output=None, name=None, **flags):
    """The model in mixed precision.

    ``model`` is a path, bytes, ``onnx.ModelProto``, ``onnx_ir.Model`` or
    ``torch.onnx.ONNXProgram``. The result has the same form, that of a path is
    an ``onnx.ModelProto``. With ``output``, a path, it is written there, whole
    or not at all, and the path is returned: the way for models over 2 GB.

    ``precision`` is "bf16" (also where nothing else says so), "fp16" or, to
    change nothing but what further arguments say, "fp32", or a type of numpy's,
    torch's or ml_dtypes' such as ``numpy.float16``. Those are the flags
    of ``mp-opt``, with underscores for dashes: ``policy="mixed_bfloat16"``,
    ``allow=["Gelu"]``, ``deny_node="head.*"``, ``dim={"batch": 1}``,
    ``strict=True``; ``mp_opt.flags()`` lists them. ``calibrate`` takes data as
    ``mp_opt.calibrate`` does, and with it ``target_error=1e-3`` finds the fewest
    bytes within that relative error. ``name`` is what messages call a model that
    is not a path, and where its external data are looked for.
    """
    _refuse(flags, _NOT_HERE, "not an argument of convert()")
    made, _ = _run(
        model,
        precision_flags(precision, flags),
        output=output,
        name=name,
        wants_bytes=True,
    )
    return output if output is not None else made


def train_step(model, loss, *, optimizer="sgd", output=None, name=None, **flags):
    """A training step of a forward model: forward, backward, optimizer and loss
    scaling in one model of standard operators.

    ``loss`` is what ``--loss`` takes, or a list; ``optimizer`` and further
    arguments are flags of ``mp-opt`` as well: ``lr=0.01``, ``freeze="embed.*"``,
    ``precision="fp16"``, ``loss_scale="dynamic"``. Without a precision, the step
    is fp32. Models and results are those of ``convert``.
    """
    _refuse(flags, _NOT_HERE[:-2], "not an argument of train_step()")
    arguments = {"train": True, "loss": loss, "optimizer": optimizer, **flags}
    if "precision" in arguments:
        arguments["precision"] = to_precision(arguments["precision"])
        if arguments["precision"] in ("fp32", None):
            del arguments["precision"]
    made, _ = _run(
        model, arguments, output=output, name=name, wants_bytes=True
    )
    return output if output is not None else made


def summary(model, precision=None, *, name=None, **flags) -> Summary:
    """What a conversion would do, in numbers."""
    arguments = precision_flags(precision, flags)
    _, texts = _run(model, arguments | {"summary": "text"}, name=name)
    _, told = _run(model, arguments | {"summary": "json"}, "json", name=name)
    return Summary(texts.get("summary", ""), parse(told["json"]))


def explain(model, node, precision=None, *, name=None, **flags) -> Explanation:
    """Why a node, or the node of a value, has its precision. ``node`` may be a
    list of names."""
    arguments = precision_flags(precision, flags)
    _, texts = _run(model, arguments | {"explain": node}, name=name)
    return Explanation(texts.get("explain", ""))


def report(model, precision=None, *, name=None, **flags) -> Report:
    """The page of ``mp-opt --report``: the graph, with what was decided and
    why."""
    arguments = precision_flags(precision, flags)
    _, texts = _run(model, arguments, "html", name=name)
    return Report(texts["html"])


def overlay(model, precision=None, *, name=None, **flags) -> dict:
    """Node data for Model Explorer."""
    arguments = precision_flags(precision, flags)
    _, texts = _run(model, arguments, "overlay", name=name)
    return parse(texts["overlay"])


def policy(precision=None, **flags) -> str:
    """The policy that these arguments ask for, in YAML: each list with the
    source of its entries."""
    return check(_mp_opt.policy(to_flags(precision_flags(precision, flags))))


def diff(before, after) -> Diff:
    """What a conversion has changed: types, casts, opsets, weights."""
    first, second = Source(before), Source(after)

    def run(as_json):
        return check(
            _mp_opt.compare_models(
                first.content, first.name, second.content, second.name, [],
                True, as_json,
            )  # fmt: skip
        )

    text, differs = run(False)
    data, _ = run(True)
    return Diff(text, parse(data), differs)


def verify(
    model, result=None, *, data=None, precision=None, name=None, **flags
) -> Verification:
    """Runs ``result``, a model that was made of ``model``, and compares it with
    ``model`` in float64. Without a ``result`` it is made as ``convert`` would.

    ``data`` is a file, as for ``mp-opt --verify``, or a mapping of arrays;
    random numbers without it. ``rtol`` is the relative error that outputs may
    have, without it what rounding explains.
    """
    with _data_file(data) as file:
        checked = {"verify": True if file is None else file}
        if result is None:
            arguments = precision_flags(precision, flags) | checked
            source = Source(model, name)
            outcome = _mp_opt.convert(
                source.content, source.name, to_flags(arguments), "", None, False
            )
            _, texts = check(outcome, allowed=(OUTSIDE,))
            return Verification(to_python(texts["verify"]), outcome[0] == 0)
        if precision is not None:
            raise UsageError("precision: 'result' has one already", 2)
        first, second = Source(model, name), Source(result)
        outcome = _mp_opt.compare_models(
            first.content, first.name, second.content, second.name,
            to_flags(flags | checked), False, False,
        )  # fmt: skip
        text, _ = check(outcome, allowed=(OUTSIDE,))
        return Verification(to_python(text), outcome[0] == 0)


class _data_file:
    """The path of data that may be arrays."""

    def __init__(self, data):
        self.data, self.folder = data, None

    def __enter__(self):
        if not hasattr(self.data, "items"):
            return None if self.data is None else os.fspath(self.data)
        import tempfile

        import numpy

        self.folder = tempfile.TemporaryDirectory(prefix="mp_opt-")
        path = os.path.join(self.folder.name, "data.npz")
        numpy.savez(path, **{k: numpy.asarray(v) for k, v in self.data.items()})
        return path

    def __exit__(self, *_):
        if self.folder:
            self.folder.cleanup()
