"""TLS between sockets and connections: key stores, contexts, the stream over each socket, and test certificates."""
