from __future__ import annotations

import os
from pathlib import Path

import pytest

from mockbroker.access_control.key_file import MAX_BYTES, WatchedFile
from mockbroker.access_control.token_settings import SIGNED_HANDLER
from mockbroker.adapters.server import MockCluster

SECOND_NS = 1_000_000_000


def test_a_file_is_given_when_it_is_new_and_when_it_was_written_since(tmp_path: Path):
    path = tmp_path / "keys.json"
    path.write_text("one")
    file = WatchedFile(str(path))
    assert [file.changed(), file.changed()] == ["one", None]
    path.write_text("two")
    os.utime(path, ns=(SECOND_NS, SECOND_NS))
    assert [file.changed(), file.changed()] == ["two", None]


def test_what_is_no_small_text_is_refused(tmp_path: Path):
    with pytest.raises(OSError, match="absent"):
        WatchedFile(str(tmp_path / "absent")).changed()
    with pytest.raises(OSError, match="directory"):
        WatchedFile(str(tmp_path)).changed()
    path = tmp_path / "large"
    path.write_bytes(bytes(MAX_BYTES + 1))
    with pytest.raises(ValueError, match=f"expected a file of {MAX_BYTES} bytes or fewer"):
        WatchedFile(str(path)).changed()


def test_a_cluster_does_not_start_without_its_keys(tmp_path: Path):
    name = "listener.name.sasl_plaintext.oauthbearer"
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "issuer",
        f"{name}.sasl.jaas.config": "OAuthBearerLoginModule required;",
        f"{name}.sasl.server.callback.handler.class": SIGNED_HANDLER,
        f"{name}.sasl.oauthbearer.jwks.endpoint.url": f"file:{tmp_path}/keys.json",
    }
    with pytest.raises(ValueError, match=r"jwks\.endpoint\.url: .*No such file"):
        MockCluster(1, settings=settings)
    (tmp_path / "keys.json").write_text("[]")
    with pytest.raises(ValueError, match=r"jwks\.endpoint\.url: expected a JWKS"):
        MockCluster(1, settings=settings)
    (tmp_path / "keys.json").write_text('{"keys": []}')
    assert MockCluster(1, settings=settings).settings_without_effect == ()
