"""The kinds of finding: values without English, which `sentences.toml` says and `--json` prints.

Each is a frozen dataclass; `case` chooses among the sentences of a kind. Larger ones are classes
where they are worked out: `Advice`, `Position`, `Agreement`, `Gate`.
"""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any


def _kind(name: str, *fields: str) -> Any:
    return make_dataclass(name, fields, frozen=True, namespace={"__module__": __name__})


# What to do; each is the reason of an `Advice`.
Decided = _kind("Decided", "case", "best", "labels")  # labels : of people, to trust the judge
Drowned = _kind("Drowned", "case", "share", "place")  # by the place; of a judge or a table
NoBetterThanACoin = _kind("NoBetterThanACoin", "agreement")  # people and the judge
FewLabels = _kind("FewLabels", "wanted", "labels", "of_kind")
Open = _kind("Open", "case", "tie", "could", "odds")  # could : so many be the best
Tie = _kind("Tie", "case", "items")
Some = _kind("Some", "case", "names", "count", "of")  # items, by name where they are few
Odds = _kind("Odds", "case", "count", "chance", "takes")  # that more answers settle who is best
Takes = _kind("Takes", "read", "unit", "money")

# What was found.
Known = _kind("Known", "because")  # what a stopping rule asked for
Partial = _kind("Partial")
Best = _kind("Best", "case", "items", "of", "p")
Settled = _kind("Settled", "case", "share", "level")  # of the pairs
Unit = _kind("Unit", "logits", "one", "two")  # P(better) of what scores 1 higher, and 2
Comparisons = _kind("Comparisons", "count", "ties")

# What people say of the judge.
Unknown = _kind("Unknown")
Agrees = _kind("Agrees", "agreement", "labels", "of_kind")
Equal = _kind("Equal", "ties", "pairs")  # to people
Turned = _kind("Turned", "case")  # less often than a coin
Worth = _kind("Worth", "stated", "worth", "low", "high")  # of a probability, to people
Within = _kind("Within", "half", "level")
Untold = _kind("Untold", "case", "scores", "choices", "pairs", "least")  # too few labels
Correlation = _kind("Correlation", "spearman", "pearson", "texts")

# What was asked, and what it took.
Judge = _kind("Judge", "names")
Cost = _kind("Cost", "comparisons", "new", "stored", "read", "unit")
Stopped = _kind("Stopped", "of_kind", "because")
Ended = _kind("Ended", "case", "why", "budget", "had_more", "more")  # a leaderboard's asking
Intervals = _kind("Intervals")
Verbose = _kind("Verbose")

# Notes.
Note = _kind("Note", "text")
Silent = _kind("Silent", "texts", "more", "copies", "refused")  # texts without an answer
Why = _kind("Why", "text", "why")
Refused = _kind("Refused", "comparisons", "first", "second", "why", "refused")
OneLabel = _kind("OneLabel", "count", "of")  # answers that show one label only
NoLabel = _kind("NoLabel", "count")
OneOrder = _kind("OneOrder", "single", "of")  # comparisons, though both were wanted
AskedNow = _kind("AskedNow", "judge", "new", "known")
SameText = _kind("SameText", "pairs")  # answers that needed no call
LeftOut = _kind("LeftOut", "comparisons", "which", "why")
Unanswered = _kind("Unanswered", "systems")
Narrow = _kind("Narrow", "rule")  # intervals, by a rule that looks at the answers
Length = _kind("Length", "case", "judge", "r")  # the scores go with
Orders = _kind("Orders", "case", "orders", "c", "se")  # one or both, and why
InRuns = _kind("InRuns", "both", "of")  # rankings in both orders

InOrders = _kind("InOrders", "case", "both", "one")  # pairs
Width = _kind("Width", "case", "size", "shared", "freedom")  # where that of intervals comes from

# Leaderboards and fits.
MadeOf = _kind("MadeOf", "case", "name", "values")  # the intervals
FewClusters = _kind("FewClusters", "case", "name", "values")
NotApart = _kind("NotApart", "percent", "pairs", "more")
Neighbours = _kind("Neighbours", "upper", "lower")
LengthEffect = _kind("LengthEffect", "case", "method", "size", "low", "high")
LengthWinner = _kind("LengthWinner", "plain", "controlled")
FewNear = _kind("FewNear", "systems", "more")  # systems with few answers of equal length
Near = _kind("Near", "system", "comparisons")
Sure = _kind("Sure", "wanted", "p", "rate")  # that a requirement holds
Beyond = _kind("Beyond", "case", "left", "prompts")  # what these answers have left

# Several judges together.
Pairwise = _kind("Pairwise", "pairs")
TwoJudges = _kind("TwoJudges", "one", "other", "rho")
NoPanel = _kind("NoPanel", "why")
NotFollowing = _kind("NotFollowing")
ByAll = _kind("ByAll", "case", "equal", "best", "second", "sure")
Weak = _kind("Weak", "judges")
Alike = _kind("Alike")

__all__ = [name for name, one in globals().items() if isinstance(one, type) and name != "Any"]
