"""Clusters that people have: what they say of themselves, and the plan carried out on them."""
