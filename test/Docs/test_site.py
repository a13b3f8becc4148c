# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation site: it builds, its links lead somewhere, and it loads
nothing from elsewhere.

What scripts/docs makes of programs and tables is tested with Python alone; the
site needs scripts/requirements-docs.txt, which scripts/setup.sh --with-tests
installs.
"""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import pytest
from support import MP_OPT, ROOT

sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(ROOT / "scripts/docs"))

import plots  # noqa: E402
import reference  # noqa: E402
import stage  # noqa: E402

PROGRAMS = pathlib.Path(MP_OPT).parent
CACHE = pathlib.Path(os.environ.get("MPOPT_CACHE", "~/.cache/mp-opt")).expanduser()
LLVM = pathlib.Path("/usr/lib/llvm-22")
ELSEWHERE = re.compile(r"(?:https?:)?//")
# Elements that load resources, and the attribute with the address.
LOADS = {"audio": "src", "embed": "src", "iframe": "src", "img": "src",
         "object": "data", "script": "src", "source": "src", "video": "src"}
LINKS_THAT_LOAD = {"stylesheet", "icon", "preload", "modulepreload", "manifest",
                   "preconnect", "dns-prefetch", "prefetch"}


#
# Pages that are made
#


def load(command):
    words = command.split()
    done = subprocess.run(
        [PROGRAMS / words[0], *words[1:], "--help=json"],
        capture_output=True, text=True, check=True, timeout=60,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("program", reference.COMMANDS)
def test_every_flag_is_on_the_page(program):
    page = reference.flags_page(PROGRAMS, program)
    for command in reference.COMMANDS[program]:
        section = page.split(f"\n## {command}\n")[1].split("\n## ")[0]
        rows = load(command)
        assert rows
        for row in rows:
            for name in (row["flag"], *row["synonyms"]):
                assert re.search(rf"<code>{name}[\[=<]", section), (command, name)
            assert reference.cell(row["help"]) in section, (command, row["flag"])


def test_every_command_is_on_the_page():
    done = subprocess.run(
        [PROGRAMS / "mp-run", "--help"], capture_output=True, text=True, check=True
    )
    named = re.findall(r"^  ([a-z]+) [A-Z]", done.stdout, re.M)
    assert {f"mp-run {n}" for n in named} == set(reference.COMMANDS["mp-run"])


def test_every_pass_and_dialect_has_a_page():
    if not (LLVM / "bin/mlir-tblgen").exists():
        pytest.skip("no mlir-tblgen")
    tables = reference.Tables(ROOT, LLVM / "bin/mlir-tblgen", LLVM / "include")
    stages = {p.parent.name for p in (ROOT / "passes").glob("*/Passes.td")}
    assert stages == set(reference.STAGES)
    for name in stages:
        source = (ROOT / f"passes/{name}/Passes.td").read_text(encoding="utf-8")
        flags = re.findall(r'^def \w+\s*:\s*\w*Pass<\s*"([\w-]+)"', source, re.M)
        page = tables.passes_page(name)
        assert flags and [f for f in flags if f"## {f}\n" in page] == flags
        assert "```mlir" in page
    dialects = {p.name for p in (ROOT / "include/mp-opt/Dialect").iterdir()
                if list(p.glob("*.td"))}
    assert dialects == {path.split("/")[0] for _, path in reference.DIALECTS.values()}
    for name in reference.DIALECTS:
        assert "Dialect" in tables.dialect_page(name).splitlines()[0]


#
# Plots
#

TABLE = """# Page

| | mp-opt | other |
|---|---:|---:|
| small | 0.5 s, 3 MB | 1,000 ms |
| large | 2 | fails |

