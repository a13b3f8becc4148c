#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the man page of a program or of one of its commands.

usage: make_man.py --date=YYYY-MM-DD --output=FILE [--see=PAGE,...]
                   [--topics=NAME,...] [--like=COMMAND] [--no-table]
                   PROGRAM [COMMAND]

The table of flags (--help=json) says which flags there are and what they take;
--help, and --help=NAME for each topic, say more about most of them, and all the
rest. A flag that a text explains on its own gets that explanation, another one
its line of the table; before that, the explanation of another COMMAND that has
the flag (--like). Programs that only have commands have no table.
"""

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys

COLUMN = 24
# Explanations of flags that several commands have.
LIKE_OTHERS = re.compile("(inputs, )?as for mp-(run run|opt)")
COMMON = [
    ("-h, --help[=TOPIC]", "what there is; TOPIC is %s"),
    ("--version", "print the version"),
]
COMPLETION = (
    "--print-completion=bash|zsh|fish",
    "print a script by which this shell completes flags, choices and files",
)


def run(command, *arguments):
    done = subprocess.run(
        [*command, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


@dataclasses.dataclass
class Entry:
    """Flags, or another thing of a list, and the lines about them."""

    names: list
    lines: list


@dataclasses.dataclass
class Section:
    """Of a help text: paragraphs are lists of lines, entries between them."""

    title: str
    blocks: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class HelpText:
    title: str
    usage: list
    sections: list


def split_head(line):
    """What a line of a list is about, and what it says: "-o FILE   write it"."""
    names, rest = [], line[2:]
    while rest.startswith("-"):
        name, _, rest = rest.partition(" ")
        if name == "-o":
            value, _, rest = rest.partition(" ")
            name += " " + value
        names.append(name.rstrip(","))
        if rest.startswith(" "):
            break
    if names:
        return names, rest.strip()
    head, _, rest = line[2:].partition("  ")
    return [head], rest.strip()


def is_head(line):
    """"  --flag  text", or "  words      text" with the text in its column."""
    if not line.startswith("  ") or line[2:3] == " ":
        return False
    if line[2] == "-":
        return True
    return bool(re.match(r"  \S.*  \S", line)) and line[COLUMN - 1 : COLUMN] == " " \
        and line[COLUMN - 2 : COLUMN - 1] == " " and line[COLUMN : COLUMN + 1] != " "


def read_help(text):
    """The parts of a help text. Its form is that of all of them here: a title,
    the usage, then paragraphs and lists under headings that end in a colon."""
    title, _, rest = text.partition("\n")
    lines = rest.strip("\n").split("\n")
    usage, section = [], Section("")
    while lines and (lines[0].startswith("usage: ") or usage and (
            not lines[0] or lines[0].startswith("       "))):
        usage.append(lines.pop(0))
    sections = [section]
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if re.match(r"[A-Z][^:]*:( |$)", line) and (
                line.endswith(":") or line.startswith("Exit codes")):
            heading, _, line = line.partition(":")
            heading, _, aside = heading.partition(" (")
            section = Section(heading)
            sections.append(section)
            line = aside.removesuffix(")").capitalize() + line.strip()
            section.blocks.append([line] if line else [])
        elif not line:
            section.blocks.append([])
        elif is_head(line) or (
                re.match(r"  \S", line)
                and re.match(" " * COLUMN + r"\S", following)):
            names, said = split_head(line)
            section.blocks.append(Entry(names, [said] if said else []))
        elif line.startswith(" " * 12) and section.blocks and isinstance(
                section.blocks[-1], Entry):
            section.blocks[-1].lines.append(line[COLUMN:] if not line[
                :COLUMN].strip() else line.strip())
        else:
            if not section.blocks or isinstance(section.blocks[-1], Entry):
                section.blocks.append([])
            section.blocks[-1].append(line)
    return HelpText(title.partition(": ")[2], usage, sections)


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def is_laid_out(lines):
    """Whether spaces mean something, as in a table or in code."""
    return any(re.search(r"\S {2,}\S|^ ", line) for line in lines)


def format_lines(lines, indent=False):
    """As they stand where they are laid out, else filled."""
    lines = [line for line in lines if line]
    if not lines:
        return
    if not is_laid_out(lines):
        yield from map(escape, lines)
        return
    yield from ([".RS"] if indent else [])
    yield ".nf"
    yield from map(escape, lines)
    yield ".fi"
    yield from ([".RE"] if indent else [])


def bold(name):
    """Words of the program's own; what is put in their place in italics."""
    flag, mark, value = re.match(r"([^\[= ]*)(\[=|=| )?(.*)", name).groups()
    text = f"\\fB{escape(flag)}\\fR"
    if mark == "[=":
        return text + f"[=\\fI{escape(value.removesuffix(']'))}\\fR]"
    return text + escape(mark) + f"\\fI{escape(value)}\\fR" if mark else text


