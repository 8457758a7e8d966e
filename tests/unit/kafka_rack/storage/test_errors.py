"""What the libraries of stores say, as it is told: the texts are pyarrow's of stores that refused."""

from __future__ import annotations

import errno
import sys

import pytest

from kafka_rack.storage import StorageSettings, location
from kafka_rack.storage.errors import NO_CREDENTIALS, told
from kafka_rack.storage.filesystems import filesystem

NOT_TOLD = "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of "
GOOGLES_TOKEN = f"{NOT_TOLD}Could not create a OAuth2 access token to authenticate the request."
AZURES_CONTAINER = "UploadFrom failed for 'http://127.0.0.1/a/b'. Azure Error: [ContainerNotFound] 404 The specified"


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        (GOOGLES_TOKEN, errno.EACCES, NO_CREDENTIALS),
        (AZURES_CONTAINER, errno.ENOENT, "no such bucket"),
        ("Azure Error: [AuthorizationFailure] 403 Server failed to authenticate", errno.EACCES, NO_CREDENTIALS),
        ("AWS Error NETWORK_CONNECTION during ListObjectsV2", errno.ECONNREFUSED, "the store cannot be reached"),
    ],
)
def test_a_stores_error_is_told_in_plain_words(text, number, said):
    error = told(OSError(text), "gs://trace/x")
    assert (error.errno, error.strerror, error.filename) == (number, said, "gs://trace/x")


@pytest.mark.parametrize(
    ("module", "url", "said"),
    [
        ("pyarrow.fs", "s3a://no-pyarrow/x", r"what is not on this machine is read by pyarrow: pip install .*pyarrow"),
        ("hdfs_native.fsspec", "hdfs://no-hdfs-native/x", r"hdfs:// is read by hdfs-native: pip install .*hdfs-native"),
    ],
)
def test_a_package_that_is_missing_is_named_with_what_installs_it(monkeypatch, module, url, said):
    pytest.importorskip(module, reason=f"{module} is missing: make setup")
    monkeypatch.setitem(sys.modules, module, None)
    filesystem.cache_clear()
    with pytest.raises(OSError, match=said):
        location(url, StorageSettings()).exists()
