"""Configs of topics, brokers, groups and client metrics: what Kafka says of them, and the values in force.

``cluster.configs`` (``ClusterConfigs``, in effective.py) gives a value with its type: bool, int, float, str, a tuple of
str for a list, None where nothing is set. A dynamic value comes before one that brokers were started with, that before
Kafka's default; a topic's and a group's fall back to the broker's config that Kafka names as its synonym.

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

Reading, from the cheapest on:
    ``topic.config(name)``: kept until something changes; use it on the hot path.
    ``cluster.configs.broker(broker_id, name)``: kept too; ``broker_id`` None is what holds for all brokers.
    ``cluster.configs.group(group_id, name)``: kept for groups without values of their own.
    ``cluster.configs.topic(name, config, broker_id)``: as that broker has it, which may have defaults of its own.
    ``cluster.configs.client_metrics(subscription, name)``.
    ``cluster.settings[name]``: what the cluster was started with, whatever was changed since.

Writing, at run time: ``cluster.configs.write(kind, resource, {name: text or None})`` commits Kafka's ConfigRecords,
which a restart, a fork and a reset find again, and tells listeners; it checks nothing, as ``alterations`` does that.

Listening: ``cluster.configs.on_change(listener)``; the listener is called as ``listener(kind, resource, names)`` once
the new values are in force: kind is one of TOPIC, BROKER, GROUP, CLIENT_METRICS; resource "" stands for all brokers.
A restore makes the cluster's parts anew, so a part registers where it is made. Topics forget what they kept by
themselves.

A config that you give an effect belongs into ``effects.WITH_EFFECT``; what is not there is told to users as being
without one. A broker setting that ``cluster.settings`` has to know without reading Kafka's definitions, because it is
read at start-up, stands in ``mockbroker.state.settings.DEFAULTS``.

Modules: definitions.py (what Kafka defines, from data), values.py (types), validators.py, effective.py (values in
force), effects.py (which have an effect here).
"""
