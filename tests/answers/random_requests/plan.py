"""What a random run will do, by seeds alone, and its text: ``4711:88-12-9.0.1``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

SEEDS = 1 << 30
Way = tuple[int, ...]
"""Where in a request something stands: indexes of fields and entries, from the outside inwards."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request: the seed that draws it, and entries of its lists that are left out, one after the other."""

    seed: int
    without: tuple[Way, ...] = ()

    def __str__(self) -> str:
        return "/".join([str(self.seed), *(".".join(map(str, way)) for way in self.without)])

    @classmethod
    def parse(cls, text: str) -> Turn:
        seed, *ways = text.split("/")
        return cls(int(seed), tuple(tuple(map(int, way.split("."))) for way in ways))


@dataclass(frozen=True, slots=True)
class Plan:
    """A seed for what is there at first, and the turns.

    >>> plan = Plan.parse("4711:88-12/1.0/2.1-9")
    >>> plan.turns[1]
    Turn(seed=12, without=((1, 0), (2, 1)))
    >>> str(plan)
    '4711:88-12/1.0/2.1-9'
    """

    seed: int
    turns: tuple[Turn, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.seed}:{'-'.join(map(str, self.turns))}"

    @classmethod
    def parse(cls, text: str) -> Plan:
        seed, _, turns = text.partition(":")
        return cls(int(seed), tuple(Turn.parse(one) for one in turns.split("-") if one))

    @classmethod
    def drawn(cls, seed: int, turns: int) -> Plan:
        random = Random(seed)
        return cls(random.randrange(SEEDS), tuple(Turn(random.randrange(SEEDS)) for _ in range(turns)))

    def only(self, turns: tuple[Turn, ...]) -> Plan:
        return replace(self, turns=turns)
