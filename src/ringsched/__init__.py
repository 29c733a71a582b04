"""ringsched."""
