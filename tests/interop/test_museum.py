"""Each bug of the museum fails with the version that has it, and is mended in the next."""

from __future__ import annotations

import json
import sys

import pytest

from mockbroker.testing.museum import builders
from mockbroker.testing.museum.bugs import BUGS
from tests.interop import fetched
from tests.interop.client_process import ROOT
from tests.progress import run


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_a_bug_is_as_recorded(bug):
    with fetched.skipped_without_tools():
        try:
            for version in (bug.bad, bug.good):
                bug.command(version)
        except builders.ToolMissingError as missing:
            raise fetched.ToolMissingError(str(missing)) from None
    done = run([sys.executable, "-m", "kafka_rack.cli", "replay", bug.id, "--format", "json"], cwd=ROOT)
    (replayed,) = json.loads(done.stdout)
    found = [(one["version"], one["verdict"]) for one in replayed["replays"]]
    assert found == [(bug.bad, "fail"), (bug.good, "pass")], done.stdout
    assert done.returncode == 0
