# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models, and training steps."""

from __future__ import annotations

import math
import os

from . import _mp_opt
from ._arrays import Value, describe, finish, is_torch, prepare
from ._errors import Error, UsageError, check
from ._flags import to_flags, to_precision
from ._models import Source


def set_num_threads(count: int) -> None:
    """Threads that models of this process run on."""
    check(_mp_opt.set_num_threads(count))


def num_threads() -> int:
    return _mp_opt.num_threads()


def _arguments(precision, dim, flags) -> list:
    precision = to_precision(precision)
    if isinstance(precision, str) and precision == "fp32":
        precision = None
    return to_flags({"precision": precision, "dim": dim, **flags})


class Program:
    """A model compiled for this machine: ``compile`` makes it.

    It is called with arrays in the order of its inputs, or by their names, and
    gives its output, or a tuple of them: numpy's, or torch's if the first array
    is one. Arrays are read where they lie, if their elements stand in a row;
    others are copied. Threads may share it; calls take turns.
    """

    def __init__(self, program):
        self._program = program
        self.inputs: tuple[Value, ...] = describe(program.describe(True))
        self.outputs: tuple[Value, ...] = describe(program.describe(False))
        self._names = tuple(value.name for value in self.outputs)
        self._has_others = any(
            value.dtype.startswith(("bfloat", "float8"))
            for value in self.outputs
        )

    def __repr__(self) -> str:
        def show(values):
            return ", ".join(
                f"{v.name}: {v.dtype}"
                f"[{', '.join('?' if s is None else str(s) for s in v.shape)}]"
                for v in values
            )

        return f"<mp_opt.Program ({show(self.inputs)}) -> ({show(self.outputs)})>"

    def __reduce_ex__(self, protocol):
        raise TypeError(
            "a Program is code of this process, which can be neither pickled nor "
            "copied: keep the model (its path, or its bytes) and compile() it "
            "where it is needed; code that was compiled once comes from a cache"
        )

    def __copy__(self):
        return Program(self._program)

    def get_inputs(self) -> list[Value]:
        """As onnxruntime's sessions have it."""
        return list(self.inputs)

    def get_outputs(self) -> list[Value]:
        return list(self.outputs)

    def _call(self, names, values, like_torch):
        made = self._program.run(names, values, prepare, like_torch)
        rows = check(made, notes=True)
        if self._has_others and not like_torch:
            return list(finish(rows, like_torch).values())
        return [row[2] for row in rows]

    def __call__(self, *arrays, **named):
        names, values = None, arrays
        if named:
            # Arrays without a name are the first inputs.
            if len(arrays) > len(self.inputs):
                raise Error(
                    f"expected {len(self.inputs)} inputs at most "
                    f"({', '.join(repr(v.name) for v in self.inputs)}), got "
                    f"{len(arrays)} without a name"
                )
            names = [v.name for v in self.inputs[: len(arrays)]] + list(named)
            values = [*arrays, *named.values()]
        like_torch = bool(values) and is_torch(values[0])
        made = self._call(names, values, like_torch)
        return made[0] if len(made) == 1 else tuple(made)

    def run(self, names, feeds) -> list:
        """As ``onnxruntime.InferenceSession.run``: the outputs of these names,
        all if it is None, as a list."""
        values = list(feeds.values())
        like_torch = bool(values) and is_torch(values[0])
        made = self._call(list(feeds), values, like_torch)
        if names is None:
            return made
        unknown = [name for name in names if name not in self._names]
        if unknown:
            raise Error(
                f"there is no output '{unknown[0]}', there are: "
                + ", ".join(self._names)
            )
        return [made[self._names.index(name)] for name in names]


def compile(model, *, precision=None, dim=None, name=None, **flags) -> Program:
    """Compiles a model for this machine; code is kept for later processes.

    ``dim={"batch": 32}`` gives symbolic dimensions sizes: code for known sizes
    is faster. ``precision`` is "bf16" or "fp16" to convert it first. Further
    arguments are flags of ``mp-run run``: ``threads``, ``cache="off"``,
    ``device``; ``mp_opt.flags("compile")`` lists them.
    """
    source = Source(model, name)
    made = _mp_opt.compile(
        source.content, source.name, _arguments(precision, dim, flags)
    )
    return Program(check(made))


def _rate(lr) -> float:
    try:
        rate = float(lr)
    except (TypeError, ValueError):
        rate = math.nan
    if not 0 <= rate < math.inf:
        raise Error(f"lr: expected a number of at least 0, got {lr!r}")
    return rate


