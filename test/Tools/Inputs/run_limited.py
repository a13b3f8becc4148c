# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command that may write no file of more than so many bytes."""

import resource
import subprocess
import sys

limit = int(sys.argv[1])


def set_limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


done = subprocess.run(sys.argv[2:], preexec_fn=set_limit)
print("exit code", done.returncode)
