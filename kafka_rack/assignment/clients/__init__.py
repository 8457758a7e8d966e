"""Rack-aware assignors (KIP-881) for Python clients that have none, to be passed to the client as its assignors.

``kafka_python`` and ``aiokafka`` here each have ``RackAwareRangeAssignor``, ``RackAwareRoundRobinAssignor`` and
``RackAwareStickyAssignor``; the first also ``RackAwareCooperativeStickyAssignor``, as kafka-python can rebalance
cooperatively. Each takes the member's rack:

    from kafka_rack.assignment.clients.kafka_python import RackAwareRangeAssignor

    KafkaConsumer(..., client_rack="az1", partition_assignment_strategy=[RackAwareRangeAssignor("az1")])

As leaders they request a rebalance when the racks of replicas change, but not when a broker is only down
(``kafka_rack.assignment.leader``), as soon as the client learns of it (its ``metadata_max_age_ms``).

They send the rack in version 3 of the subscription, so they can share a group with Java, librdkafka and franz-go: any
of them may lead. With unequal subscriptions they avoid the faults of Kafka's sticky assignors
(``kafka_rack.assignment.faultless``); with equal ones their answers are Kafka's.
"""
