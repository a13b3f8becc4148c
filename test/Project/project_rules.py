#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules that this project's files keep.

usage: project_rules.py RULE [--root FOLDER] [--clang-format TOOL] [--fix]

classes       a class has 25 methods at most, and the files that define them 600
              lines together; LARGE_CLASSES have limits of their own
constants     constants of the files of a library have different names: files are
              compiled together, where one could hide another without an error
dependencies  tools -> lib/API -> passes -> the rest of lib -> MLIR and ONNX,
              never the other way;
              `onnx/...` in lib/Schema and lib/Target/ONNX only; command line
              options in tools only
              and within lib, no folder sees one behind it (LAYERS)
format        clang-format has nothing to change (--fix: let it)
lifetimes     no loop goes through a part of a list that a call returns: the
              list is gone before the first iteration
map           the map in CONTRIBUTING.md names the folders of LAYERS, in this
              order, and no others
marks         attributes of the mp dialect are named in Dialect/MP only
operators     a file that tells many operators apart by name is lib/Operators,
              or a rule for each of them
pass-tests    every pass of a Passes.td has a test/**/FLAG.mlir and a place in
              passes/README.md, and its description names an example (or several) that is a test file
runtime       the functions in Runtime/Functions.def are those of its headers
shell         bash, and shellcheck where there is one, accept every script
spdx          every source and script names the license at its head
words         comments begin with a noun or a verb; limits are named maxX and
              minX; messages say "is not a", never "is no"; names in RETIRED
              have been replaced

Prints `file:line: what is wrong` for each violation and exits with 1 if there
is one.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

CODE = (".cpp", ".h")
SOURCES = (*CODE, ".td", ".py", ".sh", ".S.in", ".py.in")
LICENSE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
# Folders of the project; the build folders are not among them.
CODE_FOLDERS = ("include", "lib", "passes", "tools")
FOLDERS = (
    *CODE_FOLDERS, ".ci", "benchmarks", "examples", "fuzz", "python", "scripts",
    "test",
)
USES_ONNX = ("lib/Schema/", "lib/Target/ONNX/")
# Folders whose headers each layer must not include.
ABOVE = {
    "include": ("lib", "passes", "tools"),
    "lib": ("passes", "tools"),
    "passes": ("tools",),
}
# The folders of lib that depend on the passes.
ABOVE_PASSES = ("lib/API/", "lib/CAPI/")

# The folders of lib, and the passes, in order: none may include headers of a
# later one.
LAYERS = (
    "Support", "Schema", "Data", "Runtime",
    "Dialect/ONNX", "Dialect/MP", "Dialect/Runtime", "Dialect/Kernel",
    "Dialect/Device",
    "Codegen/Target",
    "Operators", "Folding", "Target/ONNX", "Graph",
    "Precision/Policy", "Precision/Analysis", "Precision/Patterns",
    "Precision/Assignment", "Precision/Data",
    "Autodiff", "Training", "Attribution", "Report", "Conversion", "Codegen/Common",
    "Codegen/Common/Attention", "Codegen/CPU",
    "Codegen/GPU", "Codegen/GPU/Contract", "Codegen/GPU/Reductions",
    "Codegen/GPU/Emit", "Codegen/GPU/Strategy",
    "Codegen/GPU/Partition", "Codegen/GPU/Emulation",
    "Collectives", "Emulation", "Execution", "passes", "Codegen/Host",
    "API/Model", "API/Run", "API/Train", "API/Search", "Options", "CAPI",
    "Provider",
)  # fmt: skip
# Files may name fewer operators than this.
MANY_OPERATORS = 8
# Files in which each operator has its own rule, or is listed by its name.
NAMES_OPERATORS = re.compile(
    r"lib/Operators/|/Rules/|/Opset/|/Decompositions/|/Recurrent/"
    r"|lib/Folding/\w+Folds|ONNXToLinalg/Shape\w+|/RangeRules\.cpp"
    r"|lib/Graph/OpsetUpgrade\.cpp"
)
# Lists of the policy, which are requests, and the names that composites get.
LISTS_OPERATORS = (
    "lib/Precision/Patterns/ReductionComposites.cpp",
    "lib/Precision/Policy/Profiles.cpp",
    "lib/Precision/Policy/TorchNames.cpp",
)
OPERATOR_ROW = re.compile(r'\{"(\w+)",')
# A name that is compared with, not one of a node that is made.
NAME = re.compile(r'(?<!create\()(?<!add\()(?<!return )"([A-Z]\w+)"')
PART_OF_TEMPORARY = re.compile(
    r"\bfor \([^;{}]*:\s*(?:llvm::)?ArrayRef(?:<\w+>)?\("
    r"[\w.>*-]+\((?:[^()]|\([^()]*\))*\)\)\s*\.\w+\("
)

