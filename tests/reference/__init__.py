"""A second, literal implementation of model.md, for differential tests; imports `ringsched.model` only."""
