"""Faults to inject, and when: by rack, link, broker, client, API, topic and group; see docs/faults.md."""
