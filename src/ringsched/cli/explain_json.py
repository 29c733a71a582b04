"""The ledger as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from ringsched.analysis.blame.ledger import Ledger


def ledger_to_json(ledger: Ledger) -> str:
    """Return all accounts and all blame."""
    content = {
        "scenario_sha256": ledger.plan.scenario_sha256,
        "policy": ledger.plan.policy,
        "jobs": [asdict(account) for account in ledger.jobs],
        "links": [asdict(account) for account in ledger.links],
        "blames": [asdict(blame) for blame in ledger.blames()],
        "by_culprit": ledger.by_culprit(),
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def job_to_json(ledger: Ledger, name: str) -> str:
    """Return what concerns one job: who slows it, whom it slows, the plan without the worst."""
    blames = ledger.blames(victim=name)
    worst = ledger.worst_culprits().get(name)
    content = {
        "job": asdict(ledger.job(name)),
        "blames": [asdict(blame) for blame in blames],
        "hurts": [asdict(blame) for blame in ledger.blames(culprit=name)],
        "without_worst_culprit": None if worst is None else asdict(ledger.without(worst)),
    }
    return json.dumps(content, indent=1, ensure_ascii=False)
