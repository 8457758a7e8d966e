"""Members of share groups (KIP-932), their heartbeats and the assignment of partitions."""
