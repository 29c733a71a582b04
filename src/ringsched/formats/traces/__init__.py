"""Traces of real clusters, row by row: one format a file."""
