"""Does comparing help most where the judge is weak? Remeli and Hardt's claim, on stored answers.

Remeli and Hardt (2026, arXiv:2606.09409) rank models by Elo from pairwise comparisons and find that
the ranking has a Spearman correlation above .9 with the one by accuracy, and that it outperforms
direct evaluation substantially where the judge is weak. Two tests:

*Systems.* For the systems that wrote the texts: how often each is preferred in all calls about all
contexts ("comparisons"), which ranks as Elo or Bradley-Terry does where every pair was asked, and
the mean of its likeliest marks ("marks"), each against the mean that people gave it, Spearman's
times 100. "gain" is the first less the second. The weak judge is SmolLM2, of 135 million
parameters, the other Qwen2.5-Coder-1.5B; "weak - other" is the gain of the one less that of the
other, on the contexts that both were asked about. Errors are over contexts (bootstrap, paired).

*Right answers.* LLMBar's pairs have one. Recorded verdicts of the weaker ChatGPT and of GPT-4, with
the prompts Vanilla (which is better) and Rating (a mark for each; equal marks count half): per cent
of pairs that are right, and the same differences, on its set Natural and on its adversarial sets.

Their claim holds in a row where "weak - other" is above zero by two standard errors. Declared
before any of this was computed. Known by then: within contexts SmolLM2's marks agree better with
people than its comparisons, Qwen's on articles too; LLMBar's adversarial pairs mislead comparisons.

 1. "comparisons" is below 90 in the mean of attributes, with both judges and data sets (chance .7).
 2. For systems the claim holds in neither mean (.8); the weak judge's own gain is not above zero by
    two errors in either (.8).
 3. On Natural the claim holds (.6), on the adversarial pairs it is reversed by two errors (.5).

Added after the first run: for most attributes SmolLM2 decided every call by the place and gave all
texts one likeliest mark, so that its systems tie, which counts as an agreement of 0; hence as well
"soft comparisons", the mean probability of being preferred, and "soft marks", the expected ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judging.metrics import spearman
from poe.arrays import Floats, Indices
from reproduction import answers
from reproduction.llmbar import verdicts
from reproduction.measured_tables import DATASETS, asked
from reproduction.settings import Settings
from reproduction.twins import ATTRIBUTES

WEAK, OTHER = "smollm2", "qwen"
JUDGES = ("ChatGPT", "GPT-4")  # of LLMBar, the weaker first
PROMPTS = ("Vanilla", "Rating")
SETS = ("Natural", "adversarial")
SAID = ("comparisons", "marks", "soft comparisons", "soft marks")
WAYS = ("comparisons", "marks", "gain", "soft comparisons", "soft marks", "soft gain")
RESAMPLED = 1000  # sets of contexts


@dataclass(frozen=True, eq=False)
class Systems:
    """What each context says of the systems: said (4, C, N), in the order of `SAID`, gold (C, N).

    Wins are those of both places together; all have people's scores, gold, to agree with.
    """

    contexts: tuple[int, ...]
    said: Floats
    gold: Floats

    def at(self, contexts: Sequence[int]) -> Systems:
        """The same, of some contexts."""
        rows = [self.contexts.index(c) for c in contexts]
        return Systems(tuple(contexts), self.said[:, rows], self.gold[rows])

    def agreement(self, drawn: Indices) -> Floats:
        """Spearman's with people in the order of `WAYS`, (6, R) of drawn (R, C); 0 if all tie."""
        gold = self.gold[drawn].mean(axis=1)
        means = self.said[:, drawn].mean(axis=2).round(9)  # sums in another order are the same
        wins, marks, soft, expected = (100.0 * np.nan_to_num(spearman(x, gold)) for x in means)
        return np.stack([wins, marks, wins - marks, soft, expected, soft - expected])


def systems(dataset: str, attribute: str, which: str) -> Systems | None:
    """What a model said of an attribute in contexts whose texts it marked, None without such."""
    pairs, alone = (asked(dataset, attribute, name, which) for name in ("poe", "g-eval"))
    if pairs is None or alone is None or not pairs.whole:
        return None
    there = [c for c in pairs.contexts if c in alone.contexts]
    here, marked = ([x.contexts.index(c) for c in there] for x in (pairs, alone))
    p, log_marks = pairs.p[here], alone.log_p[marked]
    share = np.exp(log_marks)
    expected = share @ np.arange(1.0, 6.0) / share.sum(axis=-1)
    decided = np.where(np.isnan(p), np.nan, np.heaviside(p - 0.5, 0.5))
    wins, soft = (np.nansum(x, axis=-1) - np.nansum(x, axis=-2) for x in (decided, p))
    said = np.stack([wins, 1.0 + log_marks.argmax(axis=-1), soft, expected])
    return Systems(tuple(there), said, pairs.gold[here])


