"""One ranking of several judges, and how far each of them can be relied on.

`judging.panel.fit_panel` gives every judge a sharpness and a preference for a place of its own, and
the texts one score. A judge whose answers do not follow the others' gets little say, however sure
it sounds. Of two that do not follow each other nobody can tell which is wrong (the one that
scatters more need not be), so they have no ranking in common. What all judges get wrong alike
nobody can see here: it becomes the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from judging import metrics
from judging.panel.judgements import PanelError
from judging.panel.products import PanelFit, fit_panel
from judging.practice import findings as f
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.ranking import Ranking, names_of_judges
from poe.errors import ComparisonError, NotConvergedError
from poe.luck import luck, spread
from poe.ranks import shared_ranks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Together", "together"]


@dataclass(frozen=True, eq=False)
class Together:
    """Rankings of the same texts by several judges, as one.

    attribute, name : what was asked, and the context. fit : the product of all judges, None where
    it cannot be told, for the reason in `why`. judges : their names. own : each one's ranking.
    """

    attribute: str
    name: str
    fit: PanelFit | None
    judges: tuple[str, ...]
    own: tuple[Ranking, ...]
    level: float
    why: Any = ""

    def to_frame(self) -> pd.DataFrame:
        """A row a text, best first: rank, name, score, error, low, high.

        Every answer counts as one decision, so intervals are rather too wide.
        """
        import pandas as pd

        assert self.fit is not None, self.why
        order = np.argsort(-self.fit.scores, kind="stable")
        score, error = self.fit.scores[order], self.fit.standard_errors[order]
        half = norm.ppf(0.5 + self.level / 2.0) * error
        columns = {"rank": shared_ranks(score), "name": [self.fit.items[k] for k in order]}
        return pd.DataFrame(
            {**columns, "score": score, "error": error, "low": score - half, "high": score + half}
        )

    def reliability(self) -> pd.DataFrame:
        """A row a judge: judge, comparisons, agreement, sharpness, sharpness_se, and its bias.

        agreement is Spearman's correlation of its own ranking with the mean of the others'; a
        sharpness of 1 is the typical judge, of 0 one whose answers have nothing to do with the
        others'; first_between_equals is how often it prefers the first of two equal texts.
        """
        import pandas as pd

        others = self._scores()
        standard = others / np.maximum(others.std(axis=1, keepdims=True), 1e-12)
        rows = []
        for k, one in enumerate(self.own):
            rest = np.delete(standard, k, axis=0).mean(axis=0)
            agreement = float(metrics.spearman(standard[k], rest))
            rows.append((self.judges[k], len(one.comparisons), agreement))
        table = pd.DataFrame(rows, columns=["judge", "comparisons", "agreement"])
        if self.fit is None:
            return table
        skills = self.fit.skills()[["judge", "sharpness", "sharpness_se", "first_between_equals"]]
        return table.merge(skills, on="judge")

    def agreements(self) -> list[tuple[str, str, float]]:
        """Spearman's correlation of every two judges' own rankings."""
        scores = self._scores()
        return [
            (self.judges[a], self.judges[b], float(metrics.spearman(scores[a], scores[b])))
            for a, b in combinations(range(len(self.own)), 2)
        ]

    def findings(self) -> list[Any]:
        """Find what a reader should know."""
        found: list[Any] = [f.Pairwise(tuple(f.TwoJudges(*one) for one in self.agreements()[:3]))]
        if self.fit is None:
            return [*found, f.NoPanel(self.why)]
        order = np.argsort(-self.fit.scores, kind="stable")[:2]
        spread_of = self.fit.covariance
        gap = float(self.fit.scores[order[0]] - self.fit.scores[order[1]])
        i, j = order.tolist()
        error = float(
            np.sqrt(max(spread_of[i, i] + spread_of[j, j] - 2.0 * spread_of[i, j], 1e-12))
        )
        best, second = (self.fit.items[k] for k in order)
        equal = tuple(on_top(self.fit))
        case = "best" if len(equal) == 1 else "shared"
        n = len(self.fit.items)
        sure = float(luck(*spread(self.fit.scores, spread_of[:n, :n])).better(gap / error))
        found.append(f.ByAll(case, equal, best, second, sure))
        if weak := _weak(self.fit):
            found.append(f.Weak(tuple(weak)))
        return [*found, f.Alike()]

    def _scores(self) -> np.ndarray:
        """(K, N) of the texts that all judges ranked, each judge's own."""
        every = [dict(zip(one.fit.items, one.fit.scores, strict=True)) for one in self.own]
        common = [name for name in every[0] if all(name in one for one in every)]
        return np.array([[one[name] for name in common] for one in every])


def together(rankings: Sequence[Ranking]) -> list[Together]:
    """One ranking of each attribute and context that several judges ranked."""
    groups: dict[tuple[str, str], list[Ranking]] = {}
    for one in rankings:
        if one.judged is not None:
            groups.setdefault((one.attribute, one.name), []).append(one)
    panels = []
    for (attribute, name), own in groups.items():
        names = names_of_judges(own)
        if len(own) < 2:
            continue
        fit: PanelFit | None = None
        why: Any = ""
        try:
            fit = fit_panel({n: one.comparisons for n, one in zip(names, own, strict=True)})
        except (PanelError, ComparisonError, NotConvergedError) as error:
            why = str(error)
        if fit is not None and len(own) == 2 and _weak(fit):
            fit, why = None, f.NotFollowing()
        panels.append(Together(attribute, name, fit, names, tuple(own), own[0].level, why))
    return panels


def _weak(fit: PanelFit) -> list[str]:
    """Judges whose answers do not follow the others'."""
    table = fit.skills()
    return [str(one) for one in table[table["sharpness"] < 2.0 * table["sharpness_se"]]["judge"]]
