"""Measured, not assumed: contention measured on real rings, fitted, and held against predictions."""
