"""The actors, one program a client."""
