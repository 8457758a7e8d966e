"""Bytes and money by rack, and what was avoidable."""
