"""A cluster's data on disk, in Apache Kafka's own files: docs/durability.md."""
