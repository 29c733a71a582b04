"""The paper, reproduced and questioned: its figures as rows, and its sentences as verdicts on them."""
