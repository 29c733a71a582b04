"""Adapters for real clusters: reading their state and carrying out plans on them."""
