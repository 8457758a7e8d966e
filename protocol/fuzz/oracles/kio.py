"""kio as an oracle."""

import io
import re
from functools import cache
from typing import Any

from ...registry import named_class
from .base import Unfit


class KioOracle:
    """kio reads into frozen dataclasses; times it reads as ``datetime`` and ``timedelta``, so far dates do not fit.

    Raises: ImportError: kio is not installed.
    """

    name = "kio"

    def __init__(self) -> None:
        import kio.serial  # noqa: F401

    def supports(self, message: str, version: int) -> bool:
        return entity(message, version) is not None

    def rewritten(self, message: str, version: int, data: bytes) -> bytes:
        from kio.serial import entity_reader, entity_writer

        kind = entity(message, version)
        try:
            found, size = entity_reader(kind)(data, 0)
            out = io.BytesIO()
            entity_writer(kind)(out, found)
        except Exception as error:
            raise Unfit(f"{type(error).__name__}: {error}") from error
        if size != len(data):
            raise Unfit(f"{len(data) - size} bytes left over")
        return out.getvalue()


@cache
def entity(message: str, version: int) -> Any:
    """kio's class of a message at a version, None if it has none."""
    from kio.index import load_entity_schema
    from kio.static.constants import EntityType

    kind = named_class(message).kind
    name = re.sub("(Request|Response)$", "", message) if kind in ("request", "response") else message
    snake = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    try:
        return load_entity_schema(snake, version, EntityType[kind])  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001 - it has several ways to say that it knows no such message
        return None
