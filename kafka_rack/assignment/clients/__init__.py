"""Rack-aware assignors (KIP-881) for Python clients that have none: drop them in where the client takes assignors.

``kafka_python`` and ``aiokafka`` here each hold ``RackAwareRangeAssignor``, ``RackAwareRoundRobinAssignor`` and
``RackAwareStickyAssignor``; the first also ``RackAwareCooperativeStickyAssignor``, as kafka-python can rebalance
cooperatively. Each is made with the member's rack:

    from kafka_rack.assignment.clients.kafka_python import RackAwareRangeAssignor

    KafkaConsumer(..., client_rack="az1", partition_assignment_strategy=[RackAwareRangeAssignor("az1")])

As leaders they ask for a rebalance when the racks of replicas change, and not when a broker is merely down
(``kafka_rack.assignment.leader``), as soon as the client learns of it (its ``metadata_max_age_ms``).

They carry the rack in version 3 of the subscription, so they share a group with Java, librdkafka and franz-go: any of
them may lead. Where Kafka's sticky assignors have faults, with unequal subscriptions, these have none
(``kafka_rack.assignment.faultless``); with equal ones they answer as Kafka's.
"""
