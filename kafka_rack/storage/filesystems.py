"""pyarrow's file system for a URL's scheme and authority, by Hadoop's settings.

Where no credentials are set, each library looks for its own: environment, profile, the machine's role. HDFS is reached
without Java, by hdfs-native, which reads HADOOP_CONF_DIR beside the settings of the session. Any other scheme is taken
that fsspec has a file system for, with whatever that finds by itself.
"""

from __future__ import annotations

import os
from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from kafka_rack.extras import pip_install
from kafka_rack.storage.azure import azure_arguments
from kafka_rack.storage.settings import StorageSettings

SCHEMES = ("abfs", "abfss", "gs", "hdfs", "s3", "s3a")
NO_STORES = frozenset({"file", "ftp", "github", "http", "https", "local", "memory"})
"""What fsspec knows that holds no folders of files for all workers, or cannot be written to."""
ANONYMOUS = "AnonymousAWSCredentialsProvider"
KEYS = ("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider")
MAX_ATTEMPTS = "3"
"""To reach a name node."""
GCS_TRIES = timedelta(seconds=20)
"""How long pyarrow tries again what failed for a moment, or cannot be reached; 15 minutes of its own."""
ASSUMED_ROLE = "AssumedRoleCredentialProvider"


def check_scheme(scheme: str, url: str) -> None:
    """Raises ValueError: a scheme that workers cannot reach."""
    if scheme in SCHEMES or of_fsspec(scheme) is not None:
        return
    known = ", ".join(f"{one}://" for one in SCHEMES)
    raise ValueError(
        f"{url}: expected a path of this machine or a URL of {known}, file: or what fsspec has a package installed for,"
        f" got {scheme}://"
    )


@cache
def of_fsspec(scheme: str) -> Any:
    """The class of fsspec's that holds such URLs; None where there is none, or it lacks its package."""
    if scheme in NO_STORES:
        return None
    try:
        from fsspec import get_filesystem_class

        return get_filesystem_class(scheme)
    except (ImportError, ValueError):
        return None


@cache
def filesystem(scheme: str, authority: str, settings: StorageSettings) -> Any:
    """The file system that holds such URLs; made once in a process. Raises OSError."""
    try:
        import pyarrow.fs as arrow
    except ImportError as error:
        raise OSError(f"what is not on this machine is read by pyarrow: {pip_install('spark')} ({error})") from None
    try:
        if scheme in {"s3", "s3a"}:
            return arrow.S3FileSystem(**s3_arguments(authority, settings))
        if scheme == "gs":
            return arrow.GcsFileSystem(**gcs_arguments(settings))
        if scheme == "hdfs":
            return from_fsspec(hdfs(authority, settings))
        if scheme not in SCHEMES:
            return from_fsspec(of_fsspec(scheme)())
        return arrow.AzureFileSystem(**azure_arguments(authority, settings, secure=scheme == "abfss"))
    except RuntimeError as error:  # of hdfs-native
        raise OSError(f"{scheme}://{authority}: {error}") from None
    except (ImportError, AttributeError) as error:
        raise OSError(f"{scheme}:// is not in this build of pyarrow ({error})") from None


def from_fsspec(found: Any) -> Any:
    """A file system of fsspec's as one of Arrow's."""
    import pyarrow.fs as arrow

    class Handler(arrow.FSSpecHandler):  # type: ignore[misc] # without types
        def get_file_info_selector(self, selector: Any) -> Any:
            try:
                return super().get_file_info_selector(selector)
            except NotADirectoryError:  # as it seems where the folder is made between two questions
                return super().get_file_info_selector(selector)

    return arrow.PyFileSystem(Handler(found))


def s3_arguments(bucket: str, settings: StorageSettings) -> dict[str, Any]:
    """What S3FileSystem is given for a bucket: Hadoop's S3A settings in its words.

    >>> plain = {"fs.s3a.endpoint": "http://127.0.0.1:9000", "fs.s3a.path.style.access": "true"}
    >>> found = s3_arguments("trace", StorageSettings.of({**plain, "fs.s3a.endpoint.region": "eu-west-1"}))
    >>> {name: value for name, value in found.items() if value}
    {'region': 'eu-west-1', 'endpoint_override': '127.0.0.1:9000', 'scheme': 'http', 'allow_delayed_open': True}
    """

    def get(name: str) -> str | None:
        return settings.get(f"fs.s3a.{name}", bucket)

    endpoint = get("endpoint") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    secure = settings.is_on("fs.s3a.connection.ssl.enabled", bucket, default=True)
    parts = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}", "https" if secure else "http")
    of_amazon = not parts.netloc or parts.netloc.endswith(("amazonaws.com", "amazonaws.com.cn"))
    elsewhere = os.environ.get("AWS_REGION", "us-east-1")
    found: dict[str, Any] = {
        "region": get("endpoint.region") or (region_of(parts.netloc) if of_amazon else elsewhere),
        "endpoint_override": None if of_amazon else parts.netloc,
        "scheme": parts.scheme,
        "allow_delayed_open": True,  # what is small is written by one request in place of three
    }
    if not of_amazon:
        found["force_virtual_addressing"] = not settings.is_on("fs.s3a.path.style.access", bucket, default=False)
    return found | s3_credentials(bucket, settings) | s3_proxy(bucket, settings)


