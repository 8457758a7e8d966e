"""Whatever JSON a file holds, reading it as a layout or a plan gives one line that says what is wrong, or works."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.audit import KINDS, audit
from kafka_rack.cluster_layout import layout_of_json, reassignment_entries
from kafka_rack.errors import InputError

SCALARS = st.none() | st.booleans() | st.integers(-2, 4) | st.floats(allow_nan=False) | st.sampled_from(["", "a", "t"])
KEYS = st.sampled_from(
    ["brokers", "topics", "current", "partitions", "replicas", "id", "rack", "fenced"]
) | st.sampled_from(["partition", "topic", "leader", "isr", "version", "min_insync_replicas", "internal", "diskless"])
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
GOOD = {
    "brokers": [{"id": 0, "rack": "a"}, {"id": 1, "rack": "b"}],
    "topics": {"t": {"partitions": [{"partition": 0, "replicas": [0, 1], "leader": 0, "isr": [0]}]}},
}
PLAN = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [0, 1], "log_dirs": ["any", "any"]}]}


def read(reader, said):
    try:
        return reader(said)
    except InputError as error:
        assert "\n" not in str(error)
        return None


@st.composite
def damaged(draw, content):
    """The content with one value, anywhere in it, put in place of another."""
    said = json.loads(json.dumps(content))
    at = said
    while True:
        key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if not at[key] or not isinstance(at[key], dict | list) or draw(st.booleans()):
            at[key] = draw(JSON)
            return said
        at = at[key]


@given(JSON)
def test_any_json_is_read_or_refused_in_one_line(said):
    layout = read(layout_of_json, said)
    assert layout is None or {"brokers", "topics"} <= set(said)
    for _, number, replicas in read(reassignment_entries, said) or ():
        assert number >= 0
        assert replicas


@given(damaged(GOOD))
def test_a_damaged_layout_is_refused_in_one_line_or_can_be_audited(said):
    layout = read(layout_of_json, said)
    if layout is not None:
        assert {one.kind for one in audit(layout).findings} <= set(KINDS)


@given(damaged(PLAN))
def test_a_damaged_plan_is_refused_in_one_line_or_has_brokers_for_each_partition(said):
    for _, number, replicas in read(reassignment_entries, said) or ():
        assert number >= 0
        assert replicas
