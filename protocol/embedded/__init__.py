"""The declarations of what travels inside other messages' bytes, or is stored: group logs, metadata records."""
