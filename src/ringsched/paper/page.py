"""The page: every figure, the claims it decides, and the reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringsched.paper.claims import Claim
from ringsched.paper.claims.verdict import VERDICTS
from ringsched.paper.experiments import PARTS

Link = Callable[[str], str]

TITLES = {
    "policies": "Fig. 4: the policies",
    "kappa": "Fig. 5: kappa",
    "servers": "Fig. 6: servers",
    "lambda": "Fig. 7: lambda",
    "horizon": "The horizon T",
    "share": "Where awareness of contention starts to pay",
    "tiny": "Section 6: lemmas and theorems",
}
CAPTIONS = {
    "policies": "Makespan and mean completion, T = 1200. The paper does not say in which order FF, LS and "
    "RAND take jobs; both are shown. longest-first (best fit, the longest jobs first) is not in the paper.",
    "kappa": "SJF-BCO at fixed kappa, T = 1200; theta is bisected as always. Values of kappa between the "
    "sizes of jobs change nothing. The left panel shows means over seeds, which differ much. The right panel "
    "shows ratios in pairs of the same seed.",
    "servers": "The first 10 to 20 servers of one draw, T = 1500. At hollow points some runs found no plan "
    "below T (dotted); they count as T, so the mean is at least what is drawn.",
    "lambda": "SJF-BCO at kappa = 1, T = 1200.",
    "horizon": "SJF-BCO on the same workloads with other horizons. Each grey line is a seed that has a "
    "plan below T. The blue line is the mean where all seeds have one.",
    "share": "The gradients scaled until communication takes this share of the jobs' time under list "
    "scheduling, as far as a slot of a second allows; T = 3000. Seeds that cannot reach a share have no "
    "pair there. Below 1 SJF-BCO ends first.",
    "tiny": "Sixty instances of four to six jobs on two to five GPUs. Policy `exact` proves the optimum; "
    "theta* is found by trying all assignments.",
}
INTRODUCTION = """\
M. Yu, B. Ji, H. Rajan, J. Liu: *On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant GPU Clusters
with Communication Contention* (MobiHoc '22) gives curves without numbers and no code. This page repeats its
experiments and compares its claims with the results. Numbers, figures and verdicts are computed by

```sh
{command}
```

The same command gives the same tables to the last byte. Each point has {seeds} workloads, the same for every
policy. All intervals are Student's 95 % intervals over seeds, in pairs; ratios are geometric means.

A claim consists of comparisons. A comparison holds if its whole interval is on the claimed side,
fails if it is on the other side, and is undecided otherwise. A claim **holds** if all of its comparisons do,
**holds in part** if some do, **does not hold** if none does, and is undecided if all of them are.
There are about thirty claims and no correction for multiple tests. Expect one or two intervals to
miss by chance.
The explanations below the tables are written by hand. Each appears only with the verdict that it explains.

"""
NOT_RUN = """\
## Claims that cannot be measured

- *The theorem of section 5* (no good approximation exists unless P = NP) cannot be measured. Its proof
  gives every job one fixed set of workers, so that jobs exclude each other like neighbours in a graph.
  In the paper's model a job may take any GPUs, and for unit jobs without communication the problem is
  bin packing, which is NP-hard but easy to approximate. So the factor applies to the reformulated
  problem with schedules given as input.
- *"lambda plays a similar role as kappa"* and what each of them balances are interpretations; the figures
  above show what each does.
- Where the paper gives no value (degradation, bandwidths, gradients, how "within 15 %" is reached) the
  workload's documentation states our choice. Other choices may move a verdict; the sweep over shares
  shows how far the main one does.
"""


def page_of(claims: Sequence[Claim], drawn: Sequence[str], seeds: int, command: str, link: Link) -> str:
    """Return the page as Markdown; `link` leads from it to a file of the output."""
    parts = [
        "# Reproducing the paper\n\n",
        INTRODUCTION.format(command=command, seeds=seeds),
        _in_short(claims, link),
        *(_section(name, claims, link) for name in PARTS if name in drawn),
        NOT_RUN,
    ]
    return "".join(parts)


def _in_short(claims: Sequence[Claim], link: Link) -> str:
    rows = []
    for verdict in VERDICTS:
        names = [claim.name for claim in claims if claim.verdict == verdict]
        if names:
            rows.append(f"| **{verdict}** | {len(names)} | {'; '.join(names)} |\n")
    head = "## Summary\n\n| verdict | claims | |\n|---|---|---|\n"
    return f"{head}{''.join(rows)}\nAs a table: [claims.csv]({link('claims.csv')}).\n\n"


def _section(name: str, claims: Sequence[Claim], link: Link) -> str:
    own = [claim for claim in claims if claim.figure == name]
    heading = f"## {TITLES[name]}\n\n![{TITLES[name]}]({link(f'{name}.svg')})\n\n"
    caption = f"{CAPTIONS[name]} Data: [{name}.csv]({link(f'{name}.csv')}).\n\n"
    rows = "".join(_row(claim) for claim in own)
    table = f"| claim | verdict | evidence |\n|---|---|---|\n{rows}\n" if own else ""
    reasons = "".join(f"- *{claim.name}*: {claim.why}\n" for claim in own if claim.why)
    return f"{heading}{caption}{table}{reasons}\n" if reasons else f"{heading}{caption}{table}"


def _row(claim: Claim) -> str:
    said = f"*{claim.name}*, section {claim.where}: {claim.sentence}"
    return f"| {_cell(said)} | **{claim.verdict}** | {_cell(claim.evidence)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
