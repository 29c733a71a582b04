"""Which links a placement crosses, and what jobs that share links do to each other's iteration time.

`fabric.py` is what other packages ask. `model.py` says what a contention model is; each model is one file.
`traffic.py` keeps the running jobs on their links, for the kernels.
"""

from ringsched.contention.fabric import Fabric, fabric_of
from ringsched.contention.iteration_time import Ring, Work
from ringsched.contention.model import NO_LINK, ContentionModel, CountingModel, Pace, PythonModel

__all__ = [
    "NO_LINK",
    "ContentionModel",
    "CountingModel",
    "Fabric",
    "Pace",
    "PythonModel",
    "Ring",
    "Work",
    "fabric_of",
]
