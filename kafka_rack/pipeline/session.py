"""The earlier name of kafka_rack.pipeline.spark.session."""

from kafka_rack.pipeline.spark.session import KAFKA_CONNECTOR, spark_session

__all__ = ["KAFKA_CONNECTOR", "spark_session"]