<!-- plot: casts -->
"""


def plot(title="T", **more):
    return plots.Plot(title, "s", {"mp-opt": "ours", "other": "theirs"}, **more)


def test_plots_are_of_the_table():
    headings, rows = plots.read_table(TABLE.splitlines())
    labels, series = plots.read_series(plot(), headings, rows)
    assert labels == ["small", "large"]
    assert series == [[0.5, 2.0], [1000.0, None]]
    drawn = plots.draw(plot(), headings, rows)
    widths = re.findall(r'class="series0" x="250" y="\d+" width="([\d.]+)"', drawn)
    assert [float(w) for w in widths] == [1.0, 1.0]
    assert drawn.count("<rect") == 2 + 3
    logarithmic = plots.draw(plot(logarithmic=True), headings, rows)
    widths = re.findall(
        r'class="series0" x="250" y="\d+" width="([\d.]+)"', logarithmic
    )
    assert float(widths[1]) > 10 * 1.0 and float(widths[0]) < float(widths[1])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"series": {"nobody": "x"}}, "no column 'nobody'"),
        ({"rows": ("tiny",)}, "no row 'tiny'"),
    ],
)
def test_plots_of_what_is_not_there(change, message):
    headings, rows = plots.read_table(TABLE.splitlines())
    fields = {"title": "T", "unit": "", "series": {"mp-opt": "x"}, **change}
    with pytest.raises(ValueError, match=message):
        plots.draw(plots.Plot(**fields), headings, rows)


def test_marks_of_plots(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no table\n\n<!-- plot: casts -->\n")
    with pytest.raises(ValueError, match="page.md: plot 'casts': there is no table"):
        plots.draw_into(page)
    page.write_text(TABLE.replace("casts", "nonsense"))
    with pytest.raises(ValueError, match="there is no such plot"):
        plots.draw_into(page)
    # Each plot is somewhere, and each mark is a plot: building draws them.
    text = "".join(p.read_text() for p in (ROOT / "docs").rglob("*.md"))
    assert set(plots.MARK.findall(text)) == set(plots.PLOTS)


#
# Links of pages that move
#


def test_links_are_written_anew(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "passes").mkdir()
    (tmp_path / "lib/A.cpp").write_text("int a;\n")
    (tmp_path / "passes/README.md").write_text("# P\n[a](../docs/a.md#x)\n")
    (tmp_path / "docs/a.md").write_text(
        "[p](../passes) [s](../lib/A.cpp) [w](https://x.y) [h](#x)\n"
        "```sh\n[p](../passes)\n```\n"
    )
    pages = stage.Stage(tmp_path, tmp_path / "out")
    pages.add("docs/a.md")
    text = (tmp_path / "out/a.md").read_text()
    assert text.startswith(
        "[p](reference/pipeline.md) [s](source/lib/A.cpp.md) "
        "[w](https://x.y) [h](#x)\n"
    )
    assert "[p](../passes)\n```" in text
    moved = (tmp_path / "out/reference/pipeline.md").read_text()
    assert "[a](../a.md#x)" in moved
    assert "int a;" in (tmp_path / "out/source/lib/A.cpp.md").read_text()
    (tmp_path / "docs/b.md").write_text("[n](nothing.md)\n")
    with pytest.raises(FileNotFoundError, match="docs/b.md: no nothing.md"):
        pages.add("docs/b.md")


def test_every_page_has_a_place():
    """In the navigation."""
    config = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- (?:[^:\n]+: )?([\w/-]+\.md)$", config, re.M))
    pages = {stage.page_of(str(p.relative_to(ROOT)))
             for p in (ROOT / "docs").rglob("*.md")}
    moved = {page for path, page in stage.MOVED.items() if path != "README.md"}
    assert not (pages | moved) - listed


#
# The site
#


def build_site(*arguments):
    return subprocess.run(
        [ROOT / "scripts/build-docs.sh", "--no-install", *arguments],
        env={**os.environ, "MPOPT_BUILD": str(PROGRAMS.parent)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
    )


def test_other_files_stay(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    done = build_site("-o", tmp_path)
    assert done.returncode == 1 and "found other files" in done.stdout
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "arguments, code, text",
    [(["--nonsense"], 2, "usage:"), (["-o"], 1, "-o needs a folder"),
     (["--help"], 0, "usage:")],
)
def test_usage_of_the_script(arguments, code, text):
    done = build_site(*arguments)
    assert done.returncode == code and text in done.stdout


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.plots = set(), [], [], 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values[k] for k in ("id", "name") if values.get(k)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in LOADS and values.get(LOADS[tag]):
            self.loads.append(values[LOADS[tag]])
        if tag == "link" and LINKS_THAT_LOAD & set((values.get("rel") or "").split()):
            self.loads.append(values["href"])
        self.plots += tag == "svg" and values.get("class") == "plot"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not (CACHE / "venv-docs/bin/python").exists():
        pytest.skip(f"no {CACHE}/venv-docs: scripts/setup.sh --with-tests makes it")
    folder = tmp_path_factory.mktemp("site")
    # Twice: the second one is in the place of the first.
    for _ in range(2):
        done = build_site("-o", folder)
        assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def built(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_site_is_whole(site, built):
    assert len(built) > 40
    for name in ("index", "install", "tutorials/torch-training", "python", "c-api",
                 "reference/mp-opt", "reference/passes-precision", "performance"):
        assert site / f"{name}.html" in built
    assert built[site / "performance.html"].plots == len(plots.PLOTS)
    assert (site / "search/search_index.js").exists()
    names = built[site / "reference/python-api.html"].ids
    if (ROOT / "python/mp_opt/__init__.py").exists():
        assert {"mp_opt.convert", "mp_opt.TrainingStep.step"} <= names
        # Doctests are code, not quotations.
        text = (site / "reference/python-api.html").read_text(encoding="utf-8")
        assert "<blockquote>" not in text
    index = built[site / "reference/index.html"].links
    for name in ("passes-precision", "passes-lowering", "dialect-mp"):
        # The navigation and the page itself link to it.
        assert index.count(f"{name}.html") == 2, name


def test_site_links(site, built):
    broken = []
    for path, page in built.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = (path.parent / urllib.parse.unquote(parts.path)).resolve()
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif anchor and anchor not in built[target].ids:
                broken.append(f"{path.relative_to(site)}: no anchor {link}")
    assert not broken


def test_site_loads_nothing_from_elsewhere(site, built):
    for path, page in built.items():
        for load in page.loads:
            assert not ELSEWHERE.match(load), f"{path.relative_to(site)}: {load}"
            file = urllib.parse.urlsplit(load).path
            assert (path.parent / file).exists(), f"{path}: {load}"
    for path in site.rglob("*.css"):
        for load in re.findall(r"url\(['\"]?([^)'\"]+)|@import ['\"]([^'\"]+)",
                               path.read_text(encoding="utf-8")):
            assert not ELSEWHERE.match("".join(load)), f"{path}: {load}"


def test_page_of_missing_pages_finds_the_folder(site):
    """A server shows it at any depth, and the site may be in a folder of it."""
    text = (site / "404.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:href|src)="/|"(?:base|search)": "/', text)
    # The base must be set before any resource is loaded.
    assert text.index("base.href = folder") < text.index("<link")
    theme = text.index('src="./assets/javascripts/bundle')
    assert text.index('"__config"') < text.index("document.baseURI") < theme


def test_site_can_be_searched(site):
    text = (site / "search/search_index.js").read_text(encoding="utf-8")
    index = json.loads(text.partition("=")[2])
    # A page that was opened as a file has no other way to the index, and no
    # worker but this one.
    for name in ("index.html", "tutorials/inference.html", "404.html"):
        assert 'site/iframe-worker.js"></script>' in (site / name).read_text()
    titles = {entry["title"] for entry in index["docs"]}
    assert {"mp-classify", "Exit codes and messages"} <= titles
    boosts = {entry["location"]: entry.get("boost", 1) for entry in index["docs"]}
    order = ["tutorials/fp16-loss-scaling.html", "install.html", "training.html",
             "reference/passes-lossscaling.html",
             "source/include/mp-opt-c/mp_opt.h.html"]
    found = [boosts[name] for name in order]
    assert found[0] == found[1] > found[2] > found[3] > found[4]
