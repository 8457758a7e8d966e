"""Each bug of the museum fails with the version that has it, and passes with the next."""

from __future__ import annotations

import pytest

from tests.interop.certify_run import built
from tests.interop.museum.bugs import BUGS
from tests.interop.museum.replaying import replay


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_a_bug_shows_with_the_version_that_has_it_and_not_with_the_next(bug):
    for version in (bug.bad, bug.good):
        built(bug.command, version)
    found = [(version, replay(bug, version, print)) for version in (bug.bad, bug.good)]
    verdicts = [(version, check.verdict) for version, check in found]
    assert verdicts == [(bug.bad, "fail"), (bug.good, "pass")], [check.evidence for _, check in found]
