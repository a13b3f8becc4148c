# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How lit runs the tests of this folder.

ctest runs each of them; by hand, and with a file or a folder of this one:

    lit -v build/test/Precision/mp-classify.mlir

With `--param roundtrip=1` every mp-opt that a .mlir test calls also verifies
that the IR survives text and bytecode. ctest does so for the folders about the
IR, but not for tests of diagnostics, whose places change, nor for those with
resources, which get other names (DiscoverTests.cmake.in).

With `--param tools=FOLDER` the programs are those of another folder, of an
installed package, say.

Tests may use %python (with the packages of scripts/requirements-test.txt),
%training_python, %mp_plugin, %examples (that folder), and REQUIRES: mp-opt,
mlir-opt, test-venv, training-venv, roundtrip.
"""

import os
import shutil

import lit.formats

roundtrip = lit_config.params.get("roundtrip") == "1"

config.name = "mp-opt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".onnxtxt", ".test"]
config.excludes = ["Inputs", "Install", "Project", "models"]
if config.sanitize:
    # Sanitizers catch the signals themselves.
    config.excludes += ["internal-errors.test"]
config.test_source_root = config.source_root
config.test_exec_root = config.binary_root

# A whole word, not a part of a path or of another name.
tool = r"(?<![\w./%-])mp-opt(?![\w./-])"
if roundtrip:
    config.name += " (roundtrip)"
    config.suffixes = [".mlir"]
    config.test_exec_root = os.path.join(config.binary_root, "roundtrip")
    config.available_features.add("roundtrip")
    config.substitutions.append((tool, "mp-opt --verify-roundtrip"))

test_python = os.path.join(config.test_venv, "bin", "python")
training_python = os.path.join(config.training_venv, "bin", "python")
config.substitutions.append(("%python", test_python))
config.substitutions.append(("%training_python", training_python))
config.substitutions.append(("%mp_plugin", config.plugin))
examples = os.path.join(os.path.dirname(config.source_root), "examples")
config.substitutions.append(("%examples", examples))

# The tools under test, e.g. those of a package: --param tools=/usr/bin.
tools = lit_config.params.get("tools", config.tools_dir)
path = [tools, config.llvm_tools_dir, os.environ["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
# The first diagnostic is the subject, not its color.
config.environment["NO_COLOR"] = "1"
# Kept code is the tests' own, and shared by them.
code = os.path.join(os.path.dirname(config.binary_root), "test-code")
config.environment["MPOPT_CACHE_DIR"] = code
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"

for feature, found in {
    "mp-opt": shutil.which("mp-opt", path=config.environment["PATH"]),
    # A stock mlir-opt cannot load a plugin that needs the run time of sanitizers.
    "mlir-opt": not config.sanitize
    and shutil.which("mlir-opt", path=config.environment["PATH"]),
    "test-venv": os.access(test_python, os.X_OK),
    "training-venv": os.access(training_python, os.X_OK),
}.items():
    if found:
        config.available_features.add(feature)
