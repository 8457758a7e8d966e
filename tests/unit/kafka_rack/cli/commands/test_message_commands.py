"""kafka-rack decode, encode and messages, as a user runs them."""

import io
import json
import sys

import pytest

import protocol
from kafka_rack.cli import main
from kafka_rack.cli.commands import decode as decode_command

METADATA_V1 = "0000000100066576656e7473"
FRAME = "00030001" + "00000007" + "000474657374" + METADATA_V1


@pytest.fixture
def kafka_rack(capsys):
    """Run the command line; gives exit code, output and errors."""

    def run(*arguments):
        code = main(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_decode_prints_kafkas_json(kafka_rack):
    code, out, _ = kafka_rack("decode", "--message", "MetadataRequest", "--version", "1", "--hex", METADATA_V1)
    assert (code, json.loads(out)) == (0, {"topics": [{"name": "events"}]})


def test_decode_reads_header_and_body_of_a_frame(kafka_rack):
    _, out, _ = kafka_rack("decode", "--frame", "--hex", FRAME)
    assert json.loads(out)["header"]["clientId"] == "test"
    assert json.loads(out)["body"] == {"topics": [{"name": "events"}]}


def test_decode_reads_a_response_behind_its_header(kafka_rack):
    arguments = ["--frame", "--message", "ApiVersionsResponse", "--version", "0"]
    _, out, _ = kafka_rack("decode", *arguments, "--hex", "00000005" + "0023" + "00000000")
    assert json.loads(out) == {"header": {"correlationId": 5}, "body": {"errorCode": 35, "apiKeys": []}}


def test_explain_annotates_every_byte(kafka_rack):
    code, out, _ = kafka_rack("decode", "--frame", "--explain", "--hex", FRAME)
    assert code == 0
    shown = "".join(line[6:45] for line in out.splitlines() if not line.startswith(("Request", "Metadata")))
    assert bytes.fromhex(shown).hex() == FRAME
    assert "client_id 'test'" in out
    assert "topics[0].name 'events'" in out


def test_explain_points_at_the_broken_byte(kafka_rack):
    code, out, err = kafka_rack("decode", "--frame", "--explain", "--hex", FRAME[:-2])
    assert code == 1
    last = " ".join(out.splitlines()[-1].split())
    assert last == "18 00 06 65 76 65 6e 74 topics[0].name <- broken here"
    assert err == ("kafka-rack decode: MetadataRequest v1, byte 4, topics[0].name: length 6, but 5 bytes remain\n")


def test_explain_has_colours_on_a_terminal_alone(kafka_rack, monkeypatch):
    arguments = ["decode", "--message", "MetadataRequest", "--version", "1", "--explain", "--hex", METADATA_V1]
    assert "\033[" not in kafka_rack(*arguments)[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\033[36m00 00 00 01" in kafka_rack(*arguments)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033[" not in kafka_rack(*arguments)[1]


def test_explain_shows_what_is_left_over_and_fails_unless_told_to_ignore_it(kafka_rack):
    arguments = ["decode", "--message", "MetadataRequest", "--version", "1", "--explain", "--hex", METADATA_V1 + "ff"]
    code, out, err = kafka_rack(*arguments)
    assert (code, out.splitlines()[-1].split()) == (1, ["12", "ff", "left", "over"])
    assert "1 bytes left over" in err
    assert kafka_rack(*arguments, "--ignore-trailing")[0] == 0


def test_decode_reads_files_and_standard_input(kafka_rack, tmp_path, monkeypatch):
    path = tmp_path / "body.bin"
    path.write_bytes(bytes.fromhex(METADATA_V1))
    arguments = ["decode", "--message", "MetadataRequest", "--version", "1"]
    from_file = kafka_rack(*arguments, str(path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes.fromhex(METADATA_V1))))
    assert kafka_rack(*arguments, "-") == from_file


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["decode", "--message", "MetadatRequest", "--hex", "00"], 2, "did you mean MetadataRequest"),
        (
            ["decode", "--message", "MetadataRequest", "--version", "99", "--hex", "00"],
            2,
            "expected MetadataRequest's versions, 0-14, got 99",
        ),
        (["decode", "--message", "MetadataRequest", "--hex", "0g"], 2, "--hex"),
        (["decode", "--message", "MetadataRequest"], 2, "expected the bytes once"),
        (["decode", "--hex", "00"], 2, "expected --message: only the frame of a request"),
        (["decode", "--message", "MetadataRequest", "no-such-file"], 2, "no-such-file: No such file"),
        (["decode", "--message", "RequestHeader", "--frame", "--hex", "00"], 2, "expected a request or a response"),
        (
            ["decode", "--message", "FetchRequest", "--frame", "--hex", FRAME],
            2,
            "expected MetadataRequest as the header says",
        ),
        (["encode", "--message", "MetadataRequest", "no-such-file"], 2, "no-such-file: No such file"),
        (["messages", "Metadat0"], 2, "got 'Metadat0'; did you mean MetadataRequest or MetadataResponse?"),
        (["messages", "MetadataRequest", "99"], 2, "expected MetadataRequest's versions, 0-14, got 99"),
    ],
)
def test_a_mistake_is_answered_in_one_line(kafka_rack, arguments, code, complaint):
    got, out, err = kafka_rack(*arguments)
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert complaint in err


