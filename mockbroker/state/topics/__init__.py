"""Topics, partitions, and the placement of new replicas."""
