"""Proofs for tiny instances: branch and bound over starts and placements."""
