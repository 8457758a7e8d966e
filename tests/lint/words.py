"""Words in pages, and beginnings of docstrings, that a native speaker would read twice.

docs/cli.md has the help of all commands, so their help is checked too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.lint.project import Check, Project

INSTEAD: dict[str, str] = {
    r"told|tells|is heard|are heard|hears of": "reports, notifies, says",
    r"given|is to have": "argument, set, with",
    r"is kept|are kept|was kept|were kept": "is stored, is retained",
    r"behind": "after, next; lagging",
    r"stands?|stood": "is, contains, means",
    r"settles?|lasting|story|makes? room|is room": "acknowledge; persistent; summary; capacity",
    r"nobody|somebody|whoever|(?<!served )(?<!served by )whom|everybody": "no client, the client, a request",
    r"what there is|those that there are|where there (?:is|are) (?:none|any)": "existing; if any",
    r"asks? for|(?:is|are|was|were) asked": "requests, requires",
    r"go(?:es)? on|went on|go(?:es)? by|anew|once more": "continues, resumes; uses; again",
    r"so many|so much|such(?! as\b)": "N, that many; these",
    r"mend(?:s|ed|ing)?|struck off|puts? down|in force": "fix, repair; unregistered; recorded; effective",
    r"is wanted|are wanted|will do": "expected; default",
    r"of before|made hours before|the aim is (?:missed|not met)": "what holds now",
    r"in place of": "instead of",
    r"before a (?:real )?cluster": "in front of a cluster",
    r"has to be there|that is there|that are there": "exists, existing",
}
"""Pattern of words -> what to write, as in the table of STYLE."""
PATTERNS = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): instead for words, instead in INSTEAD.items()}
NOT_PROSE = re.compile(r"```.*?```|<!--.*?-->|`[^`\n]*`|\]\([^)\n]*\)|<https?:[^>]*>|https?:\S+", re.DOTALL)
"""Code, comments and addresses."""
RIDDLE = re.compile(r'"""(?:What|Whether|Nothing|Who|Where) ')
PLAIN_FOLDERS = ("protocol", "kafka_rack", "mockbroker")


def prose(text: str) -> str:
    """A page without code, comments and addresses; lines keep their numbers.

    >>> prose("as `told` says\\n```\\nstands\\n```\\n[here](behind.md)")
    'as  says\\n\\n\\n\\n[here'
    """
    return NOT_PROSE.sub(lambda found: "\n" * found[0].count("\n"), text)


def pages_are_in_plain_english(project: Project) -> Iterator[str]:
    others = [path for path in ("CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md") if project.exists(path)]
    for page in [*project.pages(), *others]:
        for number, line in enumerate(prose(project.text(page)).splitlines(), start=1):
            for pattern, instead in PATTERNS.items():
                for found in pattern.finditer(line):
                    yield f"{page}:{number}: says {found[0]!r}; write {instead}"


def docstrings_say_it_first(project: Project) -> Iterator[str]:
    for path in project.files(*PLAIN_FOLDERS):
        for number, line in enumerate(project.text(path).splitlines(), start=1):
            if found := RIDDLE.search(line):
                yield f"{path}:{number}: begins with {found[0]!r}; write what is returned: 'The ..', 'True if ..'"


CHECKS: tuple[Check, ...] = (pages_are_in_plain_english, docstrings_say_it_first)
