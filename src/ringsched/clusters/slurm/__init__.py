"""Slurm: the plan carried out on a real cluster."""
