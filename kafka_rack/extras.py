"""Install instructions for optional parts, in words that work however this package was installed."""

from __future__ import annotations

import re

DISTRIBUTION = "kafka-rack"


def pip_install(extra: str) -> str:
    """The command that brings the packages of an extra of pyproject.toml, by their own names.

    The extra of a package that no index has could not be asked for by its name.

    >>> pip_install("yaml")
    'pip install "pyyaml>=6"'
    """
    from importlib.metadata import PackageNotFoundError, requires  # here, as only what is missing needs it

    try:
        known = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        known = []
    packages = packages_of(extra, known)
    if not packages:
        return f"pip install '.[{extra}]' in a clone of {DISTRIBUTION}"
    return f"pip install {' '.join(quoted(package) for package in packages)}"


def packages_of(extra: str, requirements: list[str]) -> list[str]:
    """Those of a distribution's requirements that belong to an extra.

    >>> packages_of("yaml", ["click>=8.2", "pyyaml>=6; extra == 'yaml'", "ruff; extra == 'dev'"])
    ['pyyaml>=6']
    """
    marker = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    split = (requirement.partition(";") for requirement in requirements)
    return [package.strip() for package, _, condition in split if marker.search(condition)]


def quoted(requirement: str) -> str:
    """A requirement as a shell takes it: ``>`` and ``[`` mean something to it."""
    return f'"{requirement}"' if re.search(r"[<>\[!~*]", requirement) else requirement
