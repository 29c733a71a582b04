"""The blame matrix: what each of the worst culprits costs each of those who lose most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringsched.analysis.blame.ledger import Ledger
from ringsched.reporting.times import Times

MOST_JOBS = 12  # rows and columns; more cannot be read


def blame_data(ledger: Ledger, job_index: Mapping[str, int], times: Times) -> dict[str, Any]:
    """Return the worst of the matrix, a row a victim and a column a culprit, and the totals of all."""
    victims, culprits = ledger.by_victim(), ledger.by_culprit()
    rows, columns = list(victims)[:MOST_JOBS], list(culprits)[:MOST_JOBS]
    matrix = ledger.matrix()
    cells = [[matrix.get((victim, culprit), 0.0) for culprit in columns] for victim in rows]
    return {
        "victims": [job_index[name] for name in rows],
        "culprits": [job_index[name] for name in columns],
        "seconds": [[times.duration(cell) for cell in row] for row in cells],
        "lost": [times.duration(victims[name]) for name in rows],
        "caused": [times.duration(culprits[name]) for name in columns],
        "total": times.duration(sum(victims.values())),
        "numVictims": len(victims),
        "numCulprits": len(culprits),
    }


def job_losses(ledger: Ledger, times: Times) -> dict[str, list[float]]:
    """Return where the time of every job goes, in the scenario's order."""
    return {
        "best": [times.duration(account.best_case_s) for account in ledger.jobs],
        "spreading": [times.duration(account.spreading_s) for account in ledger.jobs],
        "contention": [times.duration(account.contention_s) for account in ledger.jobs],
    }
