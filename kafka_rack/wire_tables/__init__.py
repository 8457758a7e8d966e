"""Frames to rows of the tables, and rows to Arrow columns, in plain Python."""
