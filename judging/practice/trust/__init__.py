"""How far people would go along with a judge: measured on some labels of theirs.

    from judging.practice import trust

    labels = trust.read_people("people.csv")       # id, score; or first, second, winner
    found = trust.trust(ranking.fit, labels)       # or several fits, one per context
    found.agreement, found.sharpness; found.intervals(...); print(found)

A few dozen labels tell how often people order two texts as the judge does, and with what interval;
what the judge's probabilities are worth to people; and, where people gave scores, an interval on
their scale for every text that nobody scored. `judging.practice.trust.needed` says beforehand how
many it takes.
"""

from judging.practice.trust.agreement import Agreement, Sharpness
from judging.practice.trust.needed import Labels, needed
from judging.practice.trust.people import People, read_people
from judging.practice.trust.scale import Scale
from judging.practice.trust.trust import Trust, trust

__all__ = [
    "Agreement",
    "Labels",
    "People",
    "Scale",
    "Sharpness",
    "Trust",
    "needed",
    "read_people",
    "trust",
]
