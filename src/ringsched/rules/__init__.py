"""Where a job goes: one rule a file."""
