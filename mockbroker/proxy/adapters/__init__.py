"""The sockets of a proxy in front of a real cluster, and its own requests to the cluster."""
