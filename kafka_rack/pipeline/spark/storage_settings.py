"""The settings of a session's Hadoop that reach object stores, for workers, which have no JVM to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_rack.storage import StorageSettings, use_settings
from kafka_rack.storage.settings import PREFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRETS = ("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token")
"""They may also be in Hadoop's credential stores, where only Hadoop finds them."""


def storage_settings(spark: SparkSession) -> StorageSettings:
    """What a session has set, by spark.hadoop.*, its Hadoop's files, its environment or credential stores."""
    from kafka_rack.pipeline.spark.session import is_remote

    if is_remote(spark):  # a client of Spark Connect does not see them
        return StorageSettings.of({})
    java = spark.sparkContext._jsc.hadoopConfiguration()
    found: dict[str, str] = {}
    for prefix in PREFIXES:
        inside = java.getPropsWithPrefix(prefix)
        found |= {f"{prefix}{name}": inside[name] for name in inside}
    if java.get("hadoop.security.credential.provider.path") is not None:
        for name in SECRETS:
            if (secret := java.getPassword(name)) is not None:
                found[name] = "".join(secret)
    return StorageSettings.of(found)


def use_settings_of(spark: SparkSession) -> StorageSettings:
    """Have this process reach stores as the session does; gives what tasks have to be given for the same."""
    settings = storage_settings(spark)
    use_settings(settings)
    return settings
