"""The answer of the reproduction on one screen: a table, and four boxes.

Nothing is simulated here: it is read from the scorecard, the claims and the stored answers of the
models that were asked.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from markupsafe import Markup

from reproduction import claims, run, significance, verdicts
from reproduction.measured_tables import EACH_CALL
from reproduction.published import NAMES, TITLES
from reproduction.significance import CHANCE, CLEAR, LIKELY
from reproduction.small import PRINTED
from reproduction.telling import real_judge
from reproduction.telling.pages import css, listing
from reproduction.telling.power import shares
from reproduction.telling.sentences import HEADLINES, NO_INFORMATION, chance
from reproduction.verdicts import predictions

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
EACH = {"topicalchat": "a dialogue", "summeval": "an article"}
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


def real(other: str, *, printed: bool = False) -> pd.DataFrame:
    """Rows of `gains` over one rival with the fewest calls.

    printed : with the paper's own few calls instead, where these are more.
    """
    rows = gains()
    fewest = rows.groupby(["system", "dataset"])["k"].transform("min")
    paper = rows["dataset"].map(PRINTED)
    rows = rows[(rows["k"] == paper) & (paper > fewest) if printed else rows["k"] == fewest]
    return rows[rows["other"] == other].reset_index(drop=True)


def at_chance() -> list[str]:
    """The judges that were asked and rank no better than chance, as "SmolLM2-135M on SummEval"."""
    pairs = sorted(chance(measured("methods")))
    return [f"{system} on {NAMES[dataset]}" for system, dataset in pairs]


def measured(name: str) -> pd.DataFrame:
    """Read a stored result about each model that was asked, as one table, the larger first."""
    both = (run.read(f"measured-qwen-{name}"), run.read(f"measured-{name}"))
    return pd.concat([table for table in both if table is not None], ignore_index=True)


# The boxes ---------------------------------------------------------------------------------------


def boxes(card: pd.DataFrame, tables: pd.DataFrame, held: pd.DataFrame) -> Markup:
    """What came out, what did not, what no test tells, and what real models showed.

    tables : `pages.standing(card)`; held : `sentences.overview()`.
    """
    rows = predictions(verdicts.unique(card))
    odd, missing = rows[rows["verdict"] == "differs"], (card["verdict"] == "not tested").sum()
    ten = held[held["id"].isin(HEADLINES)]
    holding = ten.loc[ten["simulated verdict"] == "holds", "id"]
    spared = sum(bool(claims.all_claims()[name].without) for name in holding)
    twins, asked = ten["simulated verdict"].value_counts(), real_judge.counts()
    lost = held["published verdict"].eq("holds") & held["simulated verdict"].eq("does not hold")
    judge = odd["system"].value_counts().index[0]
    agree, n, cells = (rows["verdict"] == "agrees").sum(), len(rows), len(card)
    few, more = (pd.concat([real(other, printed=of) for other in DECIDED]) for of in (False, True))
    told = held["measured verdict"].value_counts()
    hold, fail, near = (int(told.get(x, 0)) for x in ("holds", "does not hold", "borderline"))

    def of(*words: str) -> str:
        return named(tables[tables["word"].isin(words)]) or "none"

    out = _box(
        "agrees",
        "Came out again",
        f"{agree} of {n}",
        "predictions by twins agree with print",
        f"{twins.get('holds', 0)} of {len(ten)} headline claims hold for the twins ({spared} of "
        f"them without Mistral-7B); {twins.get('does not hold', 0)} fail.",
        f"Tables that agree, or mostly: {of('agrees', 'mostly agrees')}.",
    )
    out += _box(
        "differs",
        "Did not come out",
        f"{len(odd)} of {n}",
        f"predictions differ (with perfect twins about {verdicts.BY_CHANCE * n:.0f} would)",
        f"{(odd['cause'] == verdicts.UNKNOWN).sum()} of them without a known cause; "
        f"{(odd['system'] == judge).sum()} are {judge}’s.",
        f"Tables in which more than a third differ: {of('differs')}.",
        f"{lost.sum()} of {len(held)} claims hold in print and fail for the twins: "
        + "; ".join(f"“{text}”" for text in held.loc[lost, "claim"])
        + ".",
    )
    out += _box(
        "undecided",
        "No test here could tell",
        f"{missing} of {cells}",
        "printed numbers have nothing here to be compared with",
        f"Whole tables without a test: {of('not tested')}.",
        f"Tested, but wrong answers would often have passed as well: {of('cannot tell')}.",
        f"{twins.get('cannot be checked', 0)} of the ten headline claims cannot be tested with "
        "twins. None of the papers’ own judges was asked.",
    )
    out += _box(
        "agrees" if (pd.concat([few, more])["said"] == CLEAR).all() else "undecided",
        "What real models showed",
        f"{(few['said'] == CLEAR).sum()} of {len(few)}",
        f"gains of PoE-BT over methods on decisions are clear with {_calls(few)}, "
        f"{(few['said'] == LIKELY).sum()} more are likely",
        f"With the paper’s own {_calls(more)}: {counted(more['said'])}.",
        f"SmolLM2-135M gives a verdict on {hold + fail + near} of the {len(held)} claims: {hold} "
        f"hold, {near} are borderline, {fail} fail. At chance: {', '.join(at_chance())}.",
        f"The headline claims on the larger model, on dialogues and on summaries: of "
        f"{sum(asked.values())} verdicts {asked.get('holds', 0)} hold, "
        f"{asked.get('does not hold', 0)} fail, {asked.get('borderline', 0)} are borderline, "
        f"{asked.get(NO_INFORMATION, 0)} get no information.",
    )
    return Markup('<div class="in-short">{}</div>').format(out)


def _calls(gains: pd.DataFrame) -> str:
    """Of which texts: "12 calls a dialogue or 48 an article"."""
    each = gains.drop_duplicates("dataset")
    parts = [f"{k} {EACH[of]}" for of, k in zip(each["dataset"], each["k"], strict=True)]
    return " or ".join(parts).replace(" ", " calls ", 1)


def named(rows: pd.DataFrame) -> str:
    """Tables in words: "PoE v2 Tables 1, 2 and 5; Comparative assessment Table 3"."""
    parts = []
    for paper, names in rows.groupby("paper", sort=False)["table"]:
        numbers = [name.removeprefix("table") for name in names]
        words = " and ".join([", ".join(numbers[:-1]), numbers[-1]] if numbers[1:] else numbers)
        short = TITLES[str(paper)].replace(", version ", " v")
        parts.append(f"{short} Table{'s' * bool(numbers[1:])} {words}")
    return "; ".join(parts)


def _box(look: str, head: str, count: str, what: str, *lines: str) -> Markup:
    box = Markup(
        '<section class="{}"><p class="head">{}</p><p><b>{}</b> {}</p><ul>{}</ul></section>'
    )
    return box.format(css(look), head, count, what, listing("<li>{}</li>", lines))
