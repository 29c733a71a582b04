"""A policy is a queue order, a placement rule and a search over their parameters."""
