"""Groups of Kafka Streams (KIP-1071): the coordinator knows the topology, makes its topics and assigns its tasks."""
