"""pyarrow's file system for a URL's scheme and authority, by Hadoop's settings.

Where no credentials are set, each library looks for its own: environment, profile, the machine's role. HDFS is reached
by Hadoop's libhdfs, which workers find by HADOOP_HOME and CLASSPATH.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlsplit

from kafka_rack.extras import pip_install
from kafka_rack.storage.settings import StorageSettings

SCHEMES = ("abfs", "abfss", "gs", "hdfs", "s3", "s3a")
ANONYMOUS = "AnonymousAWSCredentialsProvider"
KEYS = ("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider")
ASSUMED_ROLE = "AssumedRoleCredentialProvider"


def check_scheme(scheme: str, url: str) -> None:
    """Raises ValueError: a scheme that workers cannot reach."""
    if scheme not in SCHEMES:
        known = ", ".join(f"{one}://" for one in SCHEMES)
        raise ValueError(f"{url}: expected a path of this machine or a URL of {known} or file:, got {scheme}://")


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
            host, _, port = authority.rpartition(":") if ":" in authority else (authority, "", "")
            return arrow.HadoopFileSystem(host or "default", int(port or (8020 if host else 0)))
        return arrow.AzureFileSystem(**azure_arguments(authority, settings))
    except (ImportError, AttributeError) as error:
        raise OSError(f"{scheme}:// is not in this build of pyarrow ({error})") from None


def s3_arguments(bucket: str, settings: StorageSettings) -> dict[str, Any]:
    """What S3FileSystem is given for a bucket: Hadoop's S3A settings in its words.

    >>> plain = {"fs.s3a.endpoint": "http://127.0.0.1:9000", "fs.s3a.path.style.access": "true"}
    >>> found = s3_arguments("trace", StorageSettings.of({**plain, "fs.s3a.endpoint.region": "eu-west-1"}))
    >>> {name: value for name, value in found.items() if value}
    {'region': 'eu-west-1', 'endpoint_override': '127.0.0.1:9000', 'scheme': 'http'}
    """

    def get(name: str) -> str | None:
        return settings.get(f"fs.s3a.{name}", bucket)

    endpoint = get("endpoint") or ""
    secure = settings.is_on("fs.s3a.connection.ssl.enabled", bucket, default=True)
    parts = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}", "https" if secure else "http")
    of_amazon = not parts.netloc or parts.netloc.endswith(("amazonaws.com", "amazonaws.com.cn"))
    found: dict[str, Any] = {
        "region": get("endpoint.region") or (region_of(parts.netloc) if of_amazon else "us-east-1"),
        "endpoint_override": None if of_amazon else parts.netloc,
        "scheme": parts.scheme,
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
    found: dict[str, Any] = {}
    if settings.get("fs.gs.auth.type") == "UNAUTHENTICATED":
        found["anonymous"] = True
    if (account := settings.get("fs.gs.auth.impersonation.service.account")) is not None:
        found["target_service_account"] = account
    if (project := settings.get("fs.gs.project.id")) is not None:
        found["project_id"] = project
    if (root := settings.get("fs.gs.storage.root.url")) is not None:
        parts = urlsplit(root)
        found |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    return found


def azure_arguments(authority: str, settings: StorageSettings) -> dict[str, Any]:
    """What AzureFileSystem is given for ``container@account.dfs.core.windows.net``.

    >>> azure_arguments("trace@us.dfs.core.windows.net", StorageSettings())
    {'account_name': 'us'}
    """
    host = authority.rpartition("@")[2]

    def get(name: str) -> str | None:
        return settings.get(f"fs.azure.{name}.{host}") or settings.get(f"fs.azure.{name}")

    found: dict[str, Any] = {"account_name": host.partition(".")[0]}
    if (key := get("account.key")) is not None:
        return {**found, "account_key": key}
    if (token := get("sas.fixed.token")) is not None:
        return {**found, "sas_token": token}
    client, secret = get("account.oauth2.client.id"), get("account.oauth2.client.secret")
    endpoint = get("account.oauth2.client.endpoint")
    if client is not None and secret is not None and endpoint is not None:
        tenant = urlsplit(endpoint).path.strip("/").partition("/")[0]
        return {**found, "client_id": client, "client_secret": secret, "tenant_id": tenant}
    return found
