"""The engine before it became kernels: plain Python, event by event; the kernels must give the same bytes."""
