"""The demo: real clients in three racks, one of which goes down and comes back."""
