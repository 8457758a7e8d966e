"""Files of faults: what is wrong with one is said with the file, the fault, the place and what would be right."""

from __future__ import annotations

import sys

import pytest

from mockbroker.adapters.fault_files import FaultFileError, faults_from_file

FAULTS = [
    {"match": {"api": "Fetch"}, "effect": {"delay_ms": 200, "jitter_ms": 50}},
    {"id": "away", "link": {"between": ["a", "b"]}, "effect": {"cut": True}},
    {"effect": {"error": "NOT_COORDINATOR"}, "when": {"times": 3}},
]
IDS = ["fault-1", "away", "fault-2"]
AS_JSON = """[
  {"match": {"api": "Fetch"}, "effect": {"delay_ms": 200, "jitter_ms": 50}},
  {"id": "away", "link": {"between": ["a", "b"]}, "effect": {"cut": true}},
  {"effect": {"error": "NOT_COORDINATOR"}, "when": {"times": 3}}
]"""
AS_YAML = """
# as a list, or under faults:
faults:
  - match: {api: Fetch}
    effect: {delay_ms: 200, jitter_ms: 50}
  - id: away
    link:
      between: [a, b]
    effect:
      cut: true
  - effect: {error: NOT_COORDINATOR}
    when: {times: 3}
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("f.json", AS_JSON), ("f.json", '{"faults": ' + AS_JSON + "}"), ("f.yaml", AS_YAML), ("f.yml", AS_JSON)],
)
def test_a_file_is_a_list_of_faults_as_json_or_yaml(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    faults = faults_from_file(path)
    assert [fault.to_json() for fault in faults] == [
        {"id": fault_id, **fault} for fault_id, fault in zip(IDS, FAULTS, strict=True)
    ]


def test_numbered_ids_leave_out_those_that_are_given(tmp_path):
    path = tmp_path / "f.json"
    path.write_text('[{"effect": {"delay_ms": 1}}, {"id": "fault-1", "effect": {"delay_ms": 1}}]')
    assert [fault.id for fault in faults_from_file(path)] == ["fault-2", "fault-1"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "f.json",
            '[{"effect": {"delay_ms": 1}}, {"id": "slow", "match": {"broker": "1"}, "effect": {"delay_ms": 1}}]',
            "[1].match.broker: expected a whole number from 0 to 2147483647, got '1'",
        ),
        ("f.json", "[{}, 7]", "[0].effect: expected exactly one of error, delay_ms"),
        ("f.json", "[7]", "[0]: expected an object with any of id, match, link, effect, when, got 7"),
        (
            "f.json",
            '[{"id": "a", "effect": {"delay_ms": 1}}, {"id": "a", "effect": {"delay_ms": 1}}]',
            "[1].id: expected an id that no other fault has, got 'a'",
        ),
        ("f.json", "7", "expected a list of faults, or an object with faults and no more, got 7"),
        (
            "f.json",
            '{"fault": []}',
            "expected a list of faults, or an object with faults and no more, got {'fault': []}",
        ),
        (
            "f.json",
            '{"faults": {}}',
            "expected a list of faults, or an object with faults and no more, got {'faults': {}}",
        ),
        (
            "f.json",
            '[\n  {"effect" 1}]',
            "line 2, column 13: cannot be read as JSON: expecting ':' delimiter; YAML is read",
        ),
        ("f.json", "- effect: {delay_ms: 1}", "YAML is read from files that end in .yaml or .yml"),
        ("f.json", '[{"effect": {"delay_ms": NaN}}]', "effect.delay_ms: expected a whole number"),
        ("f.json", "[" * 100_000, "lists within lists without end"),
        ("f.yaml", "- effect: {delay_ms: 1", "line 1, column 23: cannot be read as YAML: expected ',' or '}'"),
        (
            "f.yaml",
            "- effect: {delay_ms: 1}\n  match: {client_id: 2024-01-01}\n",
            "[0].match.client_id: expected text of 1 to 32767 characters, got datetime.date(2024, 1, 1)",
        ),
        ("f.yaml", "- on: 1\n", "[0]: expected any of id, match, link, effect, when, got True"),
        ("f.yaml", "- !!python/object:os.system {}\n", "cannot be read as YAML: could not determine a constructor"),
        ("f.yaml", "", "expected a list of faults, or an object with faults and no more, got None"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FaultFileError) as caught:
        faults_from_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FaultFileError, match=r"nothing\.json: cannot be read: No such file or directory"):
        faults_from_file(tmp_path / "nothing.json")
    path = tmp_path / "latin.json"
    path.write_bytes(b'["\xe4"]')
    with pytest.raises(FaultFileError, match="expected UTF-8, got byte 0xe4"):
        faults_from_file(path)


def test_without_pyyaml_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = tmp_path / "f.yaml"
    path.write_text(AS_YAML)
    with pytest.raises(FaultFileError, match=r'pip install "pyyaml>=6", or write it as JSON'):
        faults_from_file(path)
