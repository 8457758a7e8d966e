"""What is to go wrong, and when: faults by rack, link, broker, client, API, topic and group; see docs/faults.md."""
