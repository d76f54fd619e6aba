"""Ten comparisons for each text, the field's rule, against what `poe.plan` asks for.

Kinnear, Jones and Davies (2025) find ten comparisons for every text "generally sufficient", which
have each text judged TWENTY times, as two take part in each, and ask for a reliability of .8. If
the scores of two halves of a session's judges correlate by h, all of them, who judged each text n
times, have 2 h / (1 + h), and the odds of a reliability r / (1 - r) grow in proportion to n
(Spearman and Brown). So twenty times give odds of (20 / n) 2 h / (1 - h), and for .8 it needs

    n' = 2 n (1 - h) / h.                                                                 (1)

*The rule* is held against (1) in the authors' 101 sessions, from the printed n and h. *The plan* is
tried where decisions are at hand, in eight: a random quarter of them gives a spread of scores (the
prior of largest evidence, `studies.sessions`), that spread and `poe.plan` a number of comparisons,
and halves of all decisions the reliability that this number, or twenty, would reach.

Declared before any of this was computed. Known by then: for the eight, halves and what the spread
of all decisions asks for (13 to 23 times); of the 64 sessions that were not adaptive, the authors'
medians of h, .59 where texts were judged fewer than 20 times, .73 to 37 times and .87 above.

 1. Of the sessions that were not adaptive and judged each text 20 times or more, at least three
    quarters reach .8 (chance .7).
 2. By (1) twenty times would bring fewer than 60% of those that were not adaptive to .8 (.7).
 3. In the three of the eight that were not adaptive, the plan from a quarter of the decisions comes
    within .05 of .8 (.6).
 4. In at least five of the eight it is nearer to .8 than twenty times (.6).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from poe.arrays import Floats
from reproduction.settings import Settings
from studies.sessions import (
    AIM,
    PRINTED,
    SHAPES,
    Session,
    asked_for,
    names,
    shrunken,
    split_halves,
)
from studies.sessions import table as file

RULE = 20.0  # times that a text is judged in ten comparisons for each
PILOT = 0.25  # of the decisions
DESIGNS = {"FALSE": "not adaptive", "TRUE": "adaptive", "UNKNOWN": "not said"}


def odds(h: Floats) -> Floats:
    """Odds of the reliability of all judges, of the correlation of two halves; 0 at the least."""
    return 2.0 * np.maximum(h, 0.0) / (1.0 - h)


def reached(h: Floats, judged: Floats, times: float | Floats) -> Floats:
    """Reliability with each text judged so many `times`, of halves of those who judged it n."""
    then = odds(h) * times / judged
    return np.asarray(then / (1.0 + then))


def needed(h: Floats, judged: Floats) -> Floats:
    """How often each text must be judged for `AIM`, equation (1); infinite where h <= 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(judged * AIM / (1.0 - AIM) / odds(h))


def printed() -> pd.DataFrame:
    """All sessions: design, judged (how often each text was) and h, as their authors printed."""
    both = file(SHAPES).merge(file(PRINTED), on="judging_session", validate="one_to_one")
    return pd.DataFrame(
        {
            "session": both["judging_session"],
            "design": both["adaptivity"].astype(str).str.upper().map(DESIGNS),
            "judged": 2.0 * both["observed_N_C"] / both["observed_N_R"],
            "h": both["median_split_corr"],
        }
    )


def rule(every: pd.DataFrame) -> list[dict[str, object]]:
    """What printed halves say of the rule: a row a design, how often judged, and quantity."""
    rows: list[dict[str, object]] = []
    for design, part in every.groupby("design"):
        often = part["judged"] >= RULE
        for judged, some in (("all", part), ("20 or more", part[often]), ("fewer", part[~often])):
            h, n = some["h"].to_numpy(), some["judged"].to_numpy()
            about = {"design": design, "judged": judged, "sessions": len(some)}
            if not len(some):
                continue
            found = {
                "reach .8, per cent": 100.0 * np.mean(reached(h, n, n) >= AIM),
                "would with twenty, per cent": 100.0 * np.mean(reached(h, n, RULE) >= AIM),
                "reliability with twenty, median": np.median(reached(h, n, RULE)),
            }
            for name, share in (("quarter", 0.25), ("half", 0.5), ("three quarters", 0.75)):
                found[f"needed by {name}"] = np.quantile(needed(h, n), share, method="lower")
            rows += [{**about, "quantity": name, "value": x} for name, x in found.items()]
    return rows


def planned(session: Session, rng: np.random.Generator) -> float:
    """How often each text would be judged, of a random `PILOT`; infinite where no plan does."""
    c = session.decisions
    some = rng.permutation(len(c))[: round(PILOT * len(c))]
    try:
        return asked_for(c.n_items, shrunken(c.take(some)).ridge ** -0.5)
    except ValueError:  # out of reach of all pairs: next to no spread was seen
        return np.inf


def plan(name: str, design: str, settings: Settings) -> list[dict[str, object]]:
    """What a pilot's plan and the rule would reach in one session."""
    session = Session.load(name)
    c = session.decisions
    n = np.array(2.0 * len(c) / c.n_items)
    h = np.array(split_halves(session, shrunken(c).ridge, settings.seed))
    rng = np.random.default_rng([settings.seed, 47])
    times = np.array([planned(session, rng) for _ in range(max(2, settings.draws // 10))])
    found = {
        "judged": n,
        "needed": needed(h, n),
        "planned, median": np.median(times),
        "planned, least": times.min(),
        "planned, most": times.max(),
        "reached with twenty": reached(h, n, RULE),
        "reached as planned": reached(h, n, np.median(times)),
    }
    about = {"session": name, "design": design}
    return [{**about, "quantity": what, "value": float(x)} for what, x in found.items()]


def table(settings: Settings) -> pd.DataFrame:
    """The target: rows of groups of all sessions (session empty), and of the eight by name."""
    every = printed()
    of = every.set_index("session")["design"]
    rows = rule(every) + [row for name in names() for row in plan(name, of[name], settings)]
    columns = ["session", "design", "judged", "sessions", "quantity", "value"]
    return pd.DataFrame(rows, columns=columns).assign(**settings.how("recorded", "real"))
