"""How results are shown: tables, progress."""
