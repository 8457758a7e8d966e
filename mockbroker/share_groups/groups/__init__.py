"""Share groups (KIP-932): members that read the same partitions together, each record by one of them at a time."""
