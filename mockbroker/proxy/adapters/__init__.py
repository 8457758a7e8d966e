"""A proxy before a real cluster, in the world: its sockets, and what it asks the cluster itself."""
