"""Jobs that become known as they arrive: dispatching, backfilling, planning again and again."""
