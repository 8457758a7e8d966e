"""What touches the world: sockets, HTTP, files and real time."""
