"""Numbers, bounds and quality in words, the same for terminal and report."""
