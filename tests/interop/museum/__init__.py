"""Rack bugs of released clients: each fails with one version and passes with the next."""
