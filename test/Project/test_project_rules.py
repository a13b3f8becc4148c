# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every rule of project_rules.py finds a violation planted for it, and keeps
silent about the same tree without it."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import project_rules

SCRIPT = pathlib.Path(__file__).with_name("project_rules.py")
ROOT = SCRIPT.parents[2]
RULES = (
    "classes", "constants", "dependencies", "format", "lifetimes", "map", "marks",
    "operators", "pass-tests", "runtime", "shell", "spdx", "words",
)  # fmt: skip
SPDX = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"

FOLDERS_OF_LIB = [
    f"lib/{name}" for name in project_rules.LAYERS if name != "passes"
]
MAP = (
    "# Contributing\n\n## Where things are\n\nlib is in order.\n\n"
    + "".join(f"    {folder}  its files\n" for folder in FOLDERS_OF_LIB)
    + "\n## How to add\n\n    lib/None  not of the map\n"
)

# A small tree that keeps all rules.
CLEAN = {
    **{folder + "/CMakeLists.txt": "\n" for folder in FOLDERS_OF_LIB},
    "CONTRIBUTING.md": MAP,
    ".clang-format": "BasedOnStyle: LLVM\n",
    "include/mp-opt/Schema/Schema.h": SPDX + "int a;\n",
    "include/mp-opt/Runtime/Functions.def": SPDX
    + "MP_CODE_FUNCTION(mp_free)\nMP_PUBLIC_FUNCTION(mp_release)\n",
    "include/mp-opt/Runtime/CompiledCode.h": SPDX + "void mp_free(void *data);\n",
    "include/mp-opt/Runtime/Runtime.h": SPDX + "void mp_release(void *data);\n",
    "lib/Schema/Schema.cpp": SPDX
    + '#include "mp-opt/Schema/Schema.h"\n\n#include "onnx/defs/schema.h"\n',
    "lib/Target/ONNX/Import.cpp": SPDX
    + '#include "Conversion.h"\n#include "onnx/onnx_pb.h"\n',
    "lib/Target/ONNX/Conversion.h": SPDX,
    "passes/Precision/Passes.td": SPDX
    + 'def Classify : Pass<"mp-classify", "mlir::ModuleOp"> {\n'
    + "  let description = [{\n"
    + "    Example: test/Precision/mp-classify.mlir\n"
    + "  }];\n}\n",
    "passes/README.md": "`mp-classify`\n",
    "passes/Precision/Passes.h": SPDX,
    "passes/Precision/Classify.cpp": SPDX + '#include "Precision/Passes.h"\n',
    "passes/InitAllPasses.h": SPDX,
    "test/Precision/mp-classify.mlir": "// RUN: mp-opt %s\n",
    "tools/mp-opt/Driver.h": SPDX,
    "tools/mp-opt/main.cpp": SPDX
    + '#include "Driver.h"\n\n#include "InitAllPasses.h"\n\n'
    + "static llvm::cl::opt<int> level;\n",
    "scripts/run.sh": "#!/bin/bash\n# " + SPDX[3:] + "true\n",
}


