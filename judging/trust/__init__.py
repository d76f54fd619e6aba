"""How far people would go along with a judge: measured on some labels of theirs.

    labels = judging.trust.read_people("people.csv")       # id, score; or first, second, winner
    trust = judging.trust.trust(ranking.fit, labels)       # or several fits, one per context
    trust.agreement, trust.sharpness; trust.intervals(...); print(trust)

A few dozen labels tell how often people order two texts as the judge does, and with what interval;
what the judge's probabilities are worth to people; and, where people gave scores, an interval on
their scale for every text that nobody scored. `judging.trust.needed` says beforehand how many it
takes.
"""

from judging.trust.agreement import Agreement, Sharpness
from judging.trust.needed import Labels, needed
from judging.trust.people import People, read_people
from judging.trust.scale import Estimate, Scale, estimate
from judging.trust.trust import Trust, trust

__all__ = [
    "Agreement",
    "Estimate",
    "Labels",
    "People",
    "Scale",
    "Sharpness",
    "Trust",
    "estimate",
    "needed",
    "read_people",
    "trust",
]
