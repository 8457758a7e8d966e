"""Replication progress of followers, and the choice of the replica that serves a reader."""
