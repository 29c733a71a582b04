"""What plans are worth: metrics of one, comparisons of many."""