# Limits of a class: methods, apart from constructors and operators, and lines of
# the files that define them.
MAX_METHODS, MAX_CLASS_LINES = 25, 600
# Classes that are larger, with their own limits, which may only fall.
LARGE_CLASSES = {
    "DeviceReductions": (28, 600),
    "Emitter": (48, 633),
    "FlagTable": (27, 600),
    "FunctionEmulation": (25, 748),
    "GenericCode": (31, 628),
    "GraphImporter": (25, 771),
    "LoopBuilder": (37, 600),
    "Model": (28, 600),
    "mp_session": (32, 790),
    "NodeBuilder": (61, 600),
    "NodeLowering": (30, 600),
    "PackedOperand": (27, 600),
    "PrecisionGraph": (32, 600),
    "PrecisionReport": (25, 627),
    "ReferenceComparison": (27, 805),
    "Scalars": (29, 600),
    "SchemaRegistry": (25, 718),
    "State": (25, 668),
}
# Constants in a namespace; lists of values are left out.
CONSTANT = re.compile(
    r"^(?:static |inline )?(?:constexpr|const) [^;{(]*=[^;{]*;", re.M
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
CLASS = re.compile(
    r"\b(?:class|struct)\s+(\w+)\s*(?:final\s*)?(?::[^;{]*)?\{"
)
NO_METHOD = re.compile(
    r"(?:using|typedef|friend|static_assert|enum|std::function|"
    r"(?:llvm::)?function_ref)\b"
)
CALLED = re.compile(r"^[^=(]*?(~?\b\w+)\s*\(", re.S)

# Words that no comment begins with: a noun or a verb says more.
OPENER = re.compile(r"(?:What|Of|Where|Those|Who|By|Behind)\b")
# The mark of a line of a comment, by the end of the file's name.
SLASHES = re.compile(r"\s*(?:///?<?|/?\*+(?!/))(?:\s+|$)")
HASHES = re.compile(r"\s*#+:?(?:\s+|$)")
COMMENTS = {
    **dict.fromkeys((".c", *CODE, ".def", ".td"), SLASHES),
    **dict.fromkeys((".py", ".py.in", ".sh"), HASHES),
}
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# mostX, leastX, XMost and XLeast; atMost and atLeast are English.
LIMIT = re.compile(
    r"(?:most|least)[A-Z]\w*|\w+(?<![aA]t)(?:Most|Least)(?:[A-Z]\w*)?"
)
NO_NOUN = re.compile(r"(?<!there )(?<!There )\bis no (?!longer\b)")
# Names that have been replaced, and their replacements.
RETIRED = {
    "IdleTaps": "OutOfBoundsPositions",
    "ShadowPlaces": "PlaceWorkingCopies",
    "ShadowWeights": "WorkingCopies",
    "Shipments?": "FusedCollective",
    "TypeSlots?": "FloatTypeVariable",
    "WeightSlots?": "WeightOperandRole",
    "beOneOfMany": "configureRank",
    "gatherRanges": "allGather",
    "makeConjunctions": "allReduceAnd",
    "makeMeans": "allReduce",
    "scatterMeans": "reduceScatter",
}
# Each as a name, or as a whole word of one.
REPLACEMENTS = [
    (re.compile(("" if name[0].isupper() else r"\b") + name + "(?![a-z])"), new)
    for name, new in RETIRED.items()
]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
COMMAND_LINE_OPTION = re.compile(r"\bcl::(?:opt|list|bits|alias)\b")
# Pass<"flag", ...>, InterfacePass<"flag", ...>, or a class made of these.
PASS = re.compile(r'^def\s+\w+\s*:\s*\w*Pass<\s*"([^"]+)"', re.M)
EXAMPLES = re.compile(r"\bExamples?:((?:\s+`?test/[\w./-]+\w`?[,.]?)+)")


def files(root, folders, suffixes=("",)):
    """The files below `folders`, tracked or not, in a fixed order."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if "__pycache__" in path.parts or not path.is_file():
                continue
            if path.name.endswith(suffixes):
                yield path


def numbered_lines(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    return enumerate(text.split("\n"), 1)


def forbidden_layer(root, path, header):
    """The layer above its own that `path` reaches with `header`, or none."""
    layer = path.relative_to(root).parts[0]
    beside = pathlib.Path(os.path.normpath(path.parent / header))
    may_see_passes = path.relative_to(root).as_posix().startswith(ABOVE_PASSES)
    for above in ABOVE.get(layer, ()):
        if above == "passes" and may_see_passes:
            continue
        if beside.is_file():
            # A file that is found next to this one hides all others.
            if beside.is_relative_to(root / above):
                return above
            continue
        if header.startswith(above + "/"):
            return above
        if (root / "include" / header).is_file():
            continue
        # The header itself, or a generated header of a folder.
        if above == "passes" and (root / above / header).is_file():
            return above
        folder = os.path.dirname(header)
        if above == "passes" and folder and (root / above / folder).is_dir():
            return above
        if above == "tools" and any((root / above).glob("*/" + header)):
            return above
    return None


def find_layer(path):
    """The place in LAYERS of a file, given from the root; -1 for others."""
    name = re.sub(r"^(lib|include/mp-opt)/", "", path)
    fitting = [layer for layer in LAYERS if name.startswith(layer + "/")]
    return LAYERS.index(max(fitting, key=len)) if fitting else -1


def find_later_layer(root, path, header):
    """The layer behind its own that `path` reaches, or none."""
    own = find_layer(path.relative_to(root).as_posix())
    for base in (path.parent, root / "include", root / "lib"):
        target = pathlib.Path(os.path.normpath(base / header))
        if target.is_file() and target.is_relative_to(root):
            layer = find_layer(target.relative_to(root).as_posix())
            return LAYERS[layer] if layer > own >= 0 else None
    return None


def check_layers(root, place, path, header):
    later = find_later_layer(root, path, header)
    if later:
        yield f"{place}: '{header}' belongs to {later}, which stands behind"


def check_known_layers(root):
    """Every folder of lib has its place in the order."""
    for path in files(root, ["lib", "include/mp-opt"], CODE):
        name = path.relative_to(root).as_posix()
        if find_layer(name) < 0:
            yield f"{name}:1: its folder is not in LAYERS of project_rules.py"


def find_members(text, start):
    """The statements at the first level of a class whose body is at `start`."""
    depth, members = 1, ""
    for part in re.finditer(r"[{}]|[^{}]+", text[start:]):
        if part[0] == "{":
            depth += 1
        elif part[0] == "}":
            depth -= 1
            members += ";" if depth == 1 else ""
        elif depth == 1:
            members += part[0]
        if depth == 0:
            break
    members = re.sub(r"\b(?:public|private|protected)\s*:", "", members)
    return [member.strip() for member in members.split(";")]


def count_methods(members, name):
    count = 0
    for member in members:
        called = None if NO_METHOD.match(member) else CALLED.match(member)
        if called and called[1].lstrip("~") != name:
            count += "operator" not in called[0]
    return count


def find_classes(path):
    """The names and members of the classes of a header."""
    text = path.read_text(encoding="utf-8")
    text = STRING.sub('""', COMMENT.sub("", text))
    for found in CLASS.finditer(text):
        yield found[1], find_members(text, found.end())


def check_classes(root, _):
    sources = {}
    for path in files(root, CODE_FOLDERS, (".cpp",)):
        text = path.read_text(encoding="utf-8")
        for line in text.split("\n"):
            if include := INCLUDE.match(line):
                header = os.path.basename(include[1])
                sources.setdefault(header, []).append(text)
    for path in files(root, CODE_FOLDERS, (".h",)):
        place = path.relative_to(root).as_posix() + ":1"
        for name, members in find_classes(path):
            limits = MAX_METHODS, MAX_CLASS_LINES
            limits = LARGE_CLASSES.get(name, limits)
            methods = count_methods(members, name)
            if methods > limits[0]:
                yield f"{place}: '{name}' has {methods} methods, more than {limits[0]}"
            defined = re.compile(rf"^(?!\s)[^\n;=(]*\b{name}::~?\w+\(", re.M)
            lines = sum(
                text.count("\n")
                for text in sources.get(path.name, ())
                if defined.search(text)
            )
            if lines > limits[1]:
                yield (
                    f"{place}: the files that define methods of '{name}' have "
                    f"{lines} lines, more than {limits[1]}"
                )


def find_library(root, path):
    """The folder whose CMakeLists.txt names the file."""
    for folder in path.parents:
        if folder == root or (folder / "CMakeLists.txt").exists():
            return folder if folder != root else path.parent


def check_constants(root, _):
    places = {}
    for path in files(root, CODE_FOLDERS, (".cpp",)):
        text = path.read_text(encoding="utf-8")
        text = STRING.sub('""', COMMENT.sub(lambda c: "\n" * c[0].count("\n"), text))
        for found in CONSTANT.finditer(text):
            place = f"{path.relative_to(root).as_posix()}:" + str(
                text.count("\n", 0, found.start()) + 1
            )
            for name in re.findall(r"\b(\w+)(?:\[[^]]*\])?\s*=", found[0]):
                key = find_library(root, path), name
                other = places.setdefault(key, place)
                if other.split(":")[0] != place.split(":")[0]:
                    yield f"{place}: '{name}' is a constant of {other}, too"


def check_dependencies(root, _):
    yield from check_known_layers(root)
    for path in files(root, CODE_FOLDERS, (*CODE, ".td")):
        relative = path.relative_to(root).as_posix()
        for number, line in numbered_lines(path):
            place = f"{relative}:{number}"
            include = INCLUDE.match(line)
            if include:
                header = include.group(1)
                above = forbidden_layer(root, path, header)
                if above:
                    yield f"{place}: '{header}' belongs to {above}/"
                yield from check_layers(root, place, path, header)
                if header.startswith("onnx/") and not relative.startswith(
                    USES_ONNX
                ):
                    allowed = " and ".join(USES_ONNX)
                    yield f"{place}: '{header}': only {allowed} may"
            code = line.partition("//")[0]
            if not relative.startswith("tools/") and COMMAND_LINE_OPTION.search(
                code
            ):
                yield f"{place}: command line options belong to tools/"


def check_format(root, options):
    found = [str(p) for p in files(root, CODE_FOLDERS, CODE)]
    found += [str(p) for p in files(root, ["test", "fuzz", "python"], CODE)]
    if not found:
        return
    style = f"--style=file:{root / '.clang-format'}"
    action = ["-i"] if options.fix else ["--dry-run", "-Werror"]
    done = subprocess.run(
        [options.clang_format, style, *action, *found],
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in done.stderr.split("\n"):
        if ": error:" in line:
            yield os.path.relpath(line, root)
    if done.returncode != 0 and ": error:" not in done.stderr:
        yield f"{options.clang_format}: {done.stderr.strip()}"


def check_lifetimes(root, _):
    for path in files(root, CODE_FOLDERS, CODE):
        text = path.read_text(encoding="utf-8")
        for found in PART_OF_TEMPORARY.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            yield (
                f"{path.relative_to(root)}:{number}: a loop over a part of "
                "what a call returns: give the list a name"
            )


def check_map(root, _):
    name = "CONTRIBUTING.md"
    text = (root / name).read_text(encoding="utf-8")
    section = text.partition("\n## Where things are\n")[2]
    section = section.partition("\n## ")[0]
    # The rows of the map begin with the folders.
    rows = re.findall(r"^    (lib/[\w/]+(?:, lib/[\w/]+)*)", section, re.M)
    named = [folder for row in rows for folder in row.split(", ")]
    expected = [f"lib/{layer}" for layer in LAYERS if layer != "passes"]
    for folder in expected:
        if folder not in named:
            yield f"{name}:1: '{folder}' is not in the map"
    for folder in named:
        if folder not in expected:
            yield f"{name}:1: '{folder}' in the map is not in LAYERS"
    if sorted(named) == sorted(expected) and named != expected:
        yield f"{name}:1: the order of the map is not that of LAYERS"
    for folder in dict.fromkeys((*named, *expected)):
        public = folder.replace("lib/", "include/mp-opt/", 1)
        if not (root / folder).is_dir() and not (root / public).is_dir():
            yield f"{name}:1: '{folder}' in the map or LAYERS does not exist"


def check_marks(root, _):
    for path in files(root, CODE_FOLDERS, CODE):
        name = path.relative_to(root).as_posix()
        if "/Dialect/MP/" in name:
            continue
        for number, line in numbered_lines(path):
            if re.search(r'"mp\.[a-z]', line.partition("//")[0]):
                yield f"{name}:{number}: attributes of mp: see Dialect/MP"


def check_operators(root, _):
    known = set()
    for path in files(root, ["lib/Operators"], CODE):
        known.update(OPERATOR_ROW.findall(path.read_text(encoding="utf-8")))
    for path in files(root, CODE_FOLDERS, CODE):
        name = path.relative_to(root).as_posix()
        if NAMES_OPERATORS.search(name) or name in LISTS_OPERATORS:
            continue
        found = known & {
            word
            for _, line in numbered_lines(path)
            for word in NAME.findall(line.partition("//")[0])
        }
        if len(found) >= MANY_OPERATORS:
            yield (
                f"{name}:1: tells {len(found)} operators apart by name: ask "
                "lib/Operators"
            )


def check_pass_tests(root, _):
    tests = {path.name for path in files(root, ["test"], (".mlir",))}
    readme = (root / "passes/README.md").read_text(encoding="utf-8")
    for path in files(root, ["passes"], ("Passes.td",)):
        place = path.relative_to(root)
        # The split gives the text before the first pass, then pairs of a flag
        # and the text up to the next flag.
        parts = PASS.split(path.read_text(encoding="utf-8"))[1:]
        for flag, text in zip(parts[::2], parts[1::2]):
            if f"`{flag}`" not in readme:
                yield f"{place}: pass '{flag}' is not in passes/README.md"
            if flag + ".mlir" not in tests:
                yield f"{place}: pass '{flag}' has no test/**/{flag}.mlir"
            examples = EXAMPLES.search(text)
            if not examples:
                yield f"{place}: pass '{flag}' names no example"
                continue
            for name in re.findall(r"test/[\w./-]+\w", examples[1]):
                if not (root / name).is_file():
                    yield f"{place}: '{name}', an example of '{flag}': no file"


def check_runtime(root, _):
    folder = root / "include/mp-opt/Runtime"
    listed = (folder / "Functions.def").read_text(encoding="utf-8")
    for macro, header, is_whole in (
        ("MP_CODE_FUNCTION", "CompiledCode.h", False),
        ("MP_PUBLIC_FUNCTION", "Runtime.h", True),
    ):
        names = set(re.findall(rf"^{macro}\((\w+)\)", listed, re.M))
        text = (folder / header).read_text(encoding="utf-8")
        declared = set(re.findall(r"^\w[\w ]*[ *](\w+)\([^*]", text, re.M))
        for name in sorted(names - declared):
            yield f"Runtime/Functions.def: '{name}' is not in {header}"
        for name in sorted(declared - names if is_whole else ()):
            yield f"Runtime/{header}: '{name}' is not in Functions.def"


def check_shell(root, _):
    tools = [["bash", "-n"]]
    if shutil.which("shellcheck"):
        tools.append(["shellcheck", "-x", "--format=gcc"])
    for path in files(root, FOLDERS):
        if path.suffix != ".sh":
            with path.open("rb") as file:
                if not re.match(rb"#!.*\b(ba)?sh\b", file.readline()):
                    continue
        for tool in tools:
            done = subprocess.run(
                [*tool, path.relative_to(root)],
                cwd=root,
                capture_output=True,
                text=True,
            )
            if done.returncode != 0:
                yield (done.stdout + done.stderr).strip()


def check_spdx(root, _):
    for path in files(root, FOLDERS):
        head = path.open("rb").read(800).decode("utf-8", errors="replace")
        is_source = path.name.endswith(SOURCES) or head.startswith("#!")
        if is_source and LICENSE not in head:
            yield f"{path.relative_to(root)}:1: expected '{LICENSE}'"


def find_openers(path):
    """The numbers and first words of comments that begin with an OPENER."""
    mark = next(m for end, m in COMMENTS.items() if path.name.endswith(end))
    within = False
    for number, line in numbered_lines(path):
        start = mark.match(line)
        text = line[start.end() :].strip() if start else ""
        opener = OPENER.match(text)
        if opener and not within:
            yield number, opener[0]
        # An empty line of a comment, or a ruler, ends a paragraph.
        within = bool(re.search(r"\w", text))


def find_words(path, line):
    """Violations in the names and strings of a line."""
    has_messages = path.parts[0] in ("lib", "passes", "python", "tools")
    is_code = path.name.endswith((".c", *CODE, ".def", ".td"))
    if not is_code or not INCLUDE.match(line):
        strings = STRING.findall(line)
        line = STRING.sub('""', line).partition("//" if is_code else "#")[0]
        for text in strings:
            if has_messages and NO_NOUN.search(text):
                yield "a message says \"is no\": write \"is not a\""
    for name in dict.fromkeys(IDENTIFIER.findall(line)):
        if is_code and LIMIT.fullmatch(name):
            yield f"'{name}': limits are named maxX and minX"
        for pattern, new in REPLACEMENTS:
            if pattern.search(name):
                yield f"'{name}' is retired: see '{new}'"


def check_words(root, _):
    for path in files(root, FOLDERS, tuple(COMMENTS)):
        name = path.relative_to(root)
        for number, word in find_openers(path):
            yield f"{name}:{number}: a comment begins with '{word}'"
        for number, line in numbered_lines(path):
            for found in find_words(name, line):
                yield f"{name}:{number}: {found}"


RULES = {
    "classes": check_classes,
    "constants": check_constants,
    "dependencies": check_dependencies,
    "format": check_format,
    "lifetimes": check_lifetimes,
    "map": check_map,
    "marks": check_marks,
    "operators": check_operators,
    "pass-tests": check_pass_tests,
    "runtime": check_runtime,
    "shell": check_shell,
    "spdx": check_spdx,
    "words": check_words,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rule", choices=RULES)
    here = pathlib.Path(__file__).resolve()
    parser.add_argument("--root", type=pathlib.Path, default=here.parents[2])
    parser.add_argument("--clang-format", default="clang-format-22")
    parser.add_argument("--fix", action="store_true")
    options = parser.parse_args()
    violations = list(RULES[options.rule](options.root.resolve(), options))
    for violation in violations:
        print(violation)
    print(f"{options.rule}: {len(violations)} violations")
    if violations and options.rule == "format":
        print("the build target 'reformat' puts this right")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