def test_encode_undoes_decode(kafka_rack, tmp_path):
    path = tmp_path / "request.json"
    path.write_text('{"topics": [{"name": "events"}]}', encoding="utf-8")
    arguments = ["encode", "--message", "MetadataRequest", "--version", "1"]
    assert kafka_rack(*arguments, str(path)) == (0, METADATA_V1 + "\n", "")
    framed = kafka_rack(*arguments, "--frame", "--correlation-id", "7", "--client-id", "test", str(path))
    assert framed[1] == f"{len(FRAME) // 2:08x}{FRAME}\n"


def test_decode_reads_the_frames_that_encode_writes(kafka_rack, tmp_path):
    path = tmp_path / "message.json"
    for name, content in (
        ("MetadataRequest", {"topics": [{"name": "events"}]}),
        ("HeartbeatResponse", {"errorCode": 3}),
    ):
        path.write_text(json.dumps(content), encoding="utf-8")
        message = ("--message", name, "--version", "1")
        _, framed, _ = kafka_rack("encode", *message, "--frame", "--correlation-id", "7", str(path))
        _, out, _ = kafka_rack("decode", *message, "--frame", "--hex", framed.strip())
        found = json.loads(out)
        assert found["header"]["correlationId"] == 7
        assert {key: found["body"][key] for key in content} == content


def test_a_correlation_id_that_looks_like_a_length_is_none(kafka_rack):
    frame = protocol.response_frame(protocol.named_class("HeartbeatResponse")(), 0, correlation_id=2)
    _, out, _ = kafka_rack(
        "decode", "--message", "HeartbeatResponse", "--version", "0", "--frame", "--hex", frame[4:].hex()
    )
    assert json.loads(out) == {"header": {"correlationId": 2}, "body": {"errorCode": 0}}


def test_encode_says_which_field_does_not_fit(kafka_rack, tmp_path):
    path = tmp_path / "request.json"
    path.write_text('{"topics": [{"name": 5}]}', encoding="utf-8")
    code, _, err = kafka_rack("encode", "--message", "MetadataRequest", "--version", "1", str(path))
    assert code == 1
    assert "topics[0].name: expected a string, got 5" in err


def test_messages_lists_all_and_finds_by_part_of_a_name(kafka_rack):
    _, every, _ = kafka_rack("messages")
    assert len(every.splitlines()) == 1 + 293
    _, some, _ = kafka_rack("messages", "describetopic", "--format", "json")
    assert [row["versions"] for row in json.loads(some)] == ["0-1", "0-1"]


def test_messages_shows_how_two_versions_differ(kafka_rack):
    _, out, _ = kafka_rack("messages", "MetadataRequest", "13", "14")
    assert [line for line in out.splitlines() if line.startswith(("+r", "-r"))] == ["+rack_id: string, ignorable"]


def test_messages_says_that_a_version_becomes_flexible(kafka_rack):
    _, out, _ = kafka_rack("messages", "MetadataRequest", "8", "9")
    changed = [line for line in out.splitlines() if line.startswith(("-not", "+flexible"))]
    assert [line.split(":")[0] for line in changed] == ["-not flexible", "+flexible"]
    assert "flexible" not in kafka_rack("messages", "MetadataRequest", "7", "8")[1]
    assert kafka_rack("messages", "MetadataRequest", "5", "6")[1] == "MetadataRequest v5 and v6 have the same fields.\n"


def test_messages_gives_the_fields_of_both_versions_to_programs(kafka_rack):
    found = json.loads(kafka_rack("messages", "MetadataRequest", "9", "10", "--format", "json")[1])
    assert (found["versions"], found["flexible"]) == ([9, 10], [True, True])
    names = [{row["name"] for row in found["fields"][version]} for version in ("9", "10")]
    assert names[1] - names[0] == {"topic_id"}


def test_messages_calls_a_struct_by_its_name_even_where_it_has_a_field_called_name(kafka_rack):
    _, out, _ = kafka_rack("messages", "StreamsGroupTopologyDescriptionUpdateRequest")
    assert "    source: TopologyNode, versions 0+" in out.splitlines()


def test_messages_describes_fields_with_their_versions(kafka_rack):
    _, out, _ = kafka_rack("messages", "MetadataResponse")
    assert "  rack: string, versions 1+, nullable 1+, default None, ignorable" in out.splitlines()


def test_decode_of_a_file_without_end_says_what_was_too_much(kafka_rack, monkeypatch):
    monkeypatch.setattr(decode_command, "MAX_BYTES", 3 << 20)
    assert kafka_rack("decode", "--message", "MetadataRequest", "/dev/zero") == (
        1,
        "",
        "kafka-rack decode: /dev/zero: expected at most 3 MiB, got more: that is no single message\n",
    )


def test_decode_shows_control_characters_of_names_as_escapes(kafka_rack):
    name = "a\x1b[2J\x9b\u202e".encode()
    body = "00000001" + len(name).to_bytes(2, "big").hex() + name.hex()
    arguments = ["decode", "--message", "MetadataRequest", "--version", "1", "--hex", body]
    _, out, _ = kafka_rack(*arguments)
    assert json.loads(out)["topics"] == [{"name": "a\x1b[2J\x9b\u202e"}]
    _, explained, _ = kafka_rack(*arguments, "--explain")
    assert not set("\x1b\x9b\u202e") & set(out + explained)
