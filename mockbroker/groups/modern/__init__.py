"""The base of the groups of KIP-848 and later: the coordinator assigns partitions, and members follow by epochs."""
