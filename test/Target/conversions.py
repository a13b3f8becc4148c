# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A conversion of what may be no model."""

import onnx
from support import attempt


def convert(model, folder, *flags, **options):
    """Of a model, or the bytes of one: a result, or one error that says where,
    exit code 1, and an old output whole. Nothing else is written."""
    content = model if isinstance(model, bytes) else model.SerializeToString()
    source, output = folder / "m.onnx", folder / "out.onnx"
    source.write_bytes(content)
    output.write_bytes(b"old!")
    done = attempt(source, *flags, "-o", output, **options)
    assert done.returncode in (0, 1), done.stderr
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    if done.returncode:
        assert len(errors) == 1, done.stderr
        assert errors[0].startswith(f"{source}: error: ")
        assert output.read_bytes() == b"old!"
    else:
        assert not errors, done.stderr
        onnx.load(output)
    assert sorted(folder.iterdir()) == [source, output]
    return done
