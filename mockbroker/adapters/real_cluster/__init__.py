"""A small client for real clusters: connections, what the tools read and change there, groups."""
