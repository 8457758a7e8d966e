"""APIs that are refused here as by a broker: logging in where nobody has to, voters of a fixed quorum."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.story import Story

NEW_DIRECTORY = "aaaaaaaaaaaaaaaaaaaaaQ"
LISTENER = {"name": "CONTROLLER", "host": "127.0.0.1", "port": 9999}


@scenario("refused/logging in v{version}", versions="SaslHandshake")
def handshake(story: Story, version: int) -> None:
    for number, mechanism in enumerate(("PLAIN", "SCRAM-SHA-256", "", "no such", "x" * 300)):
        on = f"connection {number}"
        story.ask(f"{mechanism[:9]!r}", "SaslHandshake", version, {"mechanism": mechanism}, on=on)
        story.ask(f"{mechanism[:9]!r} again", "SaslHandshake", version, {"mechanism": mechanism}, on=on, to=number % 3)
        story.ask(f"after {mechanism[:9]!r}", "DescribeCluster", 0, {}, on=on)


@scenario("refused/authentication v{version}", versions="SaslAuthenticate")
def authentication(story: Story, version: int) -> None:
    for data in (b"", b"\0ann\0secret", b"x" * 1000):
        story.ask(f"{len(data)} bytes", "SaslAuthenticate", version, {"authBytes": data})
    story.ask("a handshake", "SaslHandshake", 1, {"mechanism": "PLAIN"})
    story.ask("after a handshake", "SaslAuthenticate", version, {"authBytes": b"\0ann\0secret"})


@scenario("refused/voters v{version}", versions="AddRaftVoter")
def voters(story: Story, version: int) -> None:
    cluster = story.quiet("DescribeCluster", 0, {})["clusterId"]
    for step, cluster_id in {"right": cluster, "another": "another", "no": None, "empty": ""}.items():
        for broker in (0, 2):
            for voter, directory in ((0, NEW_DIRECTORY), (1, NEW_DIRECTORY), (7, NEW_DIRECTORY), (-1, None)):
                request = {
                    "clusterId": cluster_id,
                    "timeoutMs": 1000,
                    "voterId": voter,
                    "voterDirectoryId": directory or "AAAAAAAAAAAAAAAAAAAAAA",
                    "listeners": [LISTENER] if directory else [],
                }
                name = f"{step} cluster, voter {voter}, at {broker}"
                story.ask(name, "AddRaftVoter", version, request, to=broker)
                story.ask(name, "RemoveRaftVoter", 0, request, to=broker)
