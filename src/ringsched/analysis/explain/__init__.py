"""Who slowed whom, by how much, on which link: docs/concepts/blame.md has the definitions."""
