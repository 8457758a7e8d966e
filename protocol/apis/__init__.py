"""The declarations of Kafka's requests and responses, one module a family of APIs."""
