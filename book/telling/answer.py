"""The answer of the reproduction as one table.

Nothing is simulated here: it is read from the scorecard, the claims and the stored answers of the
models that were asked.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from book.telling.sentences import chance
from reproduction import run, significance
from reproduction.measured_tables import EACH_CALL
from reproduction.power import shares
from reproduction.published import NAMES
from reproduction.significance import CHANCE, CLEAR, LIKELY

# By method in the stored gains. Decisions are taken on the average of both orders' probabilities,
# which a judge that only decides cannot give, or by each call in each order.
RIVALS = {
    "win-ratio": "counting wins on decisions from both orders' average",
    f"win-ratio{EACH_CALL}": "counting wins on each call's decision",
    "BT": "Bradley-Terry on decisions from both orders' average",
    f"BT{EACH_CALL}": "Bradley-Terry on each call's decision",
    "avg-prob": "averaging probabilities",
}
DECIDED = list(RIVALS)[:-1]
AHEAD = 10.0  # per cent of the cells: by so much twins are better than a guess, or they are not


# The table ---------------------------------------------------------------------------------------


def table(card: pd.DataFrame) -> pd.DataFrame:
    """Claim, published, twins, each real judge, verdict: the book's question, and shares.

    The first rows: by how many points of Spearman's correlation PoE-BT ranks better than another
    method, with a fifth of SummEval's calls (published and twins: means over judges) and with two a
    text of a dialogue (`real`). What is printed stands beside decisions from both orders' average,
    as the twins take them, though the paper does not say which it took. The others are the shares
    of predictions that agree with print, beside those that a guess would have got right, on the
    cells for which it has anything.
    """
    rows: list[dict[str, str]] = [_gain(card, other) for other in RIVALS]
    blank = dict.fromkeys(list(rows[0])[3:-1], "")
    for row in shares(card).to_dict("records"):
        more = row["beside"] > row["guess"] + AHEAD
        fewer = row["on"] < row["predictions"]
        others = f", twins {row['beside']:.0f}%, of {row['on']}" if fewer else ""
        rows.append(
            {
                "claim": f"The twins give the printed numbers: {row['group']} "
                f"({row['predictions']})",
                "published": "",
                "twins": f"{row['agree']:.0f}% ({row['low']:.0f} to {row['high']:.0f})",
                **blank,
                "verdict": f"{'' if more else 'no '}better (guess {row['guess']:.0f}%{others})",
            }
        )
    return pd.DataFrame(rows)


def _gain(card: pd.DataFrame, other: str) -> dict[str, str]:
    cells = card[card["paper"] == "poe_v2"]
    cells = cells[(cells["table"] == "table5") & (cells["k"] == "48")]
    wide = cells.pivot(index="system", columns="method", values=["number", "ours"])
    printed, ours = (
        f"{(wide[of, 'PoE-BT'] - wide[of, other]).astype(float).mean():+.1f}"
        if (of, other) in wide
        else ""
        for of in ("number", "ours")
    )
    asked = real(other)
    return {
        "claim": f"PoE-BT ranks better than {RIVALS[other]}",
        "published": printed,
        "twins": ours,
        **{
            f"{row.system.split('-')[0]}, {NAMES[row.dataset]}": points(row)
            for row in asked.itertuples()
        },
        "verdict": counted(asked["said"]),
    }


def points(row: Any, *, chance: str = "") -> str:
    """A gain with its word: "+4.2 ± 1.0 (clear)"; chance : the word where it is neither."""
    said = chance if row.said == CHANCE else row.said
    number = f"{row.value:+.1f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{row.se:.1f}"
    return f"{number}{f' ({said})' if said else ''}".replace("-", "\N{MINUS SIGN}")


def counted(said: pd.Series) -> str:
    """How many gains have which word: "clear in 1 of 3, likely in 2"."""
    likely = int((said == LIKELY).sum())
    return (
        f"clear in {(said == CLEAR).sum()} of {len(said)}{f', likely in {likely}' * bool(likely)}"
    )


def gains() -> pd.DataFrame:
    """What PoE-BT gains on each of `RIVALS` with a part of the calls, against people's scores.

    Means over attributes, of each judge and data set with information: a judge whose ranking by
    all its answers cannot be told from chance is left out. Columns: system, dataset, contexts, k,
    other (of `RIVALS`), value and se, points and their standard error over contexts, and said,
    their word (`significance.words`): all rows are one family of tests, wherever one is told.
    """
    rows = measured("gains")
    rows = rows[(rows["attribute"] == "mean") & (rows["versus"] == "people")]
    whole = rows.groupby(["system", "dataset"])["k"].transform("max")
    rows = rows.assign(other=rows["method"].str.removeprefix("PoE-BT - "))[rows["k"] < whole]
    nothing = chance(measured("methods"))
    judges = zip(rows["system"], rows["dataset"], rows["other"], strict=True)
    keep = [key[:2] not in nothing and key[2] in RIVALS for key in judges]
    rows = rows[keep].reset_index(drop=True)
    columns = ["system", "dataset", "contexts", "k", "other", "value", "se"]
    return rows[columns].assign(said=significance.words(rows))


def real(other: str) -> pd.DataFrame:
    """Rows of `gains` over one rival with the fewest calls."""
    rows = gains()
    fewest = rows.groupby(["system", "dataset"])["k"].transform("min")
    return rows[(rows["k"] == fewest) & (rows["other"] == other)].reset_index(drop=True)


def at_chance() -> list[str]:
    """The judges that were asked and rank no better than chance, as "SmolLM2-135M on SummEval"."""
    pairs = sorted(chance(measured("methods")))
    return [f"{system} on {NAMES[dataset]}" for system, dataset in pairs]


def measured(name: str) -> pd.DataFrame:
    """Read a stored result about each model that was asked, as one table, the larger first."""
    both = (run.read(f"measured-qwen-{name}"), run.read(f"measured-{name}"))
    return pd.concat([table for table in both if table is not None], ignore_index=True)
