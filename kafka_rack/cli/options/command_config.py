"""``--command-config FILE``: Kafka's client properties in a file."""

from __future__ import annotations

from pathlib import Path

from kafka_rack.cli import UsageError
from kafka_rack.cli.command import Arguments, say
from mockbroker.adapters.client_properties.settings import ClientSettings, client_settings_of
from mockbroker.adapters.properties_file import PropertiesError, read_properties


def settings_with_notes(arguments: Arguments) -> ClientSettings:
    """The settings of ``--command-config``, if any; notes on them go to stderr unless ``--quiet`` is set."""
    path = arguments.command_config
    settings = client_settings_in(path) if path else ClientSettings()
    for note in settings.notes if not getattr(arguments, "quiet", False) else ():
        say(f"note: {path}: {note}")
    return settings


def client_settings_in(path: str) -> ClientSettings:
    """The settings in a file. Raises UsageError: it cannot be read, or says what cannot be; no secret is repeated."""
    try:
        properties = read_properties(Path(path))
    except PropertiesError as error:
        raise UsageError(f"--command-config {error}") from None
    try:
        return client_settings_of(properties)
    except ValueError as error:
        raise UsageError(f"--command-config {path}: {error}") from None
