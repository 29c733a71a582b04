"""Slurm: reading a cluster and carrying out plans on it."""
