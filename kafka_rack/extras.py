"""Install instructions for optional parts, which work however this package was installed."""

from __future__ import annotations

import re

DISTRIBUTION = "kafka-rack"


def pip_install(extra: str) -> str:
    """The command that installs the packages of an extra of pyproject.toml, by their own names.

    The extra itself cannot be installed by name if no index has this package.

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
    """The requirements of a distribution that belong to an extra.

    >>> packages_of("yaml", ["click>=8.2", "pyyaml>=6; extra == 'yaml'", "ruff; extra == 'dev'"])
    ['pyyaml>=6']
    """
    marker = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    split = (requirement.partition(";") for requirement in requirements)
    return [package.strip() for package, _, condition in split if marker.search(condition)]


def quoted(requirement: str) -> str:
    """A requirement quoted for a shell, to which ``>`` and ``[`` are special."""
    return f'"{requirement}"' if re.search(r"[<>\[!~*]", requirement) else requirement
