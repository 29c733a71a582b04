"""Policies x scenarios x seeds, run and compared in pairs."""
