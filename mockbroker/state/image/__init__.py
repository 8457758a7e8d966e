"""The state that survives a restart, and the records that alone change it."""
