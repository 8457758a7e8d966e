"""How object stores are reached: Hadoop's settings by their own names, as the driver's session has them.

They hold secrets. They travel to workers inside tasks, and stand in no text that anybody reads.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

PREFIXES = (
    *("fs.s3a.", "fs.gs.", "fs.azure.", "google.cloud."),
    *("fs.defaultFS", "dfs.nameservices", "dfs.ha.namenodes.", "dfs.namenode.rpc-address", "dfs.client.failover."),
    *("dfs.client.use.datanode.hostname", "dfs.data.transfer.protection", "dfs.encrypt.data.transfer"),
)
"""Of the settings that matter here."""


class StorageSettings(msgspec.Struct, frozen=True):
    """Hadoop's settings; hashable, so that file systems are made once for each.

    >>> settings = StorageSettings.of({"fs.s3a.secret.key": "not shown", "dfs.replication": "3"})
    >>> settings, settings.get("fs.s3a.secret.key")
    (StorageSettings(fs.s3a.secret.key), 'not shown')
    """

    values: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, str]) -> StorageSettings:
        """Those of ``values`` that matter."""
        found = {name: value for name, value in values.items() if name.startswith(PREFIXES)}
        if found.get("fs.defaultFS", "").startswith("file:"):  # Hadoop's default
            del found["fs.defaultFS"]
        return cls(tuple(sorted(found.items())))

    def get(self, name: str, bucket: str | None = None) -> str | None:
        """A setting's value, that of one bucket of S3 first; None where it is not set or empty."""
        known = dict(self.values)
        if bucket is not None:
            own = known.get(f"fs.s3a.bucket.{bucket}.{name.removeprefix('fs.s3a.')}", "").strip()
            if own:
                return own
        return known.get(name, "").strip() or None

    def is_on(self, name: str, bucket: str | None = None, *, default: bool) -> bool:
        found = self.get(name, bucket)
        return default if found is None else found.lower() == "true"

    def __repr__(self) -> str:
        return f"StorageSettings({', '.join(name for name, _ in self.values)})"


class Current:
    """The settings of this process: a worker serves one session at a time."""

    settings = StorageSettings()


def use_settings(settings: StorageSettings) -> None:
    """Have locations that are made from now on reached by these settings."""
    Current.settings = settings


def current_settings() -> StorageSettings:
    return Current.settings
