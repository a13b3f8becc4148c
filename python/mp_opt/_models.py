# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in the forms that users have them: paths, bytes, objects."""

from __future__ import annotations

import os

from ._errors import Error

# ONNX's protobuf cannot hold more bytes than this.
_LARGEST = 2**31 - 1


class Source:
    """A model to be read: ``content`` is a path (str) or bytes."""

    def __init__(self, model, name: str | None = None):
        self.is_path = False
        # Gives bytes the form that the model came in.
        self.wrap = lambda content: content
        if isinstance(model, (str, os.PathLike)):
            self.content = os.fspath(model)
            if not isinstance(self.content, str):
                self.content = os.fsdecode(self.content)
            if self.content == "-":
                raise Error("-: expected a path, got standard input", 2)
            self.is_path = True
            self.name = self.content
            self.wrap = _to_proto
            return
        self.name = name or "<model>"
        if isinstance(model, (bytes, bytearray, memoryview)):
            self.content = bytes(model)
            if not self.content:
                raise Error(f"{self.name}: expected a model, found 0 bytes")
            return
        self.content, self.wrap = _serialize(model)


def _to_proto(content: bytes):
    try:
        import onnx
    except ImportError:
        raise Error(
            "the package onnx is needed for a ModelProto: give output=, a path "
            "to write to, or the model as bytes",
            2,
        ) from None
    return onnx.load_model_from_string(content)


def _serialize(model):
    """Bytes of a ModelProto, an onnx_ir.Model or a torch.onnx.ONNXProgram, and
    what makes such a thing of bytes."""
    kind = type(model)
    if hasattr(model, "model_proto"):
        # torch.onnx.ONNXProgram
        return _serialize(model.model_proto)
    if hasattr(model, "SerializeToString") and kind.__name__ != "ModelProto":
        made = {
            "GraphProto": "onnx.helper.make_model(graph) makes a model of it",
            "FunctionProto": "a model has functions besides its graph",
        }.get(kind.__name__, "a model has its graph, opsets and version")
        raise TypeError(
            "expected a model as a path, bytes or onnx.ModelProto, got "
            f"onnx.{kind.__name__}: {made}"
        )
    if hasattr(model, "SerializeToString"):
        try:
            size = model.ByteSize()
        except Exception as error:
            raise Error(f"the model cannot be serialized: {error}") from None
        if size > _LARGEST:
            raise Error(
                f"a ModelProto of {size} bytes cannot be serialized, 2 GB are "
                "the most: save it with external data, and give its path"
            )

        def parse(content):
            made = kind()
            made.ParseFromString(content)
            return made

        try:
            return model.SerializeToString(), parse
        except Exception as error:
            raise Error(f"the model cannot be serialized: {error}") from None
    if kind.__module__.split(".")[0] == "onnx_ir":
        import onnx_ir

        content, _ = _serialize(onnx_ir.to_proto(model))
        return content, lambda made: onnx_ir.from_proto(_to_proto(made))
    raise TypeError(
        "expected a model as a path, bytes, onnx.ModelProto, onnx_ir.Model or "
        f"torch.onnx.ONNXProgram, got {kind.__module__}.{kind.__qualname__}"
    )
