# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of a conversion: by nodes, and against bytes."""

from __future__ import annotations

import os

from . import _mp_opt
from ._data import argument_files
from ._errors import UsageError, check
from ._flags import precision_flags, to_flags
from ._models import Source
from ._records import Record
from ._reports import _escape, _Text, parse


class NodeError(Record):
    """What a node that rounds alone does: relative errors, predicted and, where
    it was run, measured (else None); ``share`` is its part of the predicted
    variance of all."""

    __slots__ = ()
    _fields = ("node", "op", "predicted", "measured", "share")


class TuningPoint(Record):
    """An assignment of precisions: the limit of its predicted error over the
    error of everything in 16 bit, the measured and the predicted error, bytes
    moved, and the number of nodes in 16 bit."""

    __slots__ = ()
    _fields = ("share", "error", "predicted", "bytes", "nodes_16bit")


class _Measured(_Text):
    """A text, and fields of the same name as in the JSON of the command; a
    field that the command leaves out is None."""

    _fields: tuple[str, ...] = ()

    def __init__(self, text: str, data: dict):
        super().__init__(text)
        self._data = data
        for name in {*self._fields, *data}:
            setattr(self, name, data.get(name))

    def __repr__(self) -> str:
        return f"<mp_opt.{type(self).__name__}: {self._get_line()}>"

    def _get_line(self) -> str:
        raise NotImplementedError

    def to_dict(self) -> dict:
        """What ``--json`` prints."""
        import copy

        return copy.deepcopy(self._data)


class Attribution(_Measured):
    """The errors of a conversion by nodes, the greatest share first. Its text is
    what ``mp-opt attribute`` prints."""

    _fields = (
        "precision", "of", "batches", "nodes_total", "predicted",
        "predicted_first_order", "measured", "spread", "flips", "flip_error",
        "curvature", "reliable", "doubts", "excess", "excess_roundings", "runs",
        "probes", "seconds",
    )  # fmt: skip

    def __init__(self, text: str, data: dict):
        super().__init__(text, data)
        self.nodes = [
            NodeError(*(row.get(name) for name in NodeError._fields))
            for row in data["nodes"]
        ]

    def _get_line(self) -> str:
        line = self.text.partition("\n")[0]
        return line if self.reliable else f"{line}; not reliable"

    def _repr_html_(self) -> str:
        parts = [f"<p>{_escape(self.text.partition(chr(10))[0])}</p>"]
        parts += [
            f"<p><b>not reliable:</b> {_escape(doubt)}</p>"
            for doubt in self.doubts
        ]
        rows, sum_of_shares = [], 0.0
        for node in self.nodes[:_SHOWN]:
            share = node.share or 0.0
            sum_of_shares += share
            rows.append(
                f"<td>{_escape(str(node.node))}</td><td>{_escape(node.op)}</td>"
                f"<td>{_number(node.predicted)}</td>"
                f"<td>{_number(node.measured)}</td>"
                f"<td>{100 * share:.1f} %</td><td>{_bar(share)}</td>"
                f"<td>{100 * sum_of_shares:.0f} %</td>"
            )
        parts.append(_table(
            ("node", "op", "predicted", "measured", "share", "", "sum"), rows
        ))  # fmt: skip
        if len(self.nodes) > _SHOWN:
            parts.append(f"<p>{len(self.nodes) - _SHOWN} more nodes</p>")
        return "".join(parts)


class Tuning(_Measured):
    """Errors against bytes and, with a target, the assignment that was found.
    Its text is what ``mp-opt tune`` prints; ``policy`` is the result as a policy,
    empty without a target."""

    _fields = (
        "precision", "of", "nodes_total", "bytes_fp32", "target", "met", "error",
        "predicted", "bytes", "runs", "nodes_16bit", "baselines", "seconds",
    )  # fmt: skip

    def __init__(self, text: str, data: dict, policy: str = ""):
        super().__init__(text, data)
        self.policy = policy
        self.curve = [
            TuningPoint(*(row.get(name) for name in TuningPoint._fields))
            for row in data["curve"]
        ]

    def save_policy(self, path) -> None:
        """Writes the policy, whole or not at all: ``convert(policy=path)`` takes
        it."""
        if not self.policy:
            raise UsageError("save_policy: there is none without target_error", 2)
        path = os.fspath(path)
        part = f"{path}.{os.getpid()}.tmp"
        try:
            with open(part, "w", encoding="utf-8") as file:
                file.write(self.policy)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise

    def _get_line(self) -> str:
        if self.target is None:
            return f"{len(self.curve)} assignments"
        return next(
            (line for line in self.text.splitlines() if line.startswith("target")),
            "",
        )

    def _repr_html_(self) -> str:
        points = [(p.bytes, p.error, str(p.nodes_16bit)) for p in self.curve]
        found = None
        if self.target is not None:
            found = (self.bytes, self.error, str(self.nodes_16bit))
        drawn = _plot(points, found, self.target, self.bytes_fp32)
        return drawn + super()._repr_html_()


