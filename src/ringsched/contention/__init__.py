"""Who shares a link with whom, and what that costs: seconds per iteration."""
