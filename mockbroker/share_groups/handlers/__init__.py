"""The APIs of share groups."""
