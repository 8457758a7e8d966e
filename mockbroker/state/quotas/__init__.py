"""Limits for users, clients and addresses."""
