"""The dashboard's files as they are served."""

from __future__ import annotations

import json

from mockbroker.adapters.dashboard import FOLDER, HEADERS, STATIC, names, static_files


def test_each_file_is_served_with_a_policy_that_allows_its_own_files_alone():
    assert {f"{FOLDER}{path.name}" for path in STATIC.iterdir()} <= set(static_files())
    assert HEADERS["content-security-policy"].startswith("default-src 'self';")


def test_the_page_names_what_kafka_names():
    found = json.loads(static_files()[f"{FOLDER}names.json"].body)
    assert found == names()
    assert {"Fetch", "Produce", "ShareFetch"} & set(found["apis"]) >= {"Fetch", "Produce"}
    assert "NOT_LEADER_OR_FOLLOWER" in found["errors"]
    assert "NONE" not in found["errors"], "that is no error to inject"
    assert found["reasons"]["no_client_rack"]["avoidable"] == "yes"
