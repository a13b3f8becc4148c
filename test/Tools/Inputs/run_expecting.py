# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command that must end with this exit code, and with no other."""

import subprocess
import sys

code = subprocess.call(sys.argv[2:])
if code != int(sys.argv[1]):
    sys.exit(f"expected exit code {sys.argv[1]}, got {code}")
