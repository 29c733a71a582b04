"""Files that describe the network of a cluster, one format per module."""