def run(rule, changes, *options):
    """The rule's exit code and output on the clean tree with `changes`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**CLEAN, **changes}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        clang_format = os.environ.get("CLANG_FORMAT", "clang-format-22")
        done = subprocess.run(
            [sys.executable, "-B", SCRIPT, rule, "--root", folder, *options]
            + ["--clang-format", clang_format],
            capture_output=True,
            text=True,
        )
        texts = {
            name: pathlib.Path(folder, name).read_text() for name in changes
        }
        return done.returncode, done.stdout + done.stderr, texts


class ProjectRules(unittest.TestCase):
    def assert_found(self, rule, name, text, expected):
        code, output, _ = run(rule, {name: text})
        self.assertEqual(code, 1, output)
        self.assertIn(name, output)
        self.assertIn(expected, output)

    def test_clean_tree(self):
        for rule in RULES:
            code, output, _ = run(rule, {})
            self.assertEqual(code, 0, output)

    def test_dependencies(self):
        """A file, a line that it must not have, and the message."""
        schema = "lib/Schema/Schema.cpp"
        classify = "passes/Precision/Classify.cpp"
        of_passes, of_tools = "belongs to passes/", "belongs to tools/"
        option, own = "belong to tools/", "static llvm::cl::opt<bool> x;"
        onnx, border = "#include <onnx/onnx_pb.h>", "only lib/"
        later = "belongs to Target/ONNX, which stands behind"
        policy = "lib/Precision/Policy.cpp"
        above = "../../passes/Precision/Passes.h"
        for name, line, expected in (
            (policy, '#include "Precision/Passes.h"', of_passes),
            (policy, '#include "Precision/Passes.h.inc"', of_passes),
            (policy, '#include "InitAllPasses.h"', of_passes),
            (policy, '#include "passes/Precision/Passes.h"', of_passes),
            (policy, f'#include "{above}"', of_passes),
            (schema, '#include "../Target/ONNX/Conversion.h"', later),
            (schema, '#include "Driver.h"', of_tools),
            ("include/mp-opt/Schema/Schema.h", '#include "InitAllPasses.h"',
             of_passes),
            (classify, '#include "Driver.h"', of_tools),
            (classify, '#include "../../tools/mp-opt/Driver.h"', of_tools),
            ("lib/Dialect/ONNX/ONNXOps.cpp", onnx, border),
            ("lib/Target/Other.cpp", onnx, border),
            ("include/mp-opt/Schema/Schema.h", onnx, border),
            (classify, onnx, border),
            ("tools/mp-opt/main.cpp", onnx, border),
            (schema, own, option),
            (classify, own, option),
        ):
            with self.subTest(name=name, line=line):
                self.assert_found("dependencies", name, line + "\n", expected)

    def test_passes_stand_below_api(self):
        below = {"include/mp-opt/API/Model/Model.h": SPDX}
        text = SPDX + '#include "mp-opt/API/Model/Model.h"\n'
        for name in "passes/Precision/Own.cpp", "lib/Target/ONNX/Own.cpp":
            code, output, _ = run("dependencies", {**below, name: text})
            self.assertEqual(code, 1, output)
            self.assertIn(name, output)
            self.assertIn("belongs to API/Model, which stands behind", output)

    def test_api_includes_pass(self):
        text = SPDX + '#include "Precision/Passes.h"\n'
        code, output, _ = run("dependencies", {"lib/API/Model/Model.cpp": text})
        self.assertEqual(code, 0, output)

    def test_public_api_includes_pass(self):
        self.assert_found(
            "dependencies",
            "include/mp-opt/API/Model/Model.h",
            '#include "Precision/Passes.h"\n',
            "belongs to passes/",
        )

    def test_class_with_many_methods(self):
        methods = "".join(f"  void run{index}();\n" for index in range(26))
        text = SPDX + "class Own {\npublic:\n" + methods + "};\n"
        self.assert_found(
            "classes", "lib/Graph/Own.h", text, "'Own' has 26 methods"
        )

    def test_class_in_many_files(self):
        header = SPDX + "class Own {\n  Own();\n  int run() { return 1; }\n};\n"
        text = SPDX + '#include "Own.h"\nOwn::Own() {}\n' + "\n" * 320
        folder = "lib/Graph/"
        tree = {folder + name: text for name in ("A.cpp", "B.cpp")}
        for used in text, SPDX + "Own make();\n" + "\n" * 320:
            tree[folder + "B.cpp"] = used
            code, output, _ = run("classes", {folder + "Own.h": header, **tree})
            self.assertEqual(code, int(used == text), output)
        self.assertNotIn("methods", output)

    def test_constants_of_one_library(self):
        text = SPDX + "constexpr int64_t most = 3,\n    least = 1;\n"
        other = SPDX + "namespace {\nstatic const int least = 2;\n}\n"
        for name, found in ("lib/Graph/B.cpp", True), ("lib/Data/B.cpp", False):
            code, output, _ = run("constants", {"lib/Graph/A.cpp": text, name: other})
            self.assertEqual(code, int(found), output)
            self.assertEqual("'least' is a constant of" in output, found)

    def test_folder_without_place(self):
        self.assert_found(
            "dependencies", "lib/Drawer/A.cpp", SPDX, "is not in LAYERS"
        )

    def test_map_of_folders(self):
        missing = MAP.replace("    lib/Graph  its files\n", "")
        for text, expected in (
            (missing, "'lib/Graph' is not in the map"),
            (missing + MAP, "'lib/Graph' is not in the map"),
            (MAP.replace("Graph  ", "Graph, lib/None  "), "not in LAYERS"),
            (MAP.replace("Graph  ", "Graph, lib/None  "), "does not exist"),
            (
                missing.replace("lib/Support  ", "lib/Graph, lib/Support  "),
                "the order of the map is not that of LAYERS",
            ),
        ):
            self.assert_found("map", "CONTRIBUTING.md", text, expected)
        joined = "lib/Target/ONNX  its files\n    lib/Graph  "
        self.assertIn(joined, MAP)
        text = MAP.replace(joined, "lib/Target/ONNX, lib/Graph  ")
        code, output, _ = run("map", {"CONTRIBUTING.md": text})
        self.assertEqual(code, 0, output)

    def assert_words(self, name, good, bad, expected):
        self.assert_found("words", name, bad, expected)
        code, output, _ = run("words", {name: good})
        self.assertEqual(code, 0, output)

    def test_opener_of_a_comment(self):
        good = "{0} The ranks\n{0} Of which one waits.\n{0} Whatever fits.\n"
        for name, mark in (
            ("lib/Schema/New.cpp", "//"),
            ("include/mp-opt/Schema/New.h", "    ///"),
            ("passes/Graph/Passes.td", "//"),
            ("test/Run/lanes.c", "/*"),
            ("test/Run/test_new.py", "#"),
            ("scripts/new.sh", "  #"),
        ):
            words = ("What", "Of", "Where", "Those", "Who", "By", "Behind")
            bad = "".join(f"{mark} {word} waits.\n\n" for word in words)
            self.assert_words(name, good.format(mark), bad, "a comment begins")
            output = run("words", {name: bad})[1]
            for line, word in zip(range(1, 99, 2), words):
                self.assertIn(f"{name}:{line}: a comment begins with '{word}'", output)
            # A paragraph begins after an empty line or a ruler.
            for ruler in ("", " ---"):
                bad = f"{mark} One.\n{mark}{ruler}\n{mark} Of two.\n"
                self.assert_found("words", name, bad, f"{name}:3: a comment")

    def test_name_of_a_limit(self):
        name = "lib/Schema/New.cpp"
        good = "int maxRows, maxAtLeast, atMostZero; // mostRows\nS s = \"mostRows\";\n"
        for word in ("mostRows", "leastRows", "countMost", "getLeastSize"):
            self.assert_words(
                name, good, f"int {word};\n", f"{name}:1: '{word}': limits are"
            )

    def test_message_with_is_no(self):
        good = '"it is not a number", "it is no longer", "there is no file" // is no\n'
        for name in ("lib/A.cpp", "tools/A.cpp", "passes/Passes.td", "python/a.py"):
            for bad in ('"it is no number"', '"it is no "\n"number"'):
                self.assert_words(name, good, bad + "\n", "write \"is not a\"")
        code, output, _ = run("words", {"test/Run/test_a.py": '"it is no number"\n'})
        self.assertEqual(code, 0, output)

    def test_retired_name(self):
        table = {
            name.replace("s?", ""): new
            for name, new in project_rules.RETIRED.items()
        }
        good = "".join(
            f"{new} a; // {name}\n{name}er b;\n" for name, new in table.items()
        )
        for text in ("{} a;\n", '#include "{}.h"\n'):
            bad = "".join(text.format(name) for name in table)
            self.assert_words("lib/Schema/New.cpp", good, bad, "is retired")
            output = run("words", {"lib/Schema/New.cpp": bad})[1]
            for number, (name, new) in enumerate(table.items(), 1):
                self.assertIn(f":{number}: '{name}' is retired: see '{new}'", output)
        for name in ("getWeightSlot", "CutIdleTaps", "TypeSlots"):
            for file in ("passes/Passes.td", "python/a.py"):
                self.assert_found("words", file, f"{name}\n", f"'{name}' is retired")

    def test_mark_outside_its_dialect(self):
        text = 'auto a = op->getAttr("mp.class");\n'
        self.assert_found("marks", "lib/Schema/Schema.cpp", text, "Dialect/MP")

    def test_loop_over_part_of_a_temporary(self):
        loop = "for (Map map :\n     ArrayRef({}).drop_back())\n  use(map);\n"
        for text, code in ("op.getMaps()", 1), ("maps", 0):
            text = loop.format(text)
            found = run("lifetimes", {"lib/Schema/Schema.cpp": SPDX + text})
            self.assertEqual(found[0], code, found[1])

    def test_file_that_names_operators(self):
        names = [f"Op{letter}" for letter in "ABCDEFGH"]
        rows = "".join(f'    {{"{name}", other}},\n' for name in names)
        asks = "".join(f'bool x = is(op, "{name}");\n' for name in names)
        table = {"lib/Operators/StandardOperators.cpp": SPDX + rows}
        for text, code in (asks, 1), (asks.replace("OpA", "Own"), 0):
            found = run("operators", {**table, "lib/Schema/Schema.cpp": text})
            self.assertEqual(found[0], code, found[1])

    def test_function_that_is_not_listed(self):
        header = "include/mp-opt/Runtime/Runtime.h"
        text = SPDX + "void mp_release(void *data);\nint32_t mp_new(void);\n"
        expected = "Runtime.h: 'mp_new' is not in Functions.def"
        code, output, _ = run("runtime", {header: text})
        self.assertEqual((code, expected in output), (1, True), output)
        code, output, _ = run("runtime", {header: SPDX})
        expected = "Functions.def: 'mp_release' is not in Runtime.h"
        self.assertEqual((code, expected in output), (1, True), output)

    def test_pass_asks_for_the_machine(self):
        host = {"include/mp-opt/Codegen/Host/HostTarget.h": SPDX}
        text = SPDX + '#include "mp-opt/Codegen/Host/HostTarget.h"\n'
        for name in "passes/Precision/Own.cpp", "lib/Target/ONNX/Own.cpp":
            code, output, _ = run("dependencies", {**host, name: text})
            self.assertEqual(code, 1, output)
            self.assertIn("belongs to Codegen/Host", output)

    def test_option_in_a_comment(self):
        code, output, _ = run(
            "dependencies", {"lib/Schema/Schema.cpp": "// no cl::opt here\n"}
        )
        self.assertEqual(code, 0, output)

    def test_unformatted(self):
        name = "lib/Schema/New.cpp"
        self.assert_found("format", name, "int  a ;\n", "clang-format")
        code, _, texts = run("format", {name: "int  a ;\n"}, "--fix")
        self.assertEqual((code, texts[name]), (0, "int a;\n"))

    def test_pass_without_test(self):
        for base in ('Pass<"onnx-a", "Op">', 'GraphPass<"onnx-a">'):
            for expected in ("has no test", "is not in passes/README.md"):
                self.assert_found(
                    "pass-tests",
                    "passes/Graph/Passes.td",
                    f"def A : {base} {{}}\n",
                    f"'onnx-a' {expected}",
                )

    def test_pass_without_example(self):
        for text, message in (
            ("", "names no example"),
            ("Example: test/Graph/onnx-b.mlir", "'test/Graph/onnx-b.mlir', an"),
            (
                "Examples: test/Precision/mp-classify.mlir,\n"
                "    `test/Graph/onnx-b.mlir`.",
                "'test/Graph/onnx-b.mlir', an example of 'onnx-a': no file",
            ),
        ):
            self.assert_found(
                "pass-tests",
                "passes/Graph/Passes.td",
                'def A : Pass<"onnx-a"> {\n  let description = [{'
                f"\n    {text}\n  }}];\n}}\n",
                message,
            )

    def test_shell_syntax(self):
        for name in ("scripts/new.sh", ".ci/run"):
            text = "#!/bin/bash\nif true; then\n"
            self.assert_found("shell", name, text, "syntax error")

    def test_no_license(self):
        for name, text in (
            ("lib/Schema/New.cpp", "int a;\n"),
            ("scripts/new.sh", "true\n"),
            (".ci/run", "#!/bin/sh\n"),
            ("test/Precision/test_new.py", "pass\n"),
        ):
            self.assert_found("spdx", name, text, "SPDX")


class RepositoryIsWhatTheRulesExpect(unittest.TestCase):
    def test_passes_are_seen(self):
        """A pass that the rule cannot read would need no test."""
        for path in ROOT.glob("passes/*/Passes.td"):
            text = path.read_text()
            definitions = re.findall(r"^def \w+ *: *\w*Pass\b", text, re.M)
            flags = project_rules.PASS.findall(text)
            self.assertEqual(len(flags), len(definitions), path)

    def test_folders_exist(self):
        """A renamed folder would leave the rules with nothing to check."""
        for name in ("include", "lib", "passes", "tools", "lib/Schema"):
            self.assertTrue((ROOT / name).is_dir(), name)


if __name__ == "__main__":
    unittest.main()
