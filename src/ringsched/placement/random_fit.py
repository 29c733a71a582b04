"""Random: any eligible GPUs, each set equally likely."""

from __future__ import annotations

from random import Random

from ringsched.engine.state import Cluster
from ringsched.placement.trial import Rule, Trial


def random_fit(seed: int) -> Rule:
    """Return a rule with a generator of its own; one trial, one rule."""
    generator = Random(seed)

    def rule(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
        eligible, wanted = trial.eligible(cluster, job), trial.problem.gpus[job]
        if len(eligible) < wanted:
            return None
        # Fisher-Yates for the first places only, on `random()`, the one stream Python keeps stable.
        for place in range(wanted):
            chosen = place + int(generator.random() * (len(eligible) - place))
            eligible[place], eligible[chosen] = eligible[chosen], eligible[place]
        return eligible[:wanted]

    return rule
