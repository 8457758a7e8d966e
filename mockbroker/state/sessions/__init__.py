"""Client state that brokers lose when they stop."""
