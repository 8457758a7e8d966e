"""Live clusters as the tools reach them: a client of Kafka's protocol, its properties, what it reads and changes."""
