"""Contention measured on real rings, fitted, and compared with predictions."""
