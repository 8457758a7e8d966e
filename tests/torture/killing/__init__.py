"""A cluster on a data directory whose process is killed again and again under real clients, and what must hold then."""
