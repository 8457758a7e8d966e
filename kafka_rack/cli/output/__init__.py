"""How results are shown: tables, plots, progress."""
