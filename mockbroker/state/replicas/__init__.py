"""How far each replica is, and who serves a reader."""
