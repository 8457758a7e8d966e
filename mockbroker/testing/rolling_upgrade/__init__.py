"""KIP-36's rolling upgrade: its plan, a replay on a live cluster, and a verdict."""
