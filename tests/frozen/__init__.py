"""Plans, simulations, bounds and explanations of random scenarios, recorded to hold the code against."""
