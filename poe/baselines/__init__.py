"""Baselines of the papers: other ways from an LLM to a ranking, one module a method.

`poe.win_ratio` and `poe.average_probability`, the simplest of all, are in `poe.scores`.
"""

from poe.baselines.absolute import (
    ExpectedScores,
    PromptScores,
    expected_score,
    expected_score_from_logits,
    parse_score,
    prompt_scores,
)
from poe.baselines.likelihood import (
    LikelihoodRanking,
    approximate_likelihood_ranking,
    likelihood_ranking,
)
from poe.baselines.linear_ordering import Ordering, linear_ordering
from poe.baselines.pairs import PairsRanking, pairs_ranking
from poe.baselines.ranking import Ranking

__all__ = [
    "ExpectedScores",
    "LikelihoodRanking",
    "Ordering",
    "PairsRanking",
    "PromptScores",
    "Ranking",
    "approximate_likelihood_ranking",
    "expected_score",
    "expected_score_from_logits",
    "likelihood_ranking",
    "linear_ordering",
    "pairs_ranking",
    "parse_score",
    "prompt_scores",
]
