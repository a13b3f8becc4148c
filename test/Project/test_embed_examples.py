# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages get the examples that they name, once, whatever these hold."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "embed_examples.py"
PAGE = """### `-onnx-a`

What it does.

Example: test/Graph/onnx-a.mlir

#### Options
"""


def run(folder):
    return subprocess.run(
        [sys.executable, "-B", SCRIPT, folder, "--root", folder],
        capture_output=True,
        text=True,
    )


class PagesHaveExamples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def embed(self, page):
        path = self.write("docs/Graph.md", page)
        done = run(self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return path

    def test_example(self):
        self.write("test/Graph/onnx-a.mlir", "// RUN: a\nmodule {}\n")
        path = self.embed(PAGE)
        self.assertEqual(
            path.read_text(),
            PAGE.replace(
                "onnx-a.mlir\n",
                "onnx-a.mlir\n\n`test/Graph/onnx-a.mlir`:\n\n"
                "```mlir\n// RUN: a\nmodule {}\n```\n",
            ),
        )

    def test_examples(self):
        """Several of them, and marks around their names."""
        for name in ("a", "b"):
            self.write(f"test/Graph/{name}.mlir", f"// {name}\n")
        path = self.embed(
            "Examples: test/Graph/a.mlir,\n`test/Graph/b.mlir`.\n"
        )
        text = path.read_text()
        self.assertLess(text.index("// a\n"), text.index("// b\n"))

    def test_again(self):
        """What was there is replaced; a fence is longer than what it holds."""
        self.write("test/Graph/onnx-a.mlir", "// ```\nold\n")
        path = self.embed(PAGE)
        once = path.read_text()
        self.assertIn("````mlir\n// ```\nold\n````\n", once)
        self.assertEqual(run(self.folder).returncode, 0)
        self.assertEqual(path.read_text(), once)
        self.write("test/Graph/onnx-a.mlir", "new\n")
        self.assertEqual(run(self.folder).returncode, 0)
        self.assertNotIn("old", path.read_text())
        self.assertIn("new\n", path.read_text())
        self.assertIn("#### Options\n", path.read_text())

    def test_no_file(self):
        self.write("docs/Graph.md", PAGE)
        done = run(self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("onnx-a.mlir: No such file", done.stdout)


if __name__ == "__main__":
    unittest.main()
