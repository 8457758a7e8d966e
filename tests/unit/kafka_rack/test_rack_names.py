"""Rack names that almost match."""

from __future__ import annotations

import pytest

from kafka_rack.rack_names import rack_hints, region_by_name


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("us-east-1a", "use1-az1", "a zone name and a zone id"),
        ("apse2-az3", "ap-southeast-2b", "a zone name and a zone id"),
        ("Rack1", "rack1", "capitals only"),
        ("rack1", "rack1 ", "blanks only"),
        ("rack-1", "rack_1", "hyphens, underscores"),
    ],
)
def test_names_that_look_like_one_get_a_hint(one, other, reason):
    (hint,) = rack_hints([one, other, None, "", one])
    assert reason in hint


@pytest.mark.parametrize(
    "names", [["us-east-1a", "us-east-1b"], ["us-east-1a", "usw2-az1"], ["a", "b"], ["rack1", "rack11"], [None]]
)
def test_names_that_are_just_different_get_none(names):
    assert rack_hints(names) == []


@pytest.mark.parametrize(
    ("zone", "region"),
    [("us-gov-west-1a", "usgw1"), ("eu-central-1b", "euc1"), ("ap-northeast-3c", "apne3"), ("rack", None)],
)
def test_a_region_has_the_short_form_that_zone_ids_use(zone, region):
    assert region_by_name(zone) == region
