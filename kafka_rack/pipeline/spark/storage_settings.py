"""The settings of a session's Hadoop that reach object stores, for workers, which have no JVM to ask."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from py4j.protocol import Py4JJavaError

from kafka_rack.storage import Location, RemotePath, StorageSettings, location, named_url, use_settings
from kafka_rack.storage.settings import PREFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRETS = ("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token")
"""They may also be in Hadoop's credential stores, where only Hadoop finds them."""
PACKAGES = {
    "s3": "org.apache.hadoop:hadoop-aws:{}",
    "s3a": "org.apache.hadoop:hadoop-aws:{}",
    "abfs": "org.apache.hadoop:hadoop-azure:{}",
    "abfss": "org.apache.hadoop:hadoop-azure:{}",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.28",
}
"""What brings Hadoop a scheme, of Hadoop's own version."""
HOW_BROUGHT = {"gs": "spark.jars with its jar named shaded brings it"}
"""That jar has what Google's connector needs under names of its own, beside Spark's versions of the same."""
GOOGLES = "com.google.cloud.hadoop.fs.gcs"
CLASSES = {
    "gs": {
        "fs.gs.impl": f"{GOOGLES}.GoogleHadoopFileSystem",
        "fs.AbstractFileSystem.gs.impl": f"{GOOGLES}.GoogleHadoopFS",
    }
}
"""Settings of connectors that are not Hadoop's own, which it does not find among the jars of a session by itself."""
SAME_AS = {"s3": ("s3a",), "s3a": ("s3",)}
"""Hadoop's own name of S3 is s3a, that of Amazon's clusters s3."""


def storage_settings(spark: SparkSession) -> StorageSettings:
    """What a session has set, by spark.hadoop.*, its Hadoop's files, its environment or credential stores."""
    from kafka_rack.pipeline.spark.session import is_remote

    if is_remote(spark):  # a client of Spark Connect does not see them
        return StorageSettings.of({})
    java = spark.sparkContext._jsc.hadoopConfiguration()
    written = spark.sparkContext._jvm.com.fasterxml.jackson.databind.ObjectMapper()  # type: ignore[union-attr]
    found: dict[str, str] = {}
    for prefix in PREFIXES:  # each as one text: to ask for every name takes a quarter of a second
        inside = msgspec.json.decode(written.writeValueAsString(java.getPropsWithPrefix(prefix)), type=dict[str, str])
        found |= {f"{prefix}{name}": value for name, value in inside.items()}
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


def reached(spark: SparkSession, given: str | Path | RemotePath) -> Location:
    """A place of output, by the settings of a session.

    Raises: ValueError: a URL that nothing here reaches. OSError: its bucket is not there, or refuses.
    """
    use_settings_of(spark)
    place = location(given)
    if isinstance(place, RemotePath):
        place.check_bucket()
    return place


def known_to_spark(spark: SparkSession, given: str | Path | RemotePath) -> str:
    """A place that Spark itself reads or writes, as Hadoop names it.

    Raises OSError: this Spark lacks what reaches it; the text says which package brings it.
    """
    from kafka_rack.pipeline.spark.session import is_remote

    url = str(given)
    scheme = url.partition("://")[0]
    if not named_url(url) or is_remote(spark):
        return url
    hadoop = spark.sparkContext._jvm.org.apache.hadoop  # type: ignore[union-attr]
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in CLASSES.get(scheme, {}).items():
        settings.setIfUnset(name, value)
    for known in (scheme, *SAME_AS.get(scheme, ())):
        try:
            hadoop.fs.FileSystem.getFileSystemClass(known, settings)
        except Py4JJavaError:
            continue
        return f"{known}://{url.partition('://')[2]}"
    package = PACKAGES.get(scheme, "its connector for Hadoop").format(hadoop.util.VersionInfo.getVersion())
    how = HOW_BROUGHT.get(scheme, "--packages, or spark.jars, brings it")
    raise OSError(f"{url}: Spark itself needs {package} for {scheme}://: {how}")
