"""The answer of the reproduction on one screen: a table, and four boxes.

Nothing is simulated here: it is read from the scorecard, the claims and the stored answers of the
models that were asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from reproduction import claims, run, verdicts
from reproduction.published import NAMES, TITLES
from reproduction.small import PRINTED
from reproduction.telling import real_judge
from reproduction.telling.pages import css, listing
from reproduction.telling.power import shares
from reproduction.telling.sentences import HEADLINES, NO_INFORMATION, chance
from reproduction.verdicts import predictions

RIVALS = {
    "win-ratio": "counting wins",
    "BT": "Bradley-Terry on decisions",
    "avg-prob": "averaging probabilities",
}
EACH = {"topicalchat": "a dialogue", "summeval": "an article"}
AHEAD = 10.0  # per cent of the cells: by so much twins are better than a guess, or they are not


# The table ---------------------------------------------------------------------------------------


def table(card: pd.DataFrame) -> pd.DataFrame:
    """Claim, published, twins, each real judge, verdict: the book's question, and shares.

    The first rows: by how many points of Spearman's correlation PoE-BT ranks better than another
    method, with a fifth of SummEval's calls (published and twins: means over judges) and with two a
    text of a dialogue (`real`). The others are the shares of predictions that agree with print,
    beside those that a guess would have got right, on the cells for which it has anything.
    """
    rows: list[dict[str, str]] = [_gain(card, other) for other in RIVALS]
    blank = dict.fromkeys(list(rows[0])[3:-1], "")
    ahead = False  # on one of this paper's own groups, which come before all together
    for row in shares(card).to_dict("records"):
        more = row["beside"] > row["guess"] + AHEAD
        ahead |= more and row["group"].startswith("PoE")
        only = " only through the earlier paper" * (more and row["group"] == "all" and not ahead)
        fewer = row["on"] < row["predictions"]
        others = f", twins {row['beside']:.0f}%, of {row['on']}" if fewer else ""
        rows.append(
            {
                "claim": f"The twins give the printed numbers: {row['group']} "
                f"({row['predictions']})",
                "published": "",
                "twins": f"{row['agree']:.0f}% ({row['low']:.0f} to {row['high']:.0f})",
                **blank,
                "verdict": f"{'' if more else 'no '}better{only} "
                f"(guess {row['guess']:.0f}%{others})",
            }
        )
    return pd.DataFrame(rows)


def _gain(card: pd.DataFrame, other: str) -> dict[str, str]:
    cells = card[card["paper"] == "poe_v2"]
    cells = cells[(cells["table"] == "table5") & (cells["k"] == "48")]
    wide = cells.pivot(index="system", columns="method", values=["number", "ours"])
    printed, ours = (
        f"{(wide[of, 'PoE-BT'] - wide[of, other]).astype(float).mean():+.1f}"
        for of in ("number", "ours")
    )
    asked = real(other)
    sure = clear(asked)
    return {
        "claim": f"PoE-BT ranks better than {RIVALS[other]}",
        "published": printed,
        "twins": ours,
        **{
            f"{row.system.split('-')[0]}, {NAMES[row.dataset]}": (
                f"{row.value:+.1f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{row.se:.1f}"
                f"{', clear' if known else ''}"
            )
            for row, known in zip(asked.itertuples(), sure, strict=True)
        },
        "verdict": f"clear in {sure.sum()} of {len(sure)}",
    }


def clear(gains: pd.DataFrame) -> pd.Series:
    """Which exceed two of their standard errors."""
    return gains["value"] > 2.0 * gains["se"]


def real(other: str, *, printed: bool = False) -> pd.DataFrame:
    """What PoE-BT gains on another method with the fewest calls, for each judge with information.

    printed : with the paper's own few calls instead, where these are more. Columns: system,
    dataset, k, value and se, points and their standard error over contexts. A judge whose ranking
    by all its answers cannot be told from chance is left out.
    """
    gains = _measured("gains")
    gains = gains[(gains["attribute"] == "mean") & (gains["versus"] == "people")]
    fewest = gains.groupby(["system", "dataset"])["k"].transform("min")
    paper = gains["dataset"].map(PRINTED)
    gains = gains[(gains["k"] == paper) & (paper > fewest) if printed else gains["k"] == fewest]
    gains = gains[gains["method"] == f"PoE-BT - {other}"]
    nothing = chance(_measured("methods"))
    keep = [key not in nothing for key in zip(gains["system"], gains["dataset"], strict=True)]
    return gains.loc[keep, ["system", "dataset", "k", "value", "se"]].reset_index(drop=True)


def at_chance() -> list[str]:
    """The judges that were asked and rank no better than chance, as "SmolLM2-135M on SummEval"."""
    pairs = sorted(chance(_measured("methods")))
    return [f"{system} on {NAMES[dataset]}" for system, dataset in pairs]


def _measured(name: str) -> pd.DataFrame:
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
    few, more = ([real(other, printed=of) for other in ("win-ratio", "BT")] for of in (False, True))
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
        "agrees" if all(clear(one).all() for one in (*few, *more)) else "undecided",
        "What real models showed",
        _clear_of(few),
        f"gains of PoE-BT are clear over counting wins, and over Bradley-Terry, with {_calls(few)}",
        f"With the paper’s own {_calls(more)}: {_clear_of(more)}.",
        f"SmolLM2-135M gives a verdict on {hold + fail + near} of the {len(held)} claims: {hold} "
        f"hold, {near} are borderline, {fail} fail. At chance: {', '.join(at_chance())}.",
        f"The headline claims on the larger model, on dialogues and on summaries: of "
        f"{sum(asked.values())} verdicts {asked.get('holds', 0)} hold, "
        f"{asked.get('does not hold', 0)} fail, {asked.get('borderline', 0)} are borderline, "
        f"{asked.get(NO_INFORMATION, 0)} get no information.",
    )
    return Markup('<div class="in-short">{}</div>').format(out)


def _clear_of(gains: Sequence[pd.DataFrame]) -> str:
    return ", ".join(f"{clear(one).sum()} of {len(one)}" for one in gains)


def _calls(gains: Sequence[pd.DataFrame]) -> str:
    """Of which texts: "12 calls a dialogue or 48 an article"."""
    each = gains[0].drop_duplicates("dataset")
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
