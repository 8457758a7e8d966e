"""franz-go's own tests pass beside ours, and through the proxy."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from mockbroker import KafkaProxy, MockCluster
from tests.interop.fetched import skipped_without_tools
from tests.interop.franz_go_suite import TOO_NEW, WITH_CLUSTER, outcome, suite

USER, PASSWORD = "ann", "anns-own-word"
SETTINGS = {"auto.create.topics.enable": "true", "group.initial.rebalance.delay.ms": "0"}
LOGINS = {
    "listeners": "LOGINS://127.0.0.1:0",
    "listener.security.protocol.map": "LOGINS:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
}
CLIENT = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
    f'username="{USER}" password="{PASSWORD}";',
}


@pytest.mark.parametrize("is_proxied", [False, True], ids=["beside ours", "through the proxy"])
async def test_the_clients_own_tests_pass(is_proxied):
    with skipped_without_tools():
        folder = await asyncio.to_thread(suite)
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(MockCluster(racks=("a", "b", "c"), settings=SETTINGS))
        logins = await stack.enter_async_context(MockCluster(1, ("a",), users={USER: PASSWORD}, settings=LOGINS))
        servers, at_logins = cluster.bootstrap_servers, logins.bootstrap_servers
        if is_proxied:
            proxy = await stack.enter_async_context(KafkaProxy(servers))
            at_door = await stack.enter_async_context(KafkaProxy(at_logins, client_properties=CLIENT))
            servers, at_logins = proxy.bootstrap_servers, at_door.bootstrap_servers
        found = await asyncio.to_thread(outcome, folder, servers, at_logins, f"{USER}:{PASSWORD}")
    assert not found.failed, found.printed
    assert found.skipped == {TOO_NEW}
    assert found.passed >= WITH_CLUSTER