def name_of(flag):
    return re.split(r"[=\[ ]", flag)[0]


def spell(row):
    """"--verify[=DATA]", and its synonyms."""
    value = row["value"]
    names = [row["flag"], *row["synonyms"]]
    if not value:
        return names
    return [
        name + (f"[={value}]" if row["optional"]
                else (" " if len(name) == 2 else "=") + value)
        for name in names
    ]


class Page:
    def __init__(self, options):
        self.options = options
        self.command = [options.program, *filter(None, [options.command])]
        program = os.path.basename(options.program)
        self.tool = " ".join(filter(None, [program, options.command]))
        self.rows = json.loads(run(self.command, "--help=json")) \
            if options.has_table else []
        self.texts = [read_help(run(self.command, "--help"))]
        self.texts += [read_help(run(self.command, f"--help={topic}"))
                       for topic in options.topics]
        self.lines = []
        self.entries = {}
        others = []
        if options.like:
            others = [read_help(run([options.program, options.like], "--help"))]
        for text in self.texts + others:
            for section in text.sections:
                for block in section.blocks:
                    if isinstance(block, Entry) and block.lines:
                        self.keep_entry(block, is_own=text in self.texts)

    def keep_entry(self, entry, is_own):
        """If it is about one flag; a name that is a synonym is that flag."""
        flags = {name_of(name) for name in entry.names}
        for row in self.rows:
            if not flags <= {row["flag"], *row["synonyms"]}:
                continue
            known = self.entries.get(row["flag"])
            if not known:
                self.entries[row["flag"]] = entry
            elif is_own:
                # A topic has more to say.
                known.lines = [*known.lines[:-1], known.lines[-1] + ";",
                               *entry.lines]

    def add(self, *lines):
        self.lines += lines

    def add_usage(self, text):
        lines = [line[7:] for line in text.usage]
        while lines and not lines[-1]:
            lines.pop()
        self.add(".nf", *(escape(line) for line in lines), ".fi")

    def add_blocks(self, section, with_entries=False, only=object):
        """Paragraphs, and list entries that are not flags of the table; or only
        the blocks of one type."""
        for block in section.blocks:
            if not isinstance(block, only):
                continue
            if isinstance(block, list):
                lines = [line.removeprefix("  ") for line in block if line]
                if section.title.startswith("Example"):
                    self.add(".PP", ".nf", *map(escape, lines), ".fi")
                elif lines:
                    self.add(".PP", *format_lines(lines))
                continue
            names = [name_of(name) for name in block.names]
            flags = [row["flag"] for row in self.rows
                     if {row["flag"], *row["synonyms"]} & set(names)]
            # A text on several flags together that is not on another page.
            together = len(flags) > 1 and block.lines and not LIKE_OTHERS.fullmatch(
                " ".join(block.lines))
            if with_entries or together or not (
                    flags or set(names) & {"--help", "--version"}):
                self.add(".TP", ", ".join(map(bold, block.names)))
                self.add(*format_lines(block.lines, indent=True))

    def add_row(self, row):
        entry = self.entries.get(row["flag"], Entry([], [row["help"]]))
        # One that takes no value, and is explained with one: "--x=false".
        taken_back = not row["value"] and any("=" in name for name in entry.names)
        lines = entry.lines
        self.add(".TP", ", ".join(map(bold, entry.names if taken_back
                                      else spell(row))))
        self.add(*format_lines(lines, indent=True))
        notes = []
        if row["words"] and not any(row["words"][-1] in line for line in lines):
            notes.append("Among others: " + ", ".join(row["words"]) + ".")
        if row["repeatable"] and "repeat" not in " ".join(lines).lower():
            notes.append("It may be repeated.")
        if notes:
            self.add(".br", *map(escape, notes))

    def add_options(self, sections):
        groups = list(dict.fromkeys(row["group"] for row in self.rows))
        for group in groups:
            if len(groups) > 1:
                self.add(f".SS {escape(group)}")
            for row in self.rows:
                if row["group"] == group:
                    self.add_row(row)
            for section in sections:
                if section.title == group:
                    self.add_blocks(section)
        if len(groups) > 1:
            self.add(".SS Help")
        topics = [*self.options.topics]
        if topics:
            topics.append("all (passes and MLIR's options, too)")
        if self.rows:
            topics.append("json (the flags, for other programs)")
        for names, said in COMMON:
            if "%s" in said:
                if not topics:
                    names, said = "-h, --help", "what there is"
                else:
                    said %= ", ".join(topics)
            self.add(".TP", ", ".join(map(bold, names.split(", "))), escape(said))
        if not self.options.command:
            self.add(".TP", bold(COMPLETION[0]), escape(COMPLETION[1]))

    def write(self):
        options, main = self.options, self.texts[0]
        name = self.tool.replace(" ", "-")
        version = run([options.program], "--version").split(" (")[0]
        self.add(
            f'.TH {escape(name.upper())} 1 {options.date} "{escape(version)}" '
            '"User Commands"',
            ".SH NAME", f"{escape(name)} \\- {escape(main.title)}",
            ".SH SYNOPSIS",
        )
        self.add_usage(main)
        groups = {row["group"] for row in self.rows}
        self.add(".SH DESCRIPTION")
        # Flags that are explained together are options, not a description.
        if self.rows:
            self.add_blocks(main.sections[0], only=list)
        else:
            self.add(f"{bold(self.tool)} {escape(main.title)}.")
            self.add_blocks(main.sections[0], with_entries=True)
        self.add(".SH OPTIONS")
        if self.rows:
            self.add_blocks(main.sections[0], only=Entry)
        self.add_options(main.sections)
        for text in self.texts[1:]:
            self.add(f".SH {escape(text.title.upper())}")
            self.add_usage(text)
            for section in text.sections:
                self.add_blocks(section)
        for section in main.sections[1:]:
            if section.title in groups:
                continue
            title = {"Exit codes": "EXIT STATUS", "Example": "EXAMPLES"}.get(
                section.title, section.title.upper())
            self.add(f".SH {escape(title)}")
            self.add_blocks(section)
        if options.see:
            self.add(".SH SEE ALSO")
            pages = [f".BR {escape(page)} (1)" for page in options.see]
            self.add(*(page + "," for page in pages[:-1]), pages[-1])
        text = "\n".join(line for line in self.lines if line) + "\n"
        # A paragraph macro right after a heading is redundant.
        text = re.sub(r"^(\.S[HS] .*\n)\.PP\n", r"\1", text, flags=re.M)
        with open(options.output, "w", encoding="utf-8") as file:
            file.write('.\\" Written by scripts/make_man.py from the program\'s '
                       "own help.\n" + text)


def main():
    parser = argparse.ArgumentParser()

    def names(text):
        return [name for name in text.split(",") if name]

    parser.add_argument("--date", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--see", type=names, default=[])
    parser.add_argument("--topics", type=names, default=[])
    parser.add_argument("--like", default="")
    parser.add_argument("--no-table", dest="has_table", action="store_false")
    parser.add_argument("program")
    parser.add_argument("command", nargs="?", default="")
    Page(parser.parse_args()).write()


if __name__ == "__main__":
    sys.exit(main())
