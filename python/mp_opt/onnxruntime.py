# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The execution provider for onnxruntime: a library that its sessions load.

>>> import mp_opt.onnxruntime
>>> session = mp_opt.onnxruntime.session("model.onnx")  # doctest: +SKIP

``python -m mp_opt.onnxruntime`` prints the path of the library, which programs
in other languages register.
"""

from __future__ import annotations

import ctypes
import pathlib
import threading

import numpy

import mp_opt

NAME = "mp-opt"
_BFLOAT16 = 16
_REQUIRED = "onnxruntime 1.24 or later"
_lock = threading.Lock()


def get_library_path() -> str:
    """The path of the library, for ``RegisterExecutionProviderLibrary``."""
    path = pathlib.Path(__file__).with_name("libmp-opt-onnxruntime.so")
    if not path.exists():
        raise mp_opt.Error(f"{path}: expected the library of the provider")
    return str(path.resolve())


def get_ep_name() -> str:
    """The name of the provider, with which its options begin."""
    return NAME


def _onnxruntime():
    try:
        import onnxruntime
    except ImportError as error:
        raise mp_opt.NotSupportedError(
            f"there is no onnxruntime: install {_REQUIRED}", 4
        ) from error
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise mp_opt.NotSupportedError(
            f"onnxruntime {onnxruntime.__version__} has no providers in "
            f"libraries: install {_REQUIRED}",
            4,
        )
    return onnxruntime


def _devices(onnxruntime) -> list:
    return [
        device
        for device in onnxruntime.get_ep_devices()
        if device.ep_name == NAME
    ]


def register() -> list:
    """Registers the provider with onnxruntime, unless that is done, and returns
    its devices, for ``SessionOptions.add_provider_for_devices``."""
    onnxruntime = _onnxruntime()
    with _lock:
        devices = _devices(onnxruntime)
        if devices:
            return devices
        path = get_library_path()
        try:
            onnxruntime.register_execution_provider_library(NAME, path)
        except Exception as error:
            raise mp_opt.NotSupportedError(f"{path}: {error}", 4) from error
        return _devices(onnxruntime)


def session_options(options=None, **flags):
    """Adds the provider to ``onnxruntime.SessionOptions``, new ones if none are
    given, and returns them. ``flags`` are the options of the provider:
    ``cache``, ``excess_precision``, ``kernels``, ``max_sizes``, ``precision``
    and ``threads``."""
    devices = register()
    if options is None:
        options = _onnxruntime().SessionOptions()
    given = {}
    for name, value in flags.items():
        if value is None:
            continue
        text = str(int(value)) if isinstance(value, bool) else str(value)
        given[name.replace("_", "-")] = text
    options.add_provider_for_devices(devices, given)
    return options


def session(model, options=None, **flags):
    """An ``onnxruntime.InferenceSession`` with the provider. ``model`` is a path,
    bytes or an ``onnx.ModelProto``. An error of the provider is raised; sessions
    that are made otherwise print it and go on without the provider."""
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    return _onnxruntime().InferenceSession(
        model, session_options(options, **flags), enable_fallback=0
    )


def to_ort_value(array):
    """A numpy array as an ``onnxruntime.OrtValue``, also of the type bfloat16 of
    ml_dtypes, which ``InferenceSession.run`` does not take."""
    onnxruntime = _onnxruntime()
    array = numpy.asarray(array, order="C")
    if array.dtype.name != "bfloat16":
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        array.view(numpy.uint16), _BFLOAT16
    )


def to_numpy(value):
    """An ``onnxruntime.OrtValue`` as a numpy array; bfloat16 is the type of
    ml_dtypes."""
    if value.element_type() != _BFLOAT16:
        return value.numpy()
    import ml_dtypes

    shape = tuple(value.shape())
    count = int(numpy.prod(shape, dtype=numpy.int64))
    elements = (ctypes.c_uint16 * count).from_address(value.data_ptr())
    array = numpy.frombuffer(elements, numpy.uint16, count).copy()
    return array.view(ml_dtypes.bfloat16).reshape(shape)


def run(session, feeds) -> dict:
    """Runs a session on arrays by the names of its inputs, bfloat16 included;
    returns arrays by the names of its outputs."""
    values = {name: to_ort_value(array) for name, array in feeds.items()}
    names = [output.name for output in session.get_outputs()]
    results = session.run_with_ort_values(names, values)
    return {name: to_numpy(value) for name, value in zip(names, results)}


if __name__ == "__main__":
    print(get_library_path())
