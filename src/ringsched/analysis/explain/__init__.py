"""Where the time of jobs goes, and which jobs and links cause contention; see docs/concepts/blame.md."""
