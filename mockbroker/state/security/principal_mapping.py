"""``ssl.principal.mapping.rules``: which name the subject of a client's certificate goes by.

The patterns are Java's. They are matched by RE2, which knows what rules of this kind use and takes no longer than the
name is long; a pattern with what only Java has, as a look-ahead or a backward reference, is refused.
Source: KIP-371; SslPrincipalMapper, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mockbroker.state.patterns import PatternError, compiled

RULE = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
RULE_SPLITTER = re.compile(rf"\s*({RULE})\s*(?:,\s*|$)")
RULE_PARSER = re.compile(RULE)
BLANKS = "".join(map(chr, range(33)))  # what Java's trim takes off


class NoMatchingRuleError(Exception):
    """A name to which no rule applies."""


@dataclass(slots=True, frozen=True)
class Rule:
    """One rule; without a pattern the name stays as it is. ``letters`` is "L", "U" or ""."""

    pattern: Any = None
    replacement: str = ""
    letters: str = ""

    def apply(self, name: str) -> str | None:
        """The name that a rule makes of one, None where it does not apply."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        result = "".join(replaced(self.pattern, self.replacement, name))
        return {"L": result.lower, "U": result.upper}.get(self.letters, lambda: result)()


@dataclass(slots=True, frozen=True)
class PrincipalMapping:
    """Rules, of which the first that applies counts."""

    rules: tuple[Rule, ...]

    def name(self, distinguished_name: str) -> str:
        """The name that a subject goes by. Raises NoMatchingRuleError."""
        for rule in self.rules:
            found = rule.apply(distinguished_name)
            if found is not None:
                return found
        raise NoMatchingRuleError(f"ssl.principal.mapping.rules: none applies to {distinguished_name}")


def parse_rules(text: str) -> PrincipalMapping:
    """The rules of a setting. Raises ValueError.

    >>> parse_rules("RULE:^CN=([^,]*),.*$/$1/L, DEFAULT").name("CN=Alice,O=Orders")
    'alice'
    """
    rules = []
    for found in RULE_SPLITTER.finditer(text.strip(BLANKS)):
        rule = found[1]
        match = RULE_PARSER.match(rule)
        assert match is not None  # its last branch takes anything
        if match.end() != len(rule):
            raise ValueError(
                f"ssl.principal.mapping.rules: Invalid rule: `{rule}`, unmatched substring: `{rule[match.end() :]}`"
            )
        if match[1] is not None:
            rules.append(Rule())
        elif match[2] is not None:
            rules.append(Rule(pattern_of(match[2]), match[3], match[4] or ""))
    return PrincipalMapping(tuple(rules))


def pattern_of(text: str) -> Any:
    try:
        return compiled(text)
    except PatternError as error:
        raise ValueError(f"ssl.principal.mapping.rules: cannot use the pattern {text!r}: {error}") from None


def replaced(pattern: Any, replacement: str, name: str) -> list[str]:
    """The pieces of a name with each match replaced, as Java's replaceAll does."""
    pieces, end = [], 0
    for match in pattern.finditer(name):
        pieces += [name[end : match.start()], filled_in(replacement, match)]
        end = match.end()
    return [*pieces, name[end:]]


def filled_in(replacement: str, match: Any) -> str:
    """A replacement with the groups that it names by ``$1``; one behind the last group stays as text."""
    last = match.re.groups
    result, at = "", 0
    while at < len(replacement):
        char = replacement[at]
        at += 1
        if char == "\\" and at < len(replacement):
            result += replacement[at]
            at += 1
        elif char == "$" and at < len(replacement) and replacement[at].isdecimal():
            group = int(replacement[at])
            if group > last:
                result += char
                continue
            at += 1
            while at < len(replacement) and replacement[at].isdecimal() and group * 10 + int(replacement[at]) <= last:
                group = group * 10 + int(replacement[at])
                at += 1
            result += match[group] or ""
        else:
            result += char
    return result
