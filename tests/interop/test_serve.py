"""``kafka-rack serve`` as a process beside real clients: outages by its control API, bad neighbours, its files."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import sys

import pytest

from protocol import read_response, request_frame
from protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from tests.interop.client_process import (
    LIBRARIES,
    ROOT,
    ClientProcess,
    acknowledged_in,
    consume,
    produce,
    values,
)
from tests.interop.serving import serving
from tests.ports import free_ports
from tests.progress import while_it_works

TOPIC, PARTITIONS = "events", 6
SOON_MS = 500
LIMIT = 104857600  # socket.request.max.bytes


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_producer_survives_what_the_control_api_does_to_its_rack(tmp_path, library):
    options = ("--port", "0", "--brokers", "6", "--racks", "a,b,c", "--diskless-topic", f"{TOPIC}:{PARTITIONS}")
    async with serving(tmp_path, *options) as served:
        assert (await served.control.get("/healthz")).json() == {"status": "ok"}
        settings = {
            "servers": served.servers,
            "client_id": "app,diskless_az=a",
            "metadata_max_age_ms": SOON_MS,
        }
        async with ClientProcess(library, "produce_steadily", topic=TOPIC, settings=settings) as producer:

            async def until_more(count: int) -> None:
                wanted = len(acknowledged_in(producer.lines)) + count
                await producer.until(lambda lines: len(acknowledged_in(lines)) >= wanted)

            await until_more(30)
            for path, brokers in (("/racks/a/stop", [0, 3]), ("/brokers/1/stop", [1])):
                assert (await served.control.post(path)).json() == {"brokers": brokers}
                await until_more(30)
            shown = (await served.control.get("/cluster")).json()
            assert [broker["id"] for broker in shown["brokers"] if broker["online"]] == [2, 4, 5]
            for path, brokers in (("/racks/a/start", [0, 3]), ("/brokers/1/start", [1])):
                assert (await served.control.post(path)).json() == {"brokers": brokers}
            await until_more(30)
            await producer.stop()
            lines = await producer.finish()
        assert not [line for line in lines if "failed" in line]
        shown = (await served.control.get("/cluster")).json()
        stored = sum(partition["high_watermark"] for topic in shown["topics"] for partition in topic["partitions"])
        seen = [record.value for record in await consume(library, [TOPIC], stored, servers=served.servers)]
        assert sorted(seen, key=int) == sorted(acknowledged_in(lines), key=int)
        assert await served.end() == (0, [])
        assert not (tmp_path / "bootstrap").exists()


# bad neighbours


def frame_of(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


METADATA_V1 = request_frame(MetadataRequest(topics=None), 1, correlation_id=1, client_id="bad")
BAD_INPUT = {
    "an API key that nobody serves": frame_of(b"\x7f\xff\x00\x00\x00\x00\x00\x01\xff\xff"),
    "a frame over the limit": (LIMIT + 1).to_bytes(4, "big") + METADATA_V1[4:],
    "a frame of a negative size": b"\xff\xff\xff\xff" + METADATA_V1[4:],
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a version of Metadata that is to come": frame_of(b"\x00\x03\x7f\xff" + METADATA_V1[8:]),
    "an array of two billion topics": frame_of(METADATA_V1[4:-4] + b"\x7f\xff\xff\xff"),
    "a request that ends too soon": frame_of(METADATA_V1[4:-2]),
    "a client id longer than its frame": frame_of(METADATA_V1[4:12] + b"\x7f\xff" + METADATA_V1[14:]),
}


async def hang_up_after(host: str, port: str, data: bytes) -> None:
    """Send bytes, and wait until the broker closes the connection without an answer."""
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    async with while_it_works("the end of a bad connection"):
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()


def lines_told(complaint: str) -> int:
    """How many log lines a line stands for: one, or those of its cause that were only counted."""
    assert "closes the connection of " in complaint
    told = re.match(r"(?:(\d+) times|once) more: ", complaint)
    return int(told[1] or 1) if told else 1


async def test_bad_input_ends_one_connection_with_one_logged_line_and_a_real_client_notices_nothing(tmp_path):
    async with serving(tmp_path, "--port", "0", "--brokers", "1", "--topic", f"{TOPIC}:1") as served:
        host, port = served.servers.split(":")
        settings = {"servers": served.servers, "acks": "all"}
        async with ClientProcess("confluent-kafka", "produce_steadily", topic=TOPIC, settings=settings) as producer:
            await producer.until(acknowledged_in)
            for data in BAD_INPUT.values():
                await hang_up_after(host, port, data)
                known = len(acknowledged_in(producer.lines))
                await producer.until(lambda lines, known=known: len(acknowledged_in(lines)) > known)
            await producer.stop()
            lines = await producer.finish()
        acknowledged = acknowledged_in(lines)
        assert not [line for line in lines if "failed" in line]
        seen = await consume("aiokafka", [TOPIC], len(acknowledged), servers=served.servers)
        assert [record.value for record in seen] == sorted(acknowledged, key=int)
        code, complaints = await served.end()
        assert code == 0
        assert "closes the connection of 127.0.0.1" in complaints[0]
        assert sum(map(lines_told, complaints)) == len(BAD_INPUT)


async def test_a_version_of_api_versions_that_is_to_come_is_answered_in_version_0_with_the_range(tmp_path):
    async with serving(tmp_path, "--port", "0", "--brokers", "1") as served:
        host, port = served.servers.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for version in (6, 99, 32767):
            start = b"\x00\x12" + version.to_bytes(2, "big") + version.to_bytes(4, "big")
            writer.write(frame_of(start + b"\x00\x03abc\x00\x08whatever\x00"))
            async with while_it_works("the answer to ApiVersions"):
                answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            header, response = read_response(answer, 18, 0)
            assert header.correlation_id == version
            assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
            (served_versions,) = [one for one in response.api_keys if one.api_key == 18]
            assert (served_versions.min_version, served_versions.max_version) == (0, 5)
        writer.write(request_frame(ApiVersionsRequest(), 0, correlation_id=7, client_id="abc"))
        async with while_it_works("the answer to ApiVersions"):
            answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        response: ApiVersionsResponse = read_response(answer, 18, 0)[1]
        assert response.error_code == ErrorCode.NONE
        writer.close()
        assert await served.end(signal.SIGINT) == (0, [])


# server.properties


@pytest.mark.parametrize("id_name", ["node.id", "broker.id"])
async def test_brokers_of_three_properties_files_serve_real_clients_by_rack(tmp_path, id_name):
    files = []
    for index, rack in enumerate(("eu-1a", "eu-1b", "eu-1c")):
        file = tmp_path / f"server-{index}.properties"
        file.write_text(
            f"{id_name}={index + 10}\nbroker.rack={rack}\nlisteners=PLAINTEXT://127.0.0.1:{free_ports(1)[0]}\n"
            "num.partitions=6\nnum.io.threads=8\n"
        )
        files += ["--server-properties", str(file)]
    async with serving(tmp_path, *files, "--diskless-topic", TOPIC) as served:
        racks = (await served.control.get("/cluster")).json()["racks"]
        assert racks == {f"eu-1{at}": {"brokers": [n], "online": [n]} for n, at in enumerate("abc", 10)}
        settings = {"servers": served.servers, "client_id": "app,diskless_az=eu-1b"}
        answers = await produce("aiokafka", TOPIC, values(0, 12, PARTITIONS), **settings)
        assert sorted(map(tuple, answers)) == [(p, o) for p in range(PARTITIONS) for o in range(2)]
        seen = await consume("confluent-kafka", [TOPIC], 12, **settings)
        assert sorted(int(record.value) for record in seen) == list(range(12))
        assert await served.end() == (0, ["kafka-rack serve: without effect here: num.io.threads"])


async def test_a_port_that_is_taken_is_one_line_and_exit_code_1(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "kafka_rack.cli", "serve", "--brokers", "1", "--port", str(port)]
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stderr=asyncio.subprocess.PIPE)
        _, errors = await process.communicate()
    assert process.returncode == 1
    (line,) = errors.decode().splitlines()
    assert f"127.0.0.1:{port}" in line
