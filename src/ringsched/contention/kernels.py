"""The array twin of iteration_time.py and paper.py: seconds per iteration of one running job."""

from __future__ import annotations

import math
from typing import Any

from ringsched.jit import kernel


@kernel
def iteration_time_s(arrays: Any, state: Any, job: int) -> float:
    """Return tau, eq. (8), at the present number of jobs on the links the job crosses.

    Where links are fair they were shared by `share_fairly` just before.
    """
    if arrays.is_fair and state.num_links[job] > 0:
        return state.fair_tau[job]
    bandwidth_gbps = state.free_gbps[job]
    entry = 2 * arrays.gpu_first[job]
    for at in range(entry, entry + state.num_links[job]):
        bandwidth_gbps = min(bandwidth_gbps, state.shared_gbps[state.entry_link[at]])
    return tau_at(arrays, job, bandwidth_gbps, state.num_servers[job])


@kernel
def tau_at(arrays: Any, job: int, bandwidth_gbps: float, num_servers: int) -> float:
    """Return tau, eq. (8), at a bandwidth."""
    exchange_s = 0.0
    if arrays.exchange_gbit[job] > 0:
        exchange_s = arrays.exchange_gbit[job] / bandwidth_gbps if bandwidth_gbps > 0 else math.inf
    return exchange_s + arrays.reduce_s[job] + arrays.latency_s * num_servers + arrays.compute_s[job]
