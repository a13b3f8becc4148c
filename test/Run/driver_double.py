# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulated driver under libcuda.so.1's name, and kernels for it."""

import pathlib
import shutil
import subprocess

import pytest

from libraries import emit
from support import MP_OPT

# The emulated driver with CUDA's names (test/Unit).
DOUBLE = pathlib.Path(MP_OPT).parents[1] / "test/Unit/cuda/emulated"
needs_double = pytest.mark.skipif(
    not (DOUBLE / "libcuda.so.1").exists() or not shutil.which("objcopy"),
    reason="needs the target emulated-cuda, and objcopy",
)


def emulated_kernels(tmp_path, model, *flags):
    """What the driver's double runs in the place of PTX."""
    emit(model, tmp_path / "kernels.o", "--device=emulated", *flags, form="obj")
    table = ("mp_emulated_kernels", "mp_emulated_kernel_count")
    subprocess.run(
        ["objcopy", *(f"--globalize-symbol={name}" for name in table),
         tmp_path / "kernels.o"],
        check=True,
    )
    # The other functions that the object refers to are never called.
    stubs = tmp_path / "stubs.c"
    names = ("mp_device_run", "mp_device_choose", "mp_device_release",
             "mp_open_emulated_driver")
    stubs.write_text("".join(f"int {name}(void) {{ return 0; }}\n"
                             for name in names))
    library = tmp_path / "kernels.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", stubs, tmp_path / "kernels.o",
         DOUBLE / "libcuda.so.1", f"-Wl,-rpath,{DOUBLE}", "-o", library],
        check=True,
    )
    return {
        "LD_LIBRARY_PATH": str(DOUBLE),
        "MPOPT_EMULATED_KERNELS": str(library),
        "MPOPT_EMULATED_LOG": str(tmp_path / "driver.log"),
    }