class TrainingStep:
    """A compiled training step, as ``train_step`` makes it, with its states.

    What is wrong with the arguments of a step - names, types, sizes, labels that
    are no classes - is an error before it begins, and the next one can be made.
    Arrays of other types become those of the inputs where no value changes, or
    where the input is float32, with one warning for each input.

    Arguments are those of ``compile``, and of ``mp-run train``'s learning rate:
    ``lr=0.01, lr_schedule="cosine", warmup=100, steps=1000``.
    """

    def __init__(self, model, *, precision=None, dim=None, name=None, **flags):
        source = Source(model, name)
        self._step = check(
            _mp_opt.create_step(
                source.content, source.name, _arguments(precision, dim, flags)
            )
        )
        self.inputs: tuple[Value, ...] = describe(self._step.describe(True))
        self.states: tuple[Value, ...] = describe(self._step.describe(False))
        self._state_names = frozenset(value.name for value in self.states)

    def __repr__(self) -> str:
        return (
            f"<mp_opt.TrainingStep after {self.count} steps, "
            f"{len(self.states)} states>"
        )

    def __reduce_ex__(self, protocol):
        raise TypeError(
            "a TrainingStep is code of this process, which can be neither "
            "pickled nor copied: keep the step's path and all_states(), or what "
            "save(path) writes; TrainingStep(path) and load_state_dict(states) "
            "or load(path) go on with them"
        )

    @property
    def count(self) -> int:
        """Steps made so far."""
        return self._step.count()

    @property
    def lr(self) -> float:
        """The learning rate of the last step; NaN if there is none."""
        return self._step.rate()

    def step(self, batch=None, *, lr=None, **arrays) -> dict:
        """One step. The batch is given by the inputs' names; the loss and the
        other outputs come back by theirs. ``lr`` takes the place of the
        schedule's."""
        feeds = {**(batch or {}), **arrays}
        values = list(feeds.values())
        like_torch = bool(values) and is_torch(values[0])
        rate = math.nan if lr is None else _rate(lr)
        made = self._step.run(list(feeds), values, rate, prepare, like_torch)
        return finish(check(made, notes=True), like_torch)

    __call__ = step

    # States

    def all_states(self) -> dict:
        """Copies of everything that steps hand on, by the model's names."""
        return finish(check(self._step.get_states(False)), False)

    def _owner(self, name: str) -> str | None:
        """The parameter whose state it is: "w" of "w.exp_avg"."""
        while "." in name:
            name = name.rpartition(".")[0]
            if name in self._state_names:
                return name
        return None

    @staticmethod
    def _is_global(name: str) -> bool:
        return name == "step" or name.split(".")[0] in (
            "loss_scale",
            "accumulated",
        )

    def state_dict(self) -> dict:
        """Parameters and running statistics, by the names they have in the
        model: what ``torch.nn.Module.load_state_dict`` takes, as numpy's."""
        return {
            name: value
            for name, value in self.all_states().items()
            if not self._is_global(name) and self._owner(name) is None
        }

    def optimizer_state_dict(self) -> dict:
        """``{"step": 40, "state": {"w": {"exp_avg": ...}}}``."""
        states = self.all_states()
        made: dict = {"step": int(states.get("step", self.count)), "state": {}}
        for name, value in states.items():
            owner = self._owner(name)
            if owner is not None and not self._is_global(name):
                inner = name[len(owner) + 1 :]
                made["state"].setdefault(owner, {})[inner] = value
        return made

    def scaler_state_dict(self) -> dict:
        """As ``torch.amp.GradScaler`` has it, as far as it is state: the scale,
        and the steps without an overflow since it last changed. Empty without
        dynamic loss scaling."""
        states = self.all_states()
        if "loss_scale" not in states:
            return {}
        return {
            "scale": float(states["loss_scale"]),
            "_growth_tracker": int(states.get("loss_scale.clean_steps", 0)),
            "skipped_steps": int(states.get("loss_scale.skipped_steps", 0)),
        }

    def load_state_dict(
        self, states, *, strict=False, count=None
    ) -> None:
        """Replaces states by copies of arrays of the same names: parameters, or
        any of ``all_states()``. With ``strict`` none may be missing."""
        values = list(states.values())
        check(
            self._step.set_states(
                list(states),
                values,
                bool(strict),
                self.count if count is None else int(count),
                prepare,
            )
        )

    # Files

    def save(self, path, *, keep: int = 2) -> None:
        """A checkpoint in a folder, as ``mp-run train --checkpoint`` makes it, of
        which the newest ``keep`` are kept; or, where the path ends in .npz or
        .safetensors, the states as such a file."""
        if not isinstance(keep, int) or keep < 1 or keep > 2**31:
            raise UsageError(f"keep: expected a count from 1 on, got {keep!r}", 2)
        check(self._step.save(os.fspath(path), keep))

    def load(self, path) -> None:
        """Goes on with the newest whole checkpoint of this model in a folder,
        to the same bits, or with the states in a file."""
        check(self._step.load(os.fspath(path)))
