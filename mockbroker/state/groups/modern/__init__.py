"""What the groups of KIP-848 and of its followers have in common: the coordinator assigns, members follow by epochs."""
