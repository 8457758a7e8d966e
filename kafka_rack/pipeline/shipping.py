"""The earlier name of kafka_rack.pipeline.spark.shipping."""

from kafka_rack.pipeline.spark.shipping import shipped

__all__ = ["shipped"]
