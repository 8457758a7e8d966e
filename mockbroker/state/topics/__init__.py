"""Topics and partitions, and where new replicas go."""
