"""Configs of topics, brokers, groups and client metrics: Kafka's definitions, and the effective values.

``cluster.configs`` (``ClusterConfigs``, in effective.py) returns a typed value: bool, int, float, str, a tuple of str
for a list, None if nothing is set. A dynamic value precedes a static one, which precedes Kafka's default; topic and
group configs fall back to the broker config that is their synonym in Kafka.

>>> from mockbroker.state.brokers.broker import Broker
>>> from mockbroker.state.cluster import Cluster
>>> cluster = Cluster.create([Broker(0, "a"), Broker(1, "b")], settings={"log.retention.hours": "2"})
>>> topic = cluster.replication_control.create("orders", configs={"cleanup.policy": "compact"})
>>> topic.config("retention.ms"), topic.config("cleanup.policy")
(7200000, ('compact',))
>>> cluster.configs.broker(0, "num.io.threads")
8
>>> cluster.configs.group("readers", "consumer.session.timeout.ms")
45000

Reading, cheapest first:
    ``topic.config(name)``: cached until a change; for the hot path.
    ``cluster.configs.broker(broker_id, name)``: also cached; ``broker_id`` None is the value for all brokers.
    ``cluster.configs.group(group_id, name)``: cached for groups without values of their own.
    ``cluster.settings[name]``: the static value, without later changes.

Writing, at run time: ``cluster.configs.write(kind, resource, {name: text or None})`` commits Kafka's ConfigRecords,
which survive restarts, forks and resets, and notifies listeners; ``alterations`` validates changes before.

Listening: ``cluster.configs.on_change(listener)``; the listener is called as ``listener(kind, resource, names)`` once
the new values are effective: kind is one of TOPIC, BROKER, GROUP, CLIENT_METRICS; resource "" means all brokers.
A restore creates the cluster's parts again, so a part registers its listener in its constructor. Topics clear their
caches by themselves.

A config with an effect here is listed in ``effects.WITH_EFFECT``; users see all others as having none. A broker
setting that ``cluster.settings`` must know at start-up, without Kafka's definitions, is in
``mockbroker.state.settings.DEFAULTS``.

Modules: definitions.py (Kafka's definitions, from data), values.py (types and validators), effective.py (effective
values), effects.py (configs that have an effect here).
"""
