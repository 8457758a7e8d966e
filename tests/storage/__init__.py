"""Data directories of a real Kafka, and what that Kafka answered from them."""
