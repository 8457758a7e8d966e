"""What brokers remember of clients and forget when they stop."""
