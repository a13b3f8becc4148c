# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plain records. namedtuple and dataclasses would do, but for what they import:
that is half of what `import mp_opt` takes."""

from __future__ import annotations


class Record(tuple):
    """A tuple whose fields, those of its class, have names."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *values):
        if len(values) != len(cls._fields):
            raise TypeError(f"expected {', '.join(cls._fields)}")
        return super().__new__(cls, values)

    def __init_subclass__(cls):
        for place, name in enumerate(cls._fields):
            setattr(cls, name, property(lambda self, place=place: self[place]))

    def __repr__(self) -> str:
        fields = zip(self._fields, self)
        text = ", ".join(f"{name}={value!r}" for name, value in fields)
        return f"{type(self).__name__}({text})"

    def __getnewargs__(self):
        return tuple(self)
