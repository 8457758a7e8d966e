"""Transactions: the states of each, and the markers that end it in partitions' logs."""
