"""ApiVersions: what is served, features, names of client software, versions that do not exist; pipelined requests."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Story, name_of

SOFTWARE = {"clientSoftwareName": "parity", "clientSoftwareVersion": "1.0"}


@scenario("api versions v{version}", versions="ApiVersions")
def api_versions(story: Story, version: int) -> None:
    def ask(step: str, to: int = 0, on: str = "main", only: Any = None, **fields: Any) -> Any:
        return story.ask(step, "ApiVersions", version, SOFTWARE | fields, to=to, on=on, only=only)

    ask("APIs of broker 0", only=apis_of)
    ask("APIs of broker 2", to=2, only=apis_of)
    ask("besides the APIs", only=without_apis)
    ask("again", only=without_apis)
    if version >= 3:
        for number, (name, told) in enumerate(
            [
                ("", "1.0"),
                ("parity", ""),
                ("", ""),
                ("a b", "1.0"),
                ("parity", "1 0"),
                ("-parity", "1.0"),
                ("parity-", "1.0"),
                ("parity", ".1"),
                ("parity", "1.0-"),
                ("a", "1"),
                ("ü", "1.0"),
                ("a_b", "1.0"),
                ("a-b.c", "1.0-x.2"),
                ("x" * 300, "1.0"),
            ]
        ):
            step = f"name {name[:10]!r} version {told!r}"
            ask(step, on=f"c{number}", only=without_apis, clientSoftwareName=name, clientSoftwareVersion=told)
    if version >= 5:
        cluster = story.quiet("DescribeCluster", 0, {})["clusterId"]
        for step, fields in {
            "right cluster and broker": {"clusterId": cluster, "nodeId": 0},
            "another broker": {"clusterId": cluster, "nodeId": 1},
            "another cluster": {"clusterId": "another", "nodeId": 0},
            "empty cluster": {"clusterId": "", "nodeId": 0},
            "only the cluster": {"clusterId": cluster},
            "only another cluster": {"clusterId": "another"},
            "only the broker": {"nodeId": 0},
            "only another broker": {"nodeId": 2},
            "broker -2": {"clusterId": cluster, "nodeId": -2},
        }.items():
            ask(step, on=step, only=without_apis, **fields)
            ask(f"{step}, again", on=step, only=without_apis)


def apis_of(answer: Any) -> Any:
    """The versions of each API, by its name."""
    return {"apis": {name_of(one["apiKey"]): f"{one['minVersion']}-{one['maxVersion']}" for one in answer["apiKeys"]}}


def without_apis(answer: Any) -> Any:
    """What a version answers besides the APIs; the epoch of features only as being there."""
    kept = {name: value for name, value in answer.items() if name != "apiKeys"}
    kept["has apis"] = len(answer["apiKeys"]) > 1
    if "finalizedFeaturesEpoch" in kept:
        kept["finalizedFeaturesEpoch"] = kept["finalizedFeaturesEpoch"] >= 0
    return kept


@scenario("api versions/too new")
def too_new(story: Story) -> None:
    for version in (6, 99):
        body = bytes([7, *b"parity", 4, *b"1.0", 0])
        frame = (18).to_bytes(2) + version.to_bytes(2) + (77).to_bytes(4) + (2).to_bytes(2) + b"me" + b"\0" + body
        story.driver.send(0, f"v{version}", frame)
        answer = story.driver.received(0, f"v{version}", 77, 10_000)
        story.keep("asked", "ApiVersions", version, {}, {"bytes": (answer or b"").hex()})


@scenario("api versions/pipelined")
def pipelined(story: Story) -> None:
    asked = [
        story.begin("number 0", "ApiVersions", 0, {}, only=counts),
        story.begin("number 1", "Metadata", 1, {"topics": []}, only=counts),
        story.begin("number 3", "DescribeCluster", 0, {}, only=counts),
    ]
    for one in reversed(asked):
        one.answer()
    story.ask("null client id", "Metadata", 1, {"topics": []}, client_id=None)
    story.client_id = ""
    story.ask("empty client id", "Metadata", 9, {"topics": []})


def counts(answer: Any) -> Any:
    return {"errorCode": answer.get("errorCode"), "brokers": len(answer.get("brokers", []))}


@scenario("unknown apis")
def unknown_apis(story: Story) -> None:
    """Keys and versions that a broker does not have: the connection is closed."""
    for key, version in (
        (0, 2),
        (0, 14),
        (1, 3),
        (1, 19),
        (3, 14),
        (4, 0),
        (6, 8),
        (7, 0),
        (11, 10),
        (19, 1),
        (999, 0),
    ):
        head = key.to_bytes(2) + version.to_bytes(2) + (77).to_bytes(4) + (2).to_bytes(2) + b"me"
        story.driver.send(0, f"{key}-{version}", head + bytes(20))
        answer = story.driver.received(0, f"{key}-{version}", 77, 10_000)
        story.keep(f"key {key}", "Unknown", version, {}, {"closed": answer == b""})
