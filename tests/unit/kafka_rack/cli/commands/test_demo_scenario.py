"""A client process that ends by itself."""

from __future__ import annotations

import re

import pytest

from mockbroker.testing.clients.process import ClientError, ClientPlan, ClientProcess, arrived


async def test_a_client_that_ends_by_itself_is_named_with_its_last_words():
    plan = ClientPlan("no-library", "readers", ["orders"], "localhost:1", rack="b")
    with pytest.raises(ClientError, match=re.escape("no-library in rack b has ended: KeyError: 'no-library'")):
        async with ClientProcess(plan) as client:
            await arrived(lambda: False, [client], "a start")
