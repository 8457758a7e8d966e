"""The earlier name of kafka_rack.pipeline.spark.source."""

from kafka_rack.pipeline.spark.source import KafkaWire

__all__ = ["KafkaWire"]
