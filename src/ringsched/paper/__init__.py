"""Reproduction of the paper: its figures as rows, and verdicts on its claims."""
