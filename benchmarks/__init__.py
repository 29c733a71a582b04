"""Measurements: `make bench`."""

import os

# What is measured is the compiled code, from the first call on.
os.environ.setdefault("RINGSCHED_KERNELS", "compiled")
