"""The authorizer: which entries it looks at, whom settings let in, what a change changes."""

from __future__ import annotations

from mockbroker.access_control.acls import ALLOW, LITERAL, Acl, AclFilter, create_acls, delete_acls
from mockbroker.access_control.authorizer import PrincipalAccess, access_of
from mockbroker.core.simulation import Simulation
from mockbroker.state.security.operations import CLUSTER_NAME, Operation, ResourceType

AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


def cluster_with(**settings: str) -> Simulation:
    return Simulation(settings=AUTHORIZER | settings)


def may_read(sim: Simulation, user: str = "User:ann", name: str = "orders") -> bool:
    return PrincipalAccess(sim.cluster, user, "127.0.0.1").may(Operation.READ, ResourceType.TOPIC, name)


def test_an_entry_counts_from_the_next_request_on_and_no_longer_once_it_is_gone():
    sim = cluster_with()
    assert not may_read(sim)
    create_acls(
        sim.cluster.writer,
        sim.cluster.rng,
        [Acl(ResourceType.TOPIC, "orders", LITERAL, "User:ann", "*", Operation.READ, ALLOW)],
    )
    assert may_read(sim)
    delete_acls(sim.cluster.writer, [AclFilter()])
    assert not may_read(sim)


def test_super_users_may_do_everything_and_nobody_else():
    sim = cluster_with(**{"super.users": "User:root; User:ann"})
    assert [may_read(sim, user) for user in ("User:ann", "User:root", "User:bob", "User:")] == [
        True,
        True,
        False,
        False,
    ]


def test_without_an_authorizer_nobody_is_asked():
    assert access_of(Simulation().cluster, "User:ann", "127.0.0.1") is None


def test_what_no_entry_speaks_of_is_free_where_that_is_set():
    sim = cluster_with(**{"allow.everyone.if.no.acl.found": "true"})
    assert may_read(sim)
    create_acls(
        sim.cluster.writer,
        sim.cluster.rng,
        [Acl(ResourceType.TOPIC, "orders", LITERAL, "User:bob", "*", Operation.WRITE, ALLOW)],
    )
    assert not may_read(sim)
    assert may_read(sim, name="others")


def test_what_may_be_done_with_the_cluster_goes_by_its_own_entries():
    sim = cluster_with()
    create_acls(
        sim.cluster.writer,
        sim.cluster.rng,
        [Acl(ResourceType.CLUSTER, CLUSTER_NAME, LITERAL, "User:ann", "*", Operation.ALTER, ALLOW)],
    )
    access = PrincipalAccess(sim.cluster, "User:ann", "127.0.0.1")
    assert [access.may_cluster(one) for one in (Operation.ALTER, Operation.DESCRIBE, Operation.READ)] == [
        True,
        True,
        False,
    ]
    assert not access.may_topic(Operation.ALTER, CLUSTER_NAME)
