"""Jobs that become known as they arrive: dispatching, backfilling, re-planning."""
