"""ZooKeeper mode: registrations, the controller, and what it tells brokers."""
