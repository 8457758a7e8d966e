"""Histories of records out of captures, checked on Spark: were any lost, doubled, reordered or aborted?"""
