"""Reads faults from a file: JSON, or YAML if PyYAML is installed. Errors name the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafka_rack.extras import pip_install
from mockbroker.core.faults.fault import Fault, parse_faults
from mockbroker.core.faults.reading import FaultError, shown

YAML_SUFFIXES = (".yaml", ".yml")


class FaultFileError(ValueError):
    """A file of faults that is invalid: the text has the file, the fault, the place in it, and what is expected."""


def faults_from_file(path: Path) -> list[Fault]:
    """The faults of a file, in their order: a list of them, or an object with the list under ``faults``.

    Those without an id are called fault-1, fault-2, ... Raises FaultFileError.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FaultFileError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise FaultFileError(f"{path}: expected UTF-8, got byte {error.object[error.start]:#x}") from None
    document = read_yaml(path, text) if path.suffix in YAML_SUFFIXES else read_json(path, text)
    try:
        return parse_faults(listed(document))
    except FaultError as error:
        raise FaultFileError(f"{path}: {error}") from None


def listed(document: object) -> list[Any]:
    """The faults of a document: a list, or an object with the list and no more. Raises FaultError."""
    found = document["faults"] if isinstance(document, dict) and document.keys() == {"faults"} else document
    if not isinstance(found, list):
        raise FaultError("", f"expected a list of faults, or an object with faults and no more, got {shown(document)}")
    return found


def read_json(path: Path, text: str) -> object:
    import json

    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        suffixes = " or ".join(YAML_SUFFIXES)
        raise FaultFileError(
            f"{path}: line {error.lineno}, column {error.colno}: cannot be read as JSON: "
            f"{error.msg[:1].lower()}{error.msg[1:]}; YAML is read from files that end in {suffixes}"
        ) from None
    except RecursionError:
        raise FaultFileError(f"{path}: expected a list of faults, got lists within lists without end") from None


def read_yaml(path: Path, text: str) -> object:
    try:
        import yaml
    except ImportError:
        raise FaultFileError(
            f"{path}: YAML needs PyYAML, which is not installed: {pip_install('yaml')}, or write it as JSON"
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise FaultFileError(f"{path}: {where}cannot be read as YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise FaultFileError(f"{path}: cannot be read as YAML: {error}") from None
