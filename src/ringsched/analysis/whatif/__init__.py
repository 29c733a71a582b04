"""What if: other clusters for the same jobs, and one more job for the same plan (docs/concepts/whatif.md)."""
