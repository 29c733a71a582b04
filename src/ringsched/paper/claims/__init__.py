"""The paper's claims and their verdicts."""

from ringsched.paper.claims.baselines import BASELINE_QUESTIONS
from ringsched.paper.claims.kappa import KAPPA_QUESTIONS
from ringsched.paper.claims.left_open import OPEN_QUESTIONS
from ringsched.paper.claims.more_servers import SERVER_QUESTIONS, SLACK_QUESTIONS
from ringsched.paper.claims.theory import THEORY_QUESTIONS
from ringsched.paper.claims.verdict import Claim, Question
from ringsched.paper.results import Results

__all__ = ["QUESTIONS", "Claim", "Question", "claims_of"]

QUESTIONS: tuple[Question, ...] = (
    *BASELINE_QUESTIONS,
    *KAPPA_QUESTIONS,
    *SERVER_QUESTIONS,
    *SLACK_QUESTIONS,
    *OPEN_QUESTIONS,
    *THEORY_QUESTIONS,
)


def claims_of(results: Results) -> tuple[Claim, ...]:
    """Return a verdict on every claim whose experiments were run."""
    return tuple(question.answered(results) for question in QUESTIONS if question.can_be_answered(results))
