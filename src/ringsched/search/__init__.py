"""How the parameters of a policy are chosen."""
