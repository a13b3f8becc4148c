# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bash, zsh and fish complete each flag and each choice of each command.

The shells run themselves (shells.py); what is expected comes from the tables of
flags, --help=json.
"""

import json
import pathlib
import subprocess

import pytest
import shells
from support import MP_OPT

MP_RUN = str(pathlib.Path(MP_OPT).with_name("mp-run"))
PROGRAMS = {"mp-opt": MP_OPT, "mp-run": MP_RUN}
COMMANDS = {
    "mp-opt": ["attribute", "bisect", "diff", "reduce", "tune"],
    "mp-run": ["run", "bench", "compare", "train", "plan", "show"],
}
TOOLS = ["mp-opt", *(f"{program} {command}" for program in COMMANDS
                     for command in COMMANDS[program])]
TOPICS = {"mp-opt": {"train", "code", "data", "all", "json"}}
SHELLS = {"bash": shells.Bash, "zsh": shells.Zsh, "fish": shells.Fish}
FILES = {"data.npz", "two words.onnx"}
FOLDER = "runs"


def run(tool, *arguments, code=0):
    program, *command = tool.split()
    done = subprocess.run(
        [PROGRAMS[program], *command, *arguments], capture_output=True,
        text=True, timeout=60, stdin=subprocess.DEVNULL,
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


TABLES = {tool: json.loads(run(tool, "--help=json")) for tool in TOOLS}


def get_names(tool):
    names = {name for row in TABLES[tool]
             for name in (row["flag"], *row["synonyms"])}
    names |= {"--help", "-h", "--version"}
    return names | ({"--print-completion"} if " " not in tool else set())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("shells")
    (made / "work" / FOLDER).mkdir(parents=True)
    for name in FILES:
        (made / "work" / name).touch()
    for program in PROGRAMS:
        for shell in SHELLS:
            script = run(program, f"--print-completion={shell}")
            (made / f"{program}.{shell}").write_text(script)
    return made


@pytest.fixture(scope="module", params=SHELLS)
def shell(request):
    if not shells.is_there(request.param):
        pytest.skip(f"no {request.param}: scripts/setup.sh --with-tests "
                    "installs it")
    return request.param


@pytest.fixture(scope="module", params=PROGRAMS)
def started(request, shell, folder):
    script = folder / f"{request.param}.{shell}"
    made = SHELLS[shell](script, folder)
    made.program = request.param
    yield made
    made.close()


def offered(started, line):
    """Words without what stands in front of an equals sign, or a slash behind
    a folder; flags without the equals sign that they end in."""
    words = started.complete(line)
    typed = line.split(" ")[-1]
    before = typed[: typed.find("=") + 1]
    return {word.removeprefix(before).rstrip("/=").replace("\\ ", " ")
            for word in words}


def tools_of(program):
    return [tool for tool in TOOLS if tool.split()[0] == program]


@pytest.mark.parametrize("program", PROGRAMS)
def test_scripts_are_scripts(program, shell, folder):
    script = folder / f"{program}.{shell}"
    subprocess.run([shell, "-n", script], check=True)
    assert not any(len(line) > 400 for line in script.read_text().split("\n"))


@pytest.mark.skipif(not shells.is_there("shellcheck"), reason="no shellcheck")
@pytest.mark.parametrize("program", PROGRAMS)
def test_bash_has_nothing_to_be_said_against(program, folder):
    subprocess.run(["shellcheck", folder / f"{program}.bash"], check=True)


def test_commands(started):
    line = f"{started.program} "
    found = offered(started, line)
    expected = set(COMMANDS[started.program])
    if started.program == "mp-opt":
        expected |= FILES | {FOLDER}
    assert {word for word in found if not word.startswith("-")} == expected
    assert offered(started, line + COMMANDS[started.program][0][:2]) == {
        COMMANDS[started.program][0]}


def test_flags(started):
    for tool in tools_of(started.program):
        assert offered(started, tool + " -") == get_names(tool), tool
        # Flags are offered after other arguments, too.
        assert get_names(tool) - offered(started, f"{tool} model.onnx --h=1 --") \
            <= {"-h", "-o"}, tool


def test_flags_by_their_beginnings(started):
    for tool in tools_of(started.program):
        for row in TABLES[tool]:
            name = row["flag"]
            if len(name) > 4:
                assert name in offered(started, f"{tool} {name[:-1]}"), (tool, name)


def test_choices(started):
    found = 0
    for tool in tools_of(started.program):
        for row in TABLES[tool]:
            values = set(row["choices"] + row["words"])
            if not values or len(row["flag"]) == 2:
                continue
            found += 1
            lines = [f"{tool} {row['flag']}="]
            # A value that is required may also come after a space.
            if not row["optional"]:
                lines.append(f"{tool} {row['flag']} ")
            for line in lines:
                names = offered(started, line)
                assert names - FILES - {FOLDER} == {
                    value.rstrip("=") for value in values}, line
            word = max(values, key=len)
            assert word in offered(started, lines[0] + word[:-1]) | {
                "ema:decay="}, lines[0]
        topics = TOPICS.get(tool, {"json"})
        assert offered(started, f"{tool} --help=") == topics
    assert found >= {"mp-opt": 10, "mp-run": 30}[started.program]


def test_what_choices_are_there():
    """Of what users ask for by name, whether or not that is all."""
    rows = {row["flag"]: row for row in TABLES["mp-opt"]}
    assert "lib" in rows["--emit"]["choices"]
    assert {"adamw", "sgd", "lazy-adam", "none"} <= set(
        rows["--optimizer"]["words"])
    assert {"mse", "softmax-cross-entropy", "output:"} <= set(
        rows["--loss"]["words"])
    assert "mixed_bfloat16" in rows["--policy"]["words"]
    for tool, table in TABLES.items():
        for row in table:
            # Listed words are accepted: an error of usage would have another
            # text.
            for word in row["words"]:
                if row["flag"] in ("--policy", "--loss") or word.endswith("="):
                    continue
                value = f"{row['flag']}={word}"
                text = run(tool, "no-such-model", "no-such-data", value,
                           "--no-such-flag", code=2)
                assert "unknown flag '--no-such-flag'" in text, text


def test_files(started):
    """A flag for a file, one for a folder, one for a number."""
    tool, file, folder, number = {
        "mp-opt": ("mp-opt", "--report=", "--external-data-root=", "--lr="),
        "mp-run": ("mp-run train", "--data=", "--checkpoint=", "--lr="),
    }[started.program]
    if isinstance(started, shells.Bash):
        pytest.skip("readline's own: see test_a_line_in_bash")
    assert offered(started, f"{tool} {file}") == FILES | {FOLDER}
    assert offered(started, f"{tool} {folder}") == {FOLDER}
    assert offered(started, f"{tool} {number}") == set()
    assert offered(started, f"{tool} da") == {"data.npz"}


def test_passes_come_behind_a_letter(started):
    if started.program != "mp-opt":
        pytest.skip("mp-run has none")
    assert "--mp-classify" in offered(started, "mp-opt --mp-cl")
    assert "--mp-classify" not in offered(started, "mp-opt --")


def test_flags_that_are_given():
    """They are not offered again, unless they may be repeated."""
    words = ["--complete", "--strict", "--dim=n=1", "--cc", "x", "--"]
    head, *lines = run("mp-opt", *words).splitlines()
    names = {line.split("\t")[0] for line in lines}
    assert head == "none\t" and "--fp16" in names and "--dim=" in names
    assert not names & {"--strict", "--cc="}
    assert run("mp-opt", *words, "").splitlines() == ["files\t"]


@pytest.fixture(scope="module", params=["=", ""])
def terminals(request, folder):
    """With and without the equals sign among the characters that end words."""
    made = {program: shells.BashTerminal(folder / f"{program}.bash", folder,
                                         breaks=request.param)
            for program in PROGRAMS}
    yield made
    for terminal in made.values():
        terminal.close()


LINES = {
    "mp-opt --mixed-b": "mp-opt --mixed-bf16 ",
    "mp-opt --emit=by": "mp-opt --emit=bytecode ",
    "mp-opt --mixed-bf16 --assig": "mp-opt --mixed-bf16 --assign=",
    "mp-opt tw": "mp-opt two\\ words.onnx ",
    "mp-opt di": "mp-opt diff ",
    "mp-opt diff da": "mp-opt diff data.npz ",
    "mp-opt --lr=d": "mp-opt --lr=d",
    "mp-opt --policy=mixed_b": "mp-opt --policy=mixed_bfloat16 ",
    "mp-opt -o da": "mp-opt -o data.npz ",
    "mp-run tr": "mp-run train ",
    "mp-run train --lr-sch": "mp-run train --lr-schedule=",
    "mp-run train --lr-schedule=c": "mp-run train --lr-schedule=co",
    "mp-run plan --network=nv": "mp-run plan --network=nvlink+400g ",
    "mp-run run da": "mp-run run data.npz ",
    "mp-run d": "mp-run d",
}
# readline completes the whole word of these lines if "=" does not break words.
ONLY_WITH_BREAKS = {
    "mp-opt --report=da": "mp-opt --report=data.npz ",
    "mp-opt --external-data-root=ru": "mp-opt --external-data-root=runs/",
    "mp-opt --cache=ru": "mp-opt --cache=runs/",
}


@pytest.mark.parametrize("line", [*LINES, *ONLY_WITH_BREAKS])
def test_a_line_in_bash(line, terminals):
    terminal = terminals[line.split()[0]]
    if not terminal.breaks and line in ONLY_WITH_BREAKS:
        pytest.skip("files behind '=' need it among COMP_WORDBREAKS")
    assert terminal.press_tab(line) == {**LINES, **ONLY_WITH_BREAKS}[line]


def test_unknown_shells():
    for program in PROGRAMS:
        text = run(program, "--print-completion=fishy", code=2)
        assert text == (f"{program}: error: --print-completion: expected bash, "
                        "zsh or fish, got 'fishy'; did you mean 'fish'?\n")
        text = run(program, "--print-completion", code=2)
        assert "expected bash, zsh or fish, got ''" in text


def test_misspelt():
    text = run("mp-opt", "--print-completions=bash", code=2)
    assert "did you mean '--print-completion'?" in text
    text = run("mp-run run", "--print-completions=bash", code=2)
    assert "did you mean" not in text


def test_help_names_it():
    for program in PROGRAMS:
        assert "--print-completion=bash|zsh|fish" in run(program, "--help")