def of_systems(dataset: str, seed: int) -> list[dict[str, object]]:
    """Rows of a data set: attributes that both judges were asked about, and their mean."""
    rows: list[dict[str, object]] = []
    every: list[dict[str, Floats]] = []
    for attribute in ATTRIBUTES[dataset].values():
        both = {which: systems(dataset, attribute, which) for which in (WEAK, OTHER)}
        known = {which: one for which, one in both.items() if one is not None}
        if len(known) < 2:
            continue
        shared = sorted(set.intersection(*(set(one.contexts) for one in known.values())))
        rng = np.random.default_rng([seed, len(shared)])
        # The first set is all contexts, the rest are drawn from them: the same for all attributes.
        some = rng.integers(len(shared), size=(RESAMPLED, len(shared)))
        drawn = np.concatenate([np.arange(len(shared))[None], some])
        each = {which: one.at(shared).agreement(drawn) for which, one in known.items()}
        every.append(each)
        rows += _rows(dataset, attribute, len(shared), each)
    mean = {which: np.mean([each[which] for each in every], axis=0) for which in (WEAK, OTHER)}
    return rows + _rows(dataset, f"mean of {len(every)}", len(shared), mean)


def _rows(
    dataset: str, attribute: str, contexts: int, each: dict[str, Floats]
) -> list[dict[str, object]]:
    """A row a judge and way, and "weak - other"; each (6, 1 + resampled)."""
    named = {answers.KNOWN[which].name: values for which, values in each.items()}
    named["weak - other"] = each[WEAK] - each[OTHER]
    about: dict[str, object] = {"dataset": dataset, "attribute": attribute, "contexts": contexts}
    return [
        {"system": name, **about, "way": way, "value": x[0], "se": x[1:].std(ddof=1)}
        for name, values in named.items()
        for way, x in zip(WAYS, values, strict=True)
        if name != "weak - other" or "gain" in way
    ]


def right(judge: str, strategy: str, sets: str) -> pd.Series:
    """For each pair (by set and item) how often a judge's verdict is the label, in both orders."""
    table, _ = verdicts(sets, strategy)
    own = table[table["judge"] == f"{judge}/{strategy}"]
    best = np.where(own["label"] == 1, own["p1"], 1.0 - own["p1"])
    return own.assign(best=best).groupby(["set", "item"])["best"].mean()


def of_answers(sets: str) -> list[dict[str, object]]:
    """Rows of LLMBar's pairs of some sets, those with all four verdicts; errors over pairs."""
    ways = {(judge, way): right(judge, way, sets) for judge in JUDGES for way in PROMPTS}
    found = 100.0 * pd.DataFrame(ways).dropna()
    each: dict[tuple[str, str], pd.Series] = {}
    for judge in JUDGES:
        one, other = (found[judge, way] for way in PROMPTS)
        each |= {(judge, "comparisons"): one, (judge, "marks"): other, (judge, "gain"): one - other}
    each["weak - other", "gain"] = each[JUDGES[0], "gain"] - each[JUDGES[1], "gain"]
    about: dict[str, object] = {"dataset": "llmbar", "attribute": sets, "contexts": len(found)}
    return [
        {"system": name, **about, "way": way, "value": x.mean(), "se": x.sem()}
        for (name, way), x in each.items()
    ]


def table(settings: Settings) -> pd.DataFrame:
    """The target: a row a judge (or "weak - other"), data set, attribute or set, and way."""
    rows = [row for dataset in DATASETS for row in of_systems(dataset, settings.seed)]
    said = [{**row, "kind": "measured"} for row in rows]
    said += [{**row, "kind": "recorded"} for name in SETS for row in of_answers(name)]
    end = {"labels": "real", "draws": RESAMPLED, "seed": settings.seed}
    return pd.DataFrame(said).assign(**end)
