"""The parts that touch the world: sockets, HTTP, files and real time."""