def s3_credentials(bucket: str, settings: StorageSettings) -> dict[str, Any]:
    """Keys, a role or nobody, as S3A's list of providers has them; nothing leaves it to the library's own chain."""
    providers = settings.get("fs.s3a.aws.credentials.provider", bucket) or ""
    named = [one.strip().rpartition(".")[2] for one in providers.split(",") if one.strip()]
    role = settings.get("fs.s3a.assumed.role.arn", bucket)
    if ASSUMED_ROLE in named and role is not None:
        return {"role_arn": role, "session_name": settings.get("fs.s3a.assumed.role.session.name", bucket)}
    key, secret = (settings.get(f"fs.s3a.{name}", bucket) for name in ("access.key", "secret.key"))
    if key is not None and secret is not None and (not named or any(one in KEYS for one in named)):
        token = settings.get("fs.s3a.session.token", bucket)
        return {"access_key": key, "secret_key": secret, "session_token": token}
    return {"anonymous": True} if named == [ANONYMOUS] else {}


def s3_proxy(bucket: str, settings: StorageSettings) -> dict[str, Any]:
    host = settings.get("fs.s3a.proxy.host", bucket)
    if host is None:
        return {}
    secure = settings.is_on("fs.s3a.proxy.ssl.enabled", bucket, default=False)
    port = settings.get("fs.s3a.proxy.port", bucket) or ("443" if secure else "80")
    proxy: dict[str, Any] = {"scheme": "https" if secure else "http", "host": host, "port": int(port)}
    for name in ("username", "password"):
        if (value := settings.get(f"fs.s3a.proxy.{name}", bucket)) is not None:
            proxy[name] = value
    return {"proxy_options": proxy}


def region_of(host: str) -> str | None:
    """The region in the name of one of Amazon's endpoints; None leaves it to the library.

    >>> region_of("s3.eu-west-1.amazonaws.com"), region_of("s3.amazonaws.com"), region_of("")
    ('eu-west-1', None, None)
    """
    parts = host.split(".amazonaws.com", maxsplit=1)[0].split(".")
    return parts[-1] if len(parts) > 1 else None


def gcs_arguments(settings: StorageSettings) -> dict[str, Any]:
    """What GcsFileSystem is given. Key files are the library's own business: GOOGLE_APPLICATION_CREDENTIALS."""
    found: dict[str, Any] = {"retry_time_limit": GCS_TRIES}
    if settings.get("fs.gs.auth.type") == "UNAUTHENTICATED" or settings.is_on("fs.gs.auth.null.enable", default=False):
        found["anonymous"] = True
    if (account := settings.get("fs.gs.auth.impersonation.service.account")) is not None:
        found["target_service_account"] = account
    if (project := settings.get("fs.gs.project.id")) is not None:
        found["project_id"] = project
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")  # of all of Google's libraries, but that below pyarrow
    if (root := settings.get("fs.gs.storage.root.url")) is None and emulator:
        root = emulator if "://" in emulator else f"http://{emulator}"
        found["anonymous"] = True
    if root is not None:
        parts = urlsplit(root)
        found |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    return found


def hdfs(authority: str, settings: StorageSettings) -> Any:
    """HDFS as fsspec names it; ``authority`` is a name node, a name service, or nothing for that of the settings."""
    try:
        from hdfs_native.fsspec import HdfsFileSystem
    except ImportError as error:
        raise OSError(f"hdfs:// is read by hdfs-native: {pip_install('hdfs')} ({error})") from None

    class Replacing(HdfsFileSystem):
        """A move takes the place of what is there, in one step of the name node's; times are told as Arrow wants."""

        cachable = False

        def _convert_file_status(self, file_status: Any) -> dict[str, Any]:
            told: dict[str, Any] = super()._convert_file_status(file_status)
            return told | {"mtime": told["modification_time"] / 1000}

        def mv(self, path1: str, path2: str, **_given: Any) -> None:
            super().mv(path1, path2, overwrite=True)

    named = authority or urlsplit(settings.get("fs.defaultFS") or "").netloc
    host, _, port = named.partition(":")
    others = ("fs.s3a.", "fs.gs.", "fs.azure.", "google.cloud.")
    given = {"dfs.client.failover.max.attempts": MAX_ATTEMPTS}  # 15, with pauses that grow, of Hadoop's own
    given |= {name: value for name, value in settings.values if not name.startswith(others)}
    return Replacing(host or None, int(port) if port else None, **given)
