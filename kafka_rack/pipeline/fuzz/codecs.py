"""A user's codec, named on the command line, to be tested against ours.

It is an object, or a class or function without arguments that returns one, with any of these:

* ``encode(message, version, value) -> bytes``: a message by Kafka's name, its value in Kafka's JSON form;
* ``decode(message, version, data) -> value``: the inverse;
* ``rewritten(message, version, data) -> bytes``: decodes a body, with any result type, and encodes it again;
* ``supports(message, version) -> bool``: True if it knows a message version; without it, all are supported;
* ``refusals``: the exceptions, one or a tuple, by which its decoder refuses malformed bytes. If set, damaged bytes may
  raise no others.

Each may raise :class:`protocol.fuzz.oracles.Unfit` for values that it cannot represent, which is counted and not a
failure.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

ABILITIES = ("encode", "decode", "rewritten")
WANTED = "MODULE:NAME or FILE.py:NAME"


class CodecError(Exception):
    """A codec that cannot be loaded or lacks a required function; one line."""


class CodecSource(msgspec.Struct, frozen=True):
    """The source of a codec, in a form that can be sent to another machine.

    For a file it contains the whole source; for a module its name, and a folder in which it may be found besides the
    installed packages.
    """

    spec: str
    name: str
    folder: str
    source: str | None = None

    @classmethod
    def parse(cls, spec: str, folder: Path) -> CodecSource:
        """Parse ``MODULE:NAME`` or ``FILE.py:NAME``.

        Raises: CodecError.
        """
        home, _, name = spec.rpartition(":")
        if not home or not name:
            raise CodecError(f"codec: expected {WANTED}, got {spec!r}")
        if not home.endswith(".py"):
            return cls(spec, name, str(folder))
        path = Path(home) if Path(home).is_absolute() else folder / home
        try:
            return cls(f"{path}:{name}", name, str(path.parent), path.read_text(encoding="utf-8"))
        except OSError as error:
            raise CodecError(f"{home}: {error.strerror}") from None

    def load(self) -> UserCodec:
        """Load the codec.

        Raises: CodecError.
        """
        try:
            module = self._module()
        except Exception as error:  # noqa: BLE001 - the user's module may raise anything
            raise CodecError(f"codec {self.spec}: {type(error).__name__}: {error}") from None
        found = module
        for part in self.name.split("."):
            if not hasattr(found, part):
                raise CodecError(f"codec {self.spec}: {getattr(found, '__name__', found)} has no {part!r}")
            found = getattr(found, part)
        return UserCodec(self.spec, found)

    def _module(self) -> ModuleType:
        home = self.spec.rpartition(":")[0]
        if self.source is None:
            if self.folder not in sys.path:
                sys.path.append(self.folder)  # as python -m does; an installed command does not search it
            return import_module(home)
        module = ModuleType(Path(home).stem)
        module.__file__ = home
        exec(compile(self.source, home, "exec"), module.__dict__)  # noqa: S102 - the user's own file
        return module


class UserCodec:
    """A loaded codec: its functions, None for missing ones.

    Raises: CodecError: it has no function.
    """

    def __init__(self, spec: str, found: Any) -> None:
        if isinstance(found, type) or (callable(found) and not any(hasattr(found, name) for name in ABILITIES)):
            try:
                found = found()
            except Exception as error:  # noqa: BLE001 - or the user's class
                raise CodecError(f"codec {spec}: {type(error).__name__}: {error}") from None
        abilities = {name: getattr(found, name, None) for name in ABILITIES}
        if not any(callable(ability) for ability in abilities.values()):
            raise CodecError(f"codec {spec} has none of {', '.join(ABILITIES)}")
        self.encode: Callable[[str, int, Any], bytes] | None = abilities["encode"]
        self.decode: Callable[[str, int, bytes], Any] | None = abilities["decode"]
        self.rewritten: Callable[[str, int, bytes], bytes] | None = abilities["rewritten"]
        supports = getattr(found, "supports", None)
        self.supports: Callable[[str, int], bool] = supports if callable(supports) else lambda message, version: True
        refusals = getattr(found, "refusals", ())
        self.refusals: tuple[type[BaseException], ...] = refusals if isinstance(refusals, tuple) else (refusals,)
