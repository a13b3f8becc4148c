# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of the numbers in a page's own tables, as SVG within the page.

A mark <!-- plot: NAME --> behind a table becomes a bar for each of its rows and
series. The numbers stand in the table and nowhere else: PLOTS says which columns
are drawn, and how their cells are read.
"""

import dataclasses
import html
import math
import re

MARK = re.compile(r"^<!-- plot: (?P<name>[\w-]+) -->$", re.M)
BAR, GAP, LEFT, RIGHT, WIDTH = 14, 10, 250, 90, 760


@dataclasses.dataclass(frozen=True)
class Plot:
    title: str
    unit: str
    # Headings of columns, and the names of their bars.
    series: dict
    logarithmic: bool = False
    # Rows that are drawn begin with one of these; all without.
    rows: tuple = ()


PLOTS = {
    "converting": Plot(
        "Converting to fp16, whole process (seconds, logarithmic; less is better)",
        "s",
        {"--mixed-fp16": "mp-opt", "onnxruntime": "onnxruntime's converter"},
        logarithmic=True,
        rows=("4 nodes", "chain, 1,000 ", "chain, 20,000 ", "GPT, 124 M"),
    ),
    "casts": Plot(
        "Casts inserted at the same fp32 nodes (less is better)",
        "",
        {"mp-opt": "mp-opt", "modelopt": "modelopt",
         "onnxconverter-common": "onnxconverter-common",
         "onnxruntime": "onnxruntime"},
        rows=("BERT", "ResNet-18", "ViT"),
    ),
    "step-amx": Plot(
        "Training step of the encoder, one thread of a Xeon with AMX "
        "(seconds; less is better)",
        "s",
        {"mp-run": "mp-run", "torch eager": "torch, eager",
         "torch compiled": "torch, compiled"},
    ),
    "networks": Plot(
        "One image, one thread of a Zen 5 (milliseconds; less is better)",
        "ms",
        {"mp-run fp32": "mp-run, fp32", "mp-run bf16": "mp-run, bf16",
         "onnxruntime 1.32": "onnxruntime, fp32"},
    ),
    "h200": Plot(
        "Training steps on an H200 (milliseconds, logarithmic; less is better)",
        "ms",
        {"mp-opt": "mp-opt", "eager": "torch, eager", "graph": "torch, CUDA graph",
         "compiled, graph": "torch, compiled and CUDA graph"},
        logarithmic=True,
        rows=("encoder, 6", "the same in bf16", "encoder, 12", "ResNet-18",
              "BERT"),
    ),
    "compile-time": Plot(
        "Compiling a training step (seconds; less is better)",
        "s",
        {"s": "now", "of the revision before": "revision 1b1fb50"},
    ),
}


def read_table(lines):
    """Headings, and rows, of the last table of the lines."""
    end = len(lines)
    while end and not lines[end - 1].startswith("|"):
        end -= 1
    start = end
    while start and lines[start - 1].startswith("|"):
        start -= 1
    rows = [[c.strip() for c in line.strip()[1:-1].split("|")]
            for line in lines[start:end]]
    if len(rows) < 3:
        raise ValueError("there is no table in front of it")
    return rows[0], rows[2:]


def number(cell):
    """The first number of a cell, if it begins with one: "0.31 s, 31 MB"."""
    match = re.match(r"([\d,]+(?:\.\d+)?)(?!\d)", cell)
    return float(match[1].strip(",").replace(",", "")) if match else None


def read_series(plot, headings, rows):
    """Labels of rows, and for each series its numbers, None where there is none."""
    for heading in plot.series:
        if heading not in headings:
            raise ValueError(f"the table has no column '{heading}'")
    kept = [r for r in rows if not plot.rows or r[0].startswith(plot.rows)]
    for start in plot.rows:
        if not any(r[0].startswith(start) for r in rows):
            raise ValueError(f"the table has no row '{start}'")
    columns = [headings.index(h) for h in plot.series]
    return [r[0] for r in kept], [[number(r[c]) for r in kept] for c in columns]


def scale(plot, values):
    """From a number to a share of the width."""
    if not plot.logarithmic:
        return lambda v: v / max(values)
    low = 10 ** math.floor(math.log10(min(values)) - 0.01)
    return lambda v: math.log(v / low) / math.log(max(values) / low)


def draw(plot, headings, rows):
    labels, series = read_series(plot, headings, rows)
    values = [v for numbers in series for v in numbers if v]
    if not values:
        raise ValueError("no number is drawn")
    share = scale(plot, values)
    room, y = WIDTH - LEFT - RIGHT, 46
    parts = [text(0, 14, plot.title, "title")]
    x = 0
    for index, name in enumerate(plot.series.values()):
        parts.append(f'<rect class="series{index}" x="{x}" y="24" width="10" '
                     'height="10"/>')
        parts.append(text(x + 15, 33, name))
        x += 32 + 7 * len(name)
    top = y
    for row, label in enumerate(labels):
        drawn = [(i, n[row]) for i, n in enumerate(series) if n[row] is not None]
        middle = y + BAR * len(drawn) / 2 + 4
        parts.append(text(LEFT - 8, middle, label, anchor="end"))
        for index, value in drawn:
            width = max(1, room * share(value))
            parts.append(f'<rect class="series{index}" x="{LEFT}" y="{y}" '
                         f'width="{width:.1f}" height="{BAR - 2}"/>')
            shown = f"{value:g} {plot.unit}".strip()
            parts.append(text(LEFT + width + 5, y + BAR - 4, shown, "note"))
            y += BAR
        y += GAP
    parts.append(f'<line x1="{LEFT}" x2="{LEFT}" y1="{top}" y2="{y - GAP}"/>')
    body = "".join(parts)
    return (f'<svg class="plot" role="img" viewBox="0 0 {WIDTH} {y}" '
            f'xmlns="http://www.w3.org/2000/svg" '
            f'aria-label="{html.escape(plot.title)}">{body}</svg>')


def text(x, y, words, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    return (f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f"{html.escape(words)}</text>")


def draw_into(path):
    """The page with its plots; an error names the page and the plot."""
    page = path.read_text(encoding="utf-8")

    def replace(match):
        name = match["name"]
        try:
            if name not in PLOTS:
                raise ValueError("there is no such plot")
            table = read_table(page[: match.start()].splitlines())
            return draw(PLOTS[name], *table)
        except ValueError as error:
            raise ValueError(f"{path.name}: plot '{name}': {error}") from None

    drawn = MARK.sub(replace, page)
    if drawn != page:
        path.write_text(drawn, encoding="utf-8")
