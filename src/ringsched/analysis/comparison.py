"""What a comparison comes to, out of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringsched.analysis.ranking import Ranking, rankings
from ringsched.analysis.runs import ComparisonRow
from ringsched.analysis.settings import Setting
from ringsched.analysis.stability import Stability, stabilities
from ringsched.analysis.summary import PolicySummary, summaries


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderModel:
    """What comes out under one model of contention."""

    contention: str | None  # None if none was asked for: every scenario has its own
    summary: tuple[PolicySummary, ...]  # the first is the baseline; with a calibration, by the fitted values
    stability: tuple[Stability, ...] = ()  # over the draws, by metric; empty without any


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The rows, in the order model, draw, policy, scenario, seed, and what they say."""

    rows: tuple[ComparisonRow, ...]
    models: tuple[UnderModel, ...]  # in the order asked for
    rankings: tuple[Ranking, ...] = ()  # by metric; empty unless several models were asked for
    drawn: tuple[Mapping[str, Any], ...] = ()  # the fields of every draw, by name
    notes: tuple[str, ...] = ()  # what of a calibration was not drawn or not applied
    num_resumed: int = 0  # rows that were in the output already

    @property
    def summary(self) -> tuple[PolicySummary, ...]:
        """A summary of every policy, the first the baseline; of several models, under the first."""
        return self.models[0].summary


def comparison_of(
    settings: Sequence[Setting],
    rows: Sequence[Sequence[ComparisonRow]],
    *,
    notes: tuple[str, ...],
    num_resumed: int,
) -> Comparison:
    """Return the comparison that these rows make, given for every setting in turn."""
    fitted: dict[str | None, Sequence[ComparisonRow]] = {}
    draws: dict[str | None, list[Sequence[ComparisonRow]]] = {}
    for setting, each in zip(settings, rows, strict=True):
        if setting.draw is None:
            fitted[setting.model] = each
        else:
            draws.setdefault(setting.model, []).append(each)
    models = tuple(
        UnderModel(
            contention=model,
            summary=summaries(each),
            stability=stabilities(each, draws.get(model, [])),
        )
        for model, each in fitted.items()
    )
    several = {model: each for model, each in fitted.items() if model is not None}
    return Comparison(
        rows=tuple(row for each in rows for row in each),
        models=models,
        rankings=rankings(several) if len(several) > 1 else (),
        drawn=_drawn(settings),
        notes=notes,
        num_resumed=num_resumed,
    )


def _drawn(settings: Sequence[Setting]) -> tuple[Mapping[str, Any], ...]:
    """Return the numbers of every draw, which are the same under all models."""
    first = settings[0]
    uncertain = () if first.calibration is None else first.calibration.uncertain
    return tuple(
        {"draw": each.draw} | {name: getattr(each.calibration, name) for name in uncertain}
        for each in settings
        if each.draw is not None and each.model == first.model
    )
