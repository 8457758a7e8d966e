"""What pyarrow's file system of Azure is given: Hadoop's settings in its words, or what Azure's own tools read."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from kafka_rack.storage.settings import StorageSettings

DOMAIN = "dfs.core.windows.net"
CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
KEYS = ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY")
TOKEN = "AZURE_STORAGE_SAS_TOKEN"  # noqa: S105 # a variable's name


def azure_arguments(authority: str, settings: StorageSettings, *, secure: bool = True) -> dict[str, Any]:
    """What AzureFileSystem is given for ``container@account.dfs.core.windows.net``.

    Args:
        secure: the URL was of ``abfss``; ``abfs`` goes by TLS too, unless a setting says otherwise.

    >>> azure_arguments("trace@us.dfs.core.windows.net", StorageSettings.of({"fs.azure.account.key": "none"}))
    {'account_name': 'us', 'account_key': 'none'}
    >>> azure_arguments("trace@us.dfs.core.usgovcloudapi.net", StorageSettings())["blob_storage_authority"]
    '.blob.core.usgovcloudapi.net'
    >>> emulated = {"fs.azure.abfs.endpoint": "127.0.0.1:10000", "fs.azure.always.use.https": "false"}
    >>> found = azure_arguments("trace@us.dfs.core.windows.net", StorageSettings.of(emulated), secure=False)
    >>> found["blob_storage_authority"], found["blob_storage_scheme"]
    ('127.0.0.1:10000', 'http')
    """
    host = authority.rpartition("@")[2]
    account, _, domain = host.partition(".")
    found: dict[str, Any] = {"account_name": account}
    if (endpoint := settings.get("fs.azure.abfs.endpoint")) is not None:  # one address for all accounts
        found |= served_at(endpoint, "https")
    elif domain != DOMAIN:
        found["dfs_storage_authority"] = f".{domain}"
        found["blob_storage_authority"] = f".{domain.replace('dfs.', 'blob.', 1)}"
    if not secure and not settings.is_on("fs.azure.always.use.https", default=True):
        found |= {"dfs_storage_scheme": "http", "blob_storage_scheme": "http"}
    return found | (credentials(host, settings) or of_environment(account))


def served_at(authority: str, scheme: str) -> dict[str, Any]:
    """Both of an account's services at one address, as an emulator has them."""
    services = ("dfs", "blob")
    found = {f"{service}_storage_authority": authority for service in services}
    return found | {f"{service}_storage_scheme": scheme for service in services}


def credentials(host: str, settings: StorageSettings) -> dict[str, Any]:
    """A key, a token or a service principal, as Hadoop's settings have them for one account or for all."""

    def get(name: str) -> str | None:
        return settings.get(f"fs.azure.{name}.{host}") or settings.get(f"fs.azure.{name}")

    if (key := get("account.key")) is not None:
        return {"account_key": key}
    if (token := get("sas.fixed.token")) is not None:
        return {"sas_token": token}
    client, secret = get("account.oauth2.client.id"), get("account.oauth2.client.secret")
    tokens = get("account.oauth2.client.endpoint")
    if client is not None and secret is not None and tokens is not None:
        tenant = urlsplit(tokens).path.strip("/").partition("/")[0]
        return {"client_id": client, "client_secret": secret, "tenant_id": tenant}
    return {}


def of_environment(account: str) -> dict[str, Any]:
    """The variables of Azure's command line; pyarrow itself looks for a principal or the machine's identity alone."""
    connection = connection_of(os.environ.get(CONNECTION, ""))
    if connection.get("AccountName") == account:
        parts = urlsplit(connection.get("BlobEndpoint", ""))
        found = served_at(parts.netloc, parts.scheme) if parts.path.strip("/") == account else {}
        if "AccountKey" in connection:
            return {**found, "account_key": connection["AccountKey"]}
        if "SharedAccessSignature" in connection:
            return {**found, "sas_token": connection["SharedAccessSignature"]}
    if os.environ.get("AZURE_STORAGE_ACCOUNT", account) != account:
        return {}
    for name in KEYS:
        if os.environ.get(name):
            return {"account_key": os.environ[name]}
    return {"sas_token": os.environ[TOKEN]} if os.environ.get(TOKEN) else {}


def connection_of(text: str) -> dict[str, str]:
    """The parts of a connection string.

    >>> connection_of("AccountName=us;AccountKey=a2V5==;BlobEndpoint=http://127.0.0.1:10000/us")
    {'AccountName': 'us', 'AccountKey': 'a2V5==', 'BlobEndpoint': 'http://127.0.0.1:10000/us'}
    """
    pairs = (part.partition("=") for part in text.split(";") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}
