"""Every client in every scenario that it can do, beside ours: the rows of docs/compatibility.md."""

from __future__ import annotations

import pytest

from tests.interop.fetched import skipped_without_tools
from tests.interop.matrix.clients import CLIENTS
from tests.interop.matrix.running import outcomes
from tests.interop.matrix.target import our_cluster


@pytest.mark.parametrize("name", CLIENTS)
async def test_a_client_can_do_here_what_it_can_do_at_all(name):
    with skipped_without_tools():
        found = {scenario: wrong async for scenario, wrong in outcomes(CLIENTS[name], our_cluster)}
    assert list(found) == CLIENTS[name].scenarios
    assert {scenario: wrong for scenario, wrong in found.items() if wrong} == {}