def attribute(
    model, data=None, precision=None, *, name=None, **flags
) -> Attribution:
    """Which nodes cause the error of a conversion, from one forward and one
    backward pass: ``mp-opt attribute``.

    ``data`` are those that errors are measured on, in the forms of
    ``calibrate``; without them, those of the argument ``calibrate``. Further
    arguments are those of ``convert`` for precision and training (``train=True,
    loss="mse"`` for errors of gradients), and those of the command:
    ``measure="all"``, ``probes=4``, ``cost=True``.
    """
    texts = _report("attribute", model, data, precision, name, flags)
    return Attribution(texts["summary"], parse(texts["json"]))


def tune(
    model, data=None, precision=None, *, target_error=None, name=None, **flags
) -> Tuning:
    """Error against bytes and, with ``target_error``, the precision that moves
    the fewest bytes within that relative error: ``mp-opt tune``.

    Arguments are those of ``attribute``; those of the command are ``no_curve``,
    ``baselines`` and ``probes``.
    """
    flags = {**flags, "target_error": target_error}
    texts = _report("tune", model, data, precision, name, flags)
    return Tuning(texts["summary"], parse(texts["json"]), texts.get("policy", ""))


def _report(command: str, model, data, precision, name, flags) -> dict:
    source = Source(model, name)
    arguments = precision_flags(precision, flags)
    if data is not None:
        arguments["data"] = data
    with argument_files(arguments) as given:
        return check(
            _mp_opt.report_errors(
                command, source.content, source.name, to_flags(given)
            )
        )


#
# Views of notebooks
#

# Rows of a table.
_SHOWN = 10
# Sizes of a plot, in pixels.
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 460, 260, 70, 40


def _number(value) -> str:
    return "" if value is None else f"{value:.2e}"


def _bar(share: float) -> str:
    width = 120 * min(max(share, 0.0), 1.0)
    return (
        '<div style="width:120px;background:rgba(128,128,128,.2)">'
        f'<div style="width:{width:.1f}px;height:0.8em;background:#4477aa">'
        "</div></div>"
    )


def _table(heads, rows) -> str:
    head = "".join(f"<th>{head}</th>" for head in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" '
        f'fill="currentColor">{_escape(text)}</text>'
    )


class _Axes:
    """Bytes across, in per cent of those of fp32; errors up, by their
    logarithms."""

    def __init__(self, points, target, bytes_fp32):
        import math

        self.log, self.bytes_fp32 = math.log10, bytes_fp32
        values = [error for _, error, _ in points] + ([target] if target else [])
        self.low = math.floor(self.log(min(values)))
        self.high = max(math.ceil(self.log(max(values))), self.low + 1)
        least = min(count for count, _, _ in points) / bytes_fp32
        self.left = min(0.4, math.floor(10 * least) / 10)
        self.right = _WIDTH - 20

    def across(self, count) -> float:
        part = (count / self.bytes_fp32 - self.left) / (1 - self.left)
        return _LEFT + part * (self.right - _LEFT)

    def down(self, error) -> float:
        part = (self.log(error) - self.low) / (self.high - self.low)
        return 15 + (1 - part) * (_HEIGHT - _BOTTOM - 15)

    def draw(self) -> list[str]:
        top, base = self.down(10.0**self.high), self.down(10.0**self.low)
        parts = [
            f'<path d="M{_LEFT},{top:.1f}V{base:.1f}H{self.right}" fill="none" '
            'stroke="currentColor"/>'
        ]
        for power in range(self.low, self.high + 1):
            y = self.down(10.0**power) + 4
            parts.append(_text(_LEFT - 6, y, f"1e{power}", "end"))
        for tenth in range(round(10 * self.left), 11, 2):
            x = self.across(tenth / 10 * self.bytes_fp32)
            parts.append(_text(x, base + 15, f"{10 * tenth} %"))
        middle = (_LEFT + self.right) / 2
        parts.append(_text(middle, _HEIGHT - 6, "bytes, of those of fp32"))
        return parts

    def draw_point(self, point, color: str) -> str:
        count, error, nodes = point
        percent = 100 * count / self.bytes_fp32
        return (
            f'<circle cx="{self.across(count):.1f}" cy="{self.down(error):.1f}" '
            f'r="4" fill="{color}"><title>error {error:.2e}, {percent:.1f} % of '
            f"bytes, {nodes} nodes in 16 bit</title></circle>"
        )


def _plot(points, found, target, bytes_fp32) -> str:
    """Errors against bytes. A point is (bytes, error, number of nodes); one
    whose error is infinite or zero is left out, since the scale has no place
    for it."""
    points = [point for point in points if point[1]]
    found = found if found and found[1] else None
    drawn = points + ([found] if found else [])
    if not drawn or not bytes_fp32:
        return ""
    axes = _Axes(drawn, target, bytes_fp32)
    parts = axes.draw()
    if target:
        y = axes.down(target)
        parts.append(
            f'<path d="M{_LEFT},{y:.1f}H{axes.right}" stroke="#cc6677" '
            f'stroke-dasharray="4"/>' + _text(axes.right, y - 4, "target", "end")
        )
    if points:
        path = "L".join(
            f"{axes.across(count):.1f},{axes.down(error):.1f}"
            for count, error, _ in points
        )
        parts.append(f'<path d="M{path}" fill="none" stroke="#4477aa"/>')
    parts += [axes.draw_point(point, "#4477aa") for point in points]
    if found:
        parts.append(axes.draw_point(found, "#cc6677"))
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        'xmlns="http://www.w3.org/2000/svg">' + "".join(parts) + "</svg>"
    )
