from __future__ import annotations

import socket

import pytest

from mockbroker.proxy.adapters.presence import is_refused
from mockbroker.proxy.mirror import BrokerAddress
from tests.ports import free_ports


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_where_nobody_listens_is_refused_by_whatever_name_its_host_has(host: str):
    assert await is_refused(BrokerAddress(host, free_ports(1)[0]))


async def test_whoever_listens_at_one_of_a_hosts_addresses_does_not_refuse():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not await is_refused(BrokerAddress("localhost", listener.getsockname()[1]))


async def test_a_host_that_is_not_to_be_found_does_not_refuse():
    assert not await is_refused(BrokerAddress("no-such-host.invalid", 9092))
