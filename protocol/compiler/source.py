"""Source code as it grows: lines, indentation, fresh names, and the objects that it refers to."""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from construct import Construct

from ..wire import NullableRecord, RecordStruct


class Refused(Exception):
    """Raised by compiled code itself; the reference codec then finds the words."""


class GeneratedSource:
    """Python under construction; ``namespace`` holds what it refers to, ``entry`` names the function it is for."""

    def __init__(self, entry: str) -> None:
        self.entry = entry
        self.namespace: dict[str, Any] = {"Refused": Refused}
        self.lines: list[str] = []
        self.depth = 0
        self.count = 0

    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines) + "\n"

    def add(self, *lines: str) -> None:
        """Append lines at the present indentation."""
        self.lines += ["    " * self.depth + line for line in lines]

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Append ``opening`` and indent what follows."""
        self.add(opening)
        self.depth += 1
        yield
        self.depth -= 1

    def fresh(self, stem: str) -> str:
        """A variable name not used before."""
        self.count += 1
        return f"{stem}{self.count}"

    def run(self, label: str) -> Callable[..., Any]:
        """Compile it, and give the function that it is for."""
        exec(compile(self.text(), f"<{label}>", "exec"), self.namespace)
        made: Callable[..., Any] = self.namespace[self.entry]
        return made

    def refer(self, stem: str, value: Any) -> str:
        """A name for an object, the same for the same object."""
        for name, known in self.namespace.items():
            if known is value:
                return name
        name = self.fresh(f"_{stem}")
        self.namespace[name] = value
        return name

    def struct(self, method: str, codes: str) -> str:
        """A name for a bound method of ``struct.Struct``, one a format."""
        name = f"_{method}_{codes.replace('?', 'o')}"  # no format has an o of its own
        if name not in self.namespace:
            self.namespace[name] = getattr(struct.Struct(">" + codes), method)
        return name

    def literal(self, value: Any) -> str:
        """An expression for a default value, new at each evaluation where it could be changed in place."""
        if isinstance(value, (list, tuple)) and not value:
            return "[]"
        if isinstance(value, bytes):
            return self.refer("bytes", value)  # the very object, so that it is seen to be the default
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        if isinstance(value, float):
            return f"float({str(value)!r})"
        return f"{self.refer(type(value).__name__, type(value))}()"

    def tagged_default(self, construct: Construct, default: Any) -> str:
        """An expression for the default of a tagged field, which a layout holds as a container."""
        record = construct.subcon if isinstance(construct, NullableRecord) else construct
        return self.literal(record.record() if isinstance(record, RecordStruct) and default is not None else default)

    def constant(self, construct: Construct, default: Any) -> str:
        """The same to compare with: one object for all times, so not to be given away."""
        if isinstance(construct, NullableRecord):
            construct = construct.subcon
        if isinstance(construct, RecordStruct) and default is not None:
            default = construct.record()
        if default is None or type(default) in (bool, int, str):
            return repr(default)
        return self.refer("default", list(default) if isinstance(default, (list, tuple)) else default)
