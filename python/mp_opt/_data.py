# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data in the forms that users have them, as files."""

from __future__ import annotations

import os

from ._errors import UsageError


def is_arrays(data) -> bool:
    """True for a mapping of arrays, not of the names of files."""
    return hasattr(data, "items") and not all(
        isinstance(value, (str, os.PathLike)) for value in data.values()
    )


def data_paths(data, folder: str, what: str) -> list[str]:
    """Files with the data, those of arrays in `folder`: of a path, a mapping of
    arrays, or a list of such."""
    if hasattr(data, "items") or isinstance(data, (str, os.PathLike)):
        data = [data]
    made = []
    for number, part in enumerate(data):
        if not hasattr(part, "items"):
            made.append(os.fspath(part))
        elif is_arrays(part) or not part:
            made.append(_write(part, os.path.join(folder, f"{what}{number}.npz")))
        else:
            made += [f"{key}={os.fspath(file)}" for key, file in part.items()]
    if not made:
        raise UsageError(f"{what}: there are no data", 2)
    return made


def _write(arrays, path: str) -> str:
    import numpy

    numpy.savez(path, **{k: numpy.asarray(v) for k, v in arrays.items()})
    return path


class argument_files:
    """Arguments in which ``Ranges`` and data in arrays are files."""

    def __init__(self, arguments):
        self.arguments, self.folder = dict(arguments), None

    def _path(self) -> str:
        import tempfile

        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="mp_opt-")
        return self.folder.name

    def __enter__(self):
        made = self.arguments
        for name in ("calibrate", "data"):
            parts = _as_list(made.get(name))
            if any(is_arrays(part) for part in parts) or made.get(name) == []:
                made[name] = data_paths(made[name], self._path(), name)
        parts = _as_list(made.get("ranges"))
        if any(hasattr(part, "save") for part in parts):
            made["ranges"] = [
                self._save(part, number) if hasattr(part, "save") else part
                for number, part in enumerate(parts)
            ]
        return made

    def _save(self, ranges, number: int) -> str:
        path = os.path.join(self._path(), f"ranges{number}.json")
        ranges.save(path)
        return path

    def __exit__(self, *_):
        if self.folder:
            self.folder.cleanup()


def _as_list(value) -> list:
    return list(value) if isinstance(value, (list, tuple)) else [value]
