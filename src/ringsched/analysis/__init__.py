"""Metrics of one plan, and comparisons of many."""
