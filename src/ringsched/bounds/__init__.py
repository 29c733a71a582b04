"""How good can any plan be."""
