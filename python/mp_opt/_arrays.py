# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of others as tensors, and the reverse.

What can be read where it lies - numpy, and all that speaks DLPack - never comes
here on its way in, but for bfloat16 of ml_dtypes, which numpy does not know.
"""

from __future__ import annotations

import sys

from ._records import Record

BFLOAT16 = 16
# ONNX's numbers and names.
NAMES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32",
    7: "int64", 9: "bool", 10: "float16", 11: "float64", 12: "uint32",
    13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
    17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2",
    20: "float8_e5m2fnuz",
}  # fmt: skip
_BY_NAME = {name: number for number, name in NAMES.items()}


class Value(Record):
    """An input, output or state: None stands for sizes known in calls."""

    __slots__ = ()
    _fields = ("name", "dtype", "shape", "has_default")

    @property
    def type(self) -> str:
        """As onnxruntime has it: "tensor(float)"."""
        short = {"float32": "float", "float64": "double"}
        return f"tensor({short.get(self.dtype, self.dtype)})"


def describe(rows) -> tuple[Value, ...]:
    return tuple(
        Value(
            name,
            NAMES.get(number, f"type {number}"),
            tuple(None if size < 0 else size for size in sizes),
            has_default,
        )
        for name, number, sizes, has_default in rows
    )


def is_torch(value) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def prepare(value, name: str):
    """``(array, number of its type or 0)`` of what cannot be read where it
    lies."""
    what = f"input '{name}'" if name else "an input"
    if is_torch(value):
        if value.device.type != "cpu":
            raise TypeError(
                f"{what}: expected a tensor on the CPU, found one on "
                f"{value.device}"
            )
        if value.layout is not sys.modules["torch"].strided:
            raise TypeError(f"{what}: expected a dense tensor, found a sparse one")
        return value.detach().resolve_conj().resolve_neg().contiguous(), 0
    import numpy

    if hasattr(value, "__dlpack_device__") and not isinstance(
        value, numpy.ndarray
    ):
        device, _ = value.__dlpack_device__()
        if device != 1:
            raise TypeError(
                f"{what}: expected an array in the memory of the CPU, found "
                f"one on DLPack's device {int(device)}"
            )
    if value is None:
        raise TypeError(f"{what}: expected an array, found None")
    array = numpy.asarray(value)
    if array.dtype.kind in "OUS":
        raise TypeError(
            f"{what}: expected numbers, found elements of type {array.dtype}: "
            f'{name or "array"}.astype("float32") converts those that are numbers'
        )
    if not isinstance(value, numpy.ndarray) and array.dtype == "float64":
        if not hasattr(value, "dtype"):
            # Python's numbers have no type.
            array = array.astype("float32")
    array = numpy.ascontiguousarray(array).reshape(array.shape)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    number = _BY_NAME.get(array.dtype.name, 0)
    if not number:
        raise TypeError(f"{what}: found elements of type {array.dtype}")
    if array.dtype.name.startswith(("bfloat", "float8")):
        array = array.view(f"uint{8 * array.dtype.itemsize}")
    return array, number


def finish(rows, like_torch: bool) -> dict:
    """Arrays by their names; bfloat16 by ml_dtypes, where numpy has them."""
    made = {}
    for name, number, array in rows:
        if not like_torch and number >= BFLOAT16:
            try:
                import ml_dtypes
            except ImportError:
                raise TypeError(
                    f"output '{name}' is {NAMES[number]}, which numpy does not "
                    "have: install ml_dtypes"
                ) from None
            array = array.view(getattr(ml_dtypes, NAMES[number]))
        made[name] = array
    return made
