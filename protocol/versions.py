"""Ranges of message versions, written as Kafka writes them: ``0-14``, ``9+``, ``3``, ``none``."""

from collections.abc import Iterator

NO_LIMIT = 32767  # versions are int16 on the wire


class VersionRange:
    """The versions ``lowest`` to ``highest``, both included; an empty range has ``lowest > highest``.

    >>> VersionRange.parse("9+").within(VersionRange.parse("0-14"))
    VersionRange('9-14')
    >>> 3 in VersionRange.parse("1-2"), list(VersionRange.parse("1-2")), str(VersionRange.parse("none"))
    (False, [1, 2], 'none')
    """

    __slots__ = ("highest", "lowest")

    def __init__(self, lowest: int, highest: int) -> None:
        self.lowest, self.highest = lowest, highest

    @classmethod
    def parse(cls, text: str) -> "VersionRange":
        """Read Kafka's notation.

        Raises: ValueError: the text is not of that form.
        """
        if text in ("none", ""):
            return NEVER
        if text.endswith("+"):
            return cls(int(text[:-1]), NO_LIMIT)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def within(self, other: "VersionRange") -> "VersionRange":
        """The versions that both ranges hold."""
        both = VersionRange(max(self.lowest, other.lowest), min(self.highest, other.highest))
        return both or NEVER

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __len__(self) -> int:
        return max(0, self.highest - self.lowest + 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VersionRange) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.highest == NO_LIMIT:
            return f"{self.lowest}+"
        return f"{self.lowest}" if self.lowest == self.highest else f"{self.lowest}-{self.highest}"

    def __repr__(self) -> str:
        return f"VersionRange({str(self)!r})"


NEVER = VersionRange(0, -1)
