"""Pages out of templates (``templates/``), which escape whatever is not markup already.

They need nothing beside them: no script, no picture, no style sheet.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(template: str, **values: Any) -> str:
    """A page."""
    return environment().get_template(template).render(**values)


@cache
def environment() -> Environment:
    return Environment(
        loader=PackageLoader("kafka_rack"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def visible(given: Any) -> Any:
    """What an expression of a template shows: of names off the wire, all that cannot be seen is written out."""
    return given if isinstance(given, Markup) else seen(str(given))


def seen(given: str) -> str:
    r"""A text of which every character can be seen.

    >>> print(seen("a\x00\u202e"))
    a\x00\u202e
    """
    if given.isprintable():
        return given
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in given)
