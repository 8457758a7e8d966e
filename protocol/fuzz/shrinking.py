"""The smallest message, or the fewest bytes, that still shows a fault.

>>> from protocol.apis.metadata import MetadataRequest
>>> found = MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in ("a", "bb", "orders")])
>>> minimise(found, lambda one: any(len(topic.name) > 1 for topic in one.topics or []))
MetadataRequest(topics=[Topic(name='aa')])
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..declare import TAGS, declaration_of
from ..wire import ZERO_UUID, Array, FieldType

T = TypeVar("T")
MAX_TRIES = 2_000
ONE_BY_ONE = 12  # items up to which each is left out, and each is made smaller, in turn


def minimise(message: Any, fails: Callable[[Any], bool], most: int = MAX_TRIES) -> Any:
    """The smallest message found of which ``fails`` is still true, within ``most`` calls of it.

    Fields go to their defaults, arrays lose items, strings and numbers shrink; what comes out is smaller in no single
    step. The same message and the same answers give the same result.
    """
    return reduced(message, fails, smaller, most)


def minimise_bytes(data: bytes, fails: Callable[[bytes], bool], most: int = MAX_TRIES) -> bytes:
    """The same for bytes: pieces left out, the longest first, then bytes made zero."""
    return reduced(data, fails, smaller_data, most)


def reduced(value: T, fails: Callable[[T], bool], candidates: Callable[[T], Iterator[T]], most: int) -> T:
    """Take the first smaller one that still fails, as long as there is one."""
    tries = 0
    while True:
        for one in candidates(value):
            if tries >= most:
                return value
            tries += 1
            if fails(one):
                value = one
                break
        else:
            return value


def smaller(record: Any) -> Iterator[Any]:
    """Records in one respect smaller than this, the boldest steps first; one at all its defaults has none.

    No chain of them comes back to where it began: the default of a field counts as smaller than any other value.
    """
    kind = type(record)
    values = {name: getattr(record, name) for name in kind.__struct_fields__}
    changed = []
    for one in declaration_of(record).fields:
        default = one.fresh_default()
        if values[one.name] != default:
            changed.append(one)
            yield kind(**{**values, one.name: default})
    if values[TAGS]:
        yield kind(**{**values, TAGS: ()})
    for one in changed:
        for value in smaller_values(one.type, values[one.name]):
            yield kind(**{**values, one.name: value})
    for tags in smaller_tags(values[TAGS]):
        yield kind(**{**values, TAGS: tags})


def smaller_values(type_: Any, value: Any) -> Iterator[Any]:
    """Values of a field's type that are smaller than this."""
    if value is None:
        return
    if isinstance(type_, Array):
        yield from smaller_lists(type_.item, value)
    elif not isinstance(type_, FieldType):
        yield from smaller(value)
    elif isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int):
        yield from smaller_integers(value)
    elif isinstance(value, float):
        yield from (one for one in (0.0, 1.0) if abs(one) < abs(value))
    elif isinstance(value, str):
        yield from smaller_texts(value)
    elif type_.name == "uuid":
        yield from (one for one in (ZERO_UUID, bytes(15) + b"\1") if one < value)
    else:
        yield from smaller_data(value)


def smaller_integers(value: int) -> Iterator[int]:
    """Towards zero: all the way, half of it, a quarter and so on, to find an edge by halving; last one less."""
    size, sign = abs(value), 1 if value > 0 else -1
    step = size
    while step:
        yield sign * (size - step)
        step //= 2


def smaller_lists(item: Any, values: list[Any]) -> Iterator[list[Any]]:
    """Halves, then all but one, then one item smaller."""
    count = len(values)
    if count > 1:
        yield values[: count // 2]
        yield values[count // 2 :]
    if count:
        yield [] if count == 1 else values[:-1]
    if count <= ONE_BY_ONE:
        for at in range(count - 1):
            yield values[:at] + values[at + 1 :]
    for at in range(min(count, ONE_BY_ONE)):
        for one in smaller_values(item, values[at]):
            yield [*values[:at], one, *values[at + 1 :]]


def smaller_texts(value: str) -> Iterator[str]:
    """Halves, one character less, then plain characters."""
    if not value:
        return
    half = len(value) // 2
    yield from dict.fromkeys((value[:half], value[half:] if half else "", value[:-1], value[1:]))
    if value.strip("a"):
        yield "a" * len(value)
        for at, character in enumerate(value[:ONE_BY_ONE]):
            if character != "a":
                yield f"{value[:at]}a{value[at + 1 :]}"


def smaller_data(value: bytes) -> Iterator[bytes]:
    """All, then shorter and shorter pieces left out, then single bytes zero."""
    size = len(value)
    while size:
        for at in range(0, len(value), size):
            yield value[:at] + value[at + size :]
        size //= 2
    if value.strip(b"\0"):
        yield bytes(len(value))
        for at in range(len(value)):
            if value[at]:
                yield value[:at] + b"\0" + value[at + 1 :]


def smaller_tags(tags: tuple[tuple[int, bytes], ...]) -> Iterator[tuple[tuple[int, bytes], ...]]:
    """One tag less, or one without its bytes."""
    if len(tags) > 1:
        yield from (tags[:at] + tags[at + 1 :] for at in range(len(tags)))
    for at, (tag, data) in enumerate(tags):
        yield from ((*tags[:at], (tag, one), *tags[at + 1 :]) for one in smaller_data(data))
