"""The promises of an upgrade, judged by the observations. What is expected follows from the plan alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from mockbroker.testing.clients.process import ClientResult
from mockbroker.testing.promises import BrokenPromiseError, expect
from mockbroker.testing.rolling_upgrade.plan import (
    BEFORE,
    LENIENT_READER,
    NEW_SETTING,
)
from mockbroker.testing.rolling_upgrade.replay import Observation, ReplayOutcome
from mockbroker.zookeeper.releases import STRICT_READER, BrokerSoftware

MAX_EXAMPLES = 3
LAST_STRICT_VERSION = 2


class PromiseVerdict(NamedTuple):
    """One promise: whether it held, and what is to be said of it."""

    holds: bool
    text: str


def judge(outcome: ReplayOutcome) -> list[PromiseVerdict]:
    """Every promise of the upgrade, kept or not."""
    promises = [partial(of_client, version, outcome.ledgers) for version in outcome.ledgers]
    promises += [partial(of, outcome) for of in (of_placement, of_readers, of_metadata, of_controller)]
    verdicts = []
    for promise in promises:
        try:
            verdicts.append(PromiseVerdict(True, promise()))
        except BrokenPromiseError as broken:
            verdicts.append(PromiseVerdict(False, str(broken)))
    return verdicts


def of_client(version: str, ledgers: Mapping[str, ClientResult]) -> str:
    """Kept if a client's consumer read every record that was acknowledged to any client."""
    ledger = ledgers[version]
    acknowledged = [name for one in ledgers.values() for name in one.acknowledged]
    lost = [name for name in acknowledged if name not in ledger.seen]
    who = f"client {version}"
    what = f"{who}: {len(lost)} of {len(acknowledged)} acknowledged records not read"
    if lost:
        what += f" ({', '.join(lost[:MAX_EXAMPLES])})"
    if ledger.failures:
        what += f"; {len(ledger.failures)} records could not be produced: {ledger.failures[0]}"
    expect(ledger.acknowledged and not (lost or ledger.failures), what)
    again = sum(ledger.seen.values()) - len(ledger.seen)
    return (
        f"{who}: no acknowledged record lost; {len(ledger.acknowledged):,} acknowledged to it, "
        f"all {len(acknowledged):,} of both read, {again:,} of them again"
    )


def of_placement(outcome: ReplayOutcome) -> str:
    """Kept if new topics use racks as soon as every broker speaks the protocol that registers racks, not before."""
    due = [all(one.registration_version > LAST_STRICT_VERSION for one in state) for state in planned(outcome)]
    used = [all(one.spans) for one in outcome.observations]
    observed = list(zip(outcome.observations, due, used, strict=True))
    for one, is_due, is_used in observed:
        expect(is_used >= is_due, f"racks: not used {name(one)}, though every broker had registered its rack")
    early = [name(one) for one, is_due, is_used in observed if is_used > is_due]
    if len(early) == due.count(False) and early:
        return "racks: with these brokers every placement spans the racks; more brokers than racks show when it starts"
    expect(not early, f"racks: used {', '.join(early[:1])}, before every broker had registered its rack")
    if True not in due:
        return "racks: never used, as no protocol of this upgrade registers them"
    return f"racks: used by new topics {name(outcome.observations[due.index(True)])} on, not before"


def of_readers(outcome: ReplayOutcome) -> str:
    """Kept if brokers write the version of their software, and the strict reader alone breaks on those above 2."""
    for one, state in zip(outcome.observations, planned(outcome), strict=True):
        for broker in one.brokers:
            is_newer, who = broker.json_version > LAST_STRICT_VERSION, f"broker {broker.broker_id}"
            expect(
                broker.json_version == state[broker.broker_id].registration_version,
                f"readers: {who} writes version {broker.json_version} {name(one)}, "
                f"with inter.broker.protocol.version={state[broker.broker_id].protocol}",
            )
            lenient = f"readers: {LENIENT_READER} cannot read {who} {name(one)}: {broker.lenient_error}"
            expect(broker.lenient_error is None, lenient)
            does = "reads" if broker.strict_error is None else "does not read"
            strict = f"readers: {STRICT_READER} {does} version {broker.json_version} of {who}, {name(one)}"
            expect(is_newer == (broker.strict_error is not None), strict)
    breaks = [one for one in outcome.observations if any(broker.strict_error for broker in one.brokers)]
    if not breaks:
        return f"readers: {STRICT_READER} and {LENIENT_READER} read all registrations all along"
    first = next(broker for broker in breaks[0].brokers if broker.strict_error)
    return (
        f"readers: {STRICT_READER} breaks {name(breaks[0])} on, at broker {first.broker_id} ({first.strict_error}); "
        f"{LENIENT_READER} reads all along"
    )


def of_metadata(outcome: ReplayOutcome) -> str:
    """Kept if clients see the racks of all brokers at the end, and of none that has not registered its own."""
    for one in outcome.observations:
        registered = {broker.broker_id: broker.json_rack for broker in one.brokers}
        for asked, racks in one.metadata.items():
            for broker_id, rack in (racks or {}).items():
                early = f"Metadata v1: broker {asked} returns rack {rack}, {name(one)}"
                expect(not rack or rack == registered[broker_id], early)
    last = outcome.observations[-1]
    known = [racks for racks in last.metadata.values() if racks and all(racks.values())]
    is_due = all(one.registration_version > LAST_STRICT_VERSION for one in planned(outcome)[-1])
    at_end = f"Metadata v1: {len(known)} of {len(last.metadata)} brokers return every rack at the end"
    expect(len(known) == (len(last.metadata) if is_due else 0), at_end)
    if not is_due:
        return "Metadata v1: no broker returns racks, as none is registered"
    first = next(
        one for one in outcome.observations if any(any((racks or {}).values()) for racks in one.metadata.values())
    )
    return f"Metadata v1: first racks {name(first)}, every rack by every broker at the end"


def of_controller(outcome: ReplayOutcome) -> str:
    """Kept if every UpdateMetadata was in the version of its controller's protocol, and taken."""
    versions: list[int] = []
    for one, state in zip(outcome.observations, planned(outcome), strict=True):
        expect(one.problem is None, f"controller: {one.problem}, {name(one)}")
        for sent in one.sent:
            allowed = state[sent.controller_id].update_metadata_version
            wrong = f"controller {sent.controller_id}: UpdateMetadata v{sent.version} {name(one)}, expected v{allowed}"
            expect(sent.controller_id != one.controller_id or sent.version == allowed, wrong)
            versions.append(sent.version)
    way = " -> ".join(f"v{version}" for version in sorted(set(versions)))
    return f"controller: UpdateMetadata {way}, each as its controller's protocol has it"


def planned(outcome: ReplayOutcome) -> list[list[BrokerSoftware]]:
    """The software of each broker after each move, by the plan."""
    upgrade = outcome.upgrade
    state = dict.fromkeys(upgrade.broker_ids, upgrade.old)
    states = []
    for move in upgrade.moves:
        if move.broker_id is not None:
            state[move.broker_id] = move.software
        states.append([state[broker_id] for broker_id in upgrade.broker_ids])
    return states


def name(observation: Observation) -> str:
    """When that was, as part of a sentence."""
    if observation.step == BEFORE:
        return "from the start"
    if observation.step == NEW_SETTING:
        return f"from step {observation.step}"
    return f"from step {observation.step}, broker {observation.restarted}"
