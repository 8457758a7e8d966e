"""The earlier name of kafka_rack.pipeline.spark.kafka_messages."""

from kafka_rack.pipeline.spark.kafka_messages import as_messages, from_messages

__all__ = ["as_messages", "from_messages"]
