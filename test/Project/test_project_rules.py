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
    "dependencies", "format", "lifetimes", "marks", "operators", "pass-tests",
    "runtime", "shell", "spdx",
)  # fmt: skip
SPDX = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"

# A small tree that keeps all rules.
CLEAN = {
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

    def test_lib_includes_pass(self):
        for header in (
            "Precision/Passes.h",
            "Precision/Passes.h.inc",
            "InitAllPasses.h",
            "passes/Precision/Passes.h",
            "../../passes/Precision/Passes.h",
        ):
            self.assert_found(
                "dependencies",
                "lib/Precision/Policy.cpp",
                f'#include "{header}"\n',
                "belongs to passes/",
            )

    def test_lib_includes_later_folder(self):
        self.assert_found(
            "dependencies",
            "lib/Schema/Schema.cpp",
            '#include "../Target/ONNX/Conversion.h"\n',
            "belongs to Target/ONNX, which stands behind",
        )

    def test_passes_stand_below_api(self):
        below = {"include/mp-opt/API/Model.h": SPDX}
        text = SPDX + '#include "mp-opt/API/Model.h"\n'
        for name in "passes/Precision/Own.cpp", "lib/Target/ONNX/Own.cpp":
            code, output, _ = run("dependencies", {**below, name: text})
            self.assertEqual(code, 1, output)
            self.assertIn(name, output)
            self.assertIn("belongs to API, which stands behind", output)

    def test_api_includes_pass(self):
        text = SPDX + '#include "Precision/Passes.h"\n'
        code, output, _ = run("dependencies", {"lib/API/Model.cpp": text})
        self.assertEqual(code, 0, output)

    def test_public_api_includes_pass(self):
        self.assert_found(
            "dependencies",
            "include/mp-opt/API/Model.h",
            '#include "Precision/Passes.h"\n',
            "belongs to passes/",
        )

    def test_folder_without_place(self):
        self.assert_found(
            "dependencies", "lib/Drawer/A.cpp", SPDX, "is not in LAYERS"
        )

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

    def test_lib_includes_tool(self):
        self.assert_found(
            "dependencies",
            "lib/Schema/Schema.cpp",
            '#include "Driver.h"\n',
            "belongs to tools/",
        )

    def test_public_header_includes_pass(self):
        self.assert_found(
            "dependencies",
            "include/mp-opt/Schema/Schema.h",
            '#include "InitAllPasses.h"\n',
            "belongs to passes/",
        )

    def test_pass_includes_tool(self):
        for header in ("Driver.h", "../../tools/mp-opt/Driver.h"):
            self.assert_found(
                "dependencies",
                "passes/Precision/Classify.cpp",
                f'#include "{header}"\n',
                "belongs to tools/",
            )

    def test_onnx_outside_of_its_border(self):
        for name in (
            "lib/Dialect/ONNX/ONNXOps.cpp",
            "lib/Target/Other.cpp",
            "include/mp-opt/Schema/Schema.h",
            "passes/Precision/Classify.cpp",
            "tools/mp-opt/main.cpp",
        ):
            self.assert_found(
                "dependencies", name, "#include <onnx/onnx_pb.h>\n", "only lib/"
            )

    def test_option_outside_of_tools(self):
        for name in ("lib/Schema/Schema.cpp", "passes/Precision/Classify.cpp"):
            self.assert_found(
                "dependencies",
                name,
                "static llvm::cl::opt<bool> x;\n",
                "belong to tools/",
            )

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
