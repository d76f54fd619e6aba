"""Pictures of the first screens: one finding each, read from stored results.

    >>> from book.telling import pictures
    >>> pictures.crossing(pictures.leads())  # doctest: +SKIP

What they share is in `marks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from book.telling import answer
from book.telling.drawings import LETTERS, WIDTH
from book.telling.marks import (
    GREY,
    KINDS,
    POINTS,
    TEXTS,
    effects,
    forest,
    grid,
    key,
    minus,
    name_rows,
    short,
    spread,
    with_t,
)
from judging import plots
from poe.choose import orders
from reproduction.answers import QWEN
from reproduction.published import load
from reproduction.results import stored, where
from reproduction.small import PRINTED

CALLS = {"topicalchat": 30, "summeval": 240}  # all of a context
OVER = {"win-ratio": "counting wins", "BT": "Bradley-Terry", "avg-prob": "averaging"}

# What the product adds ----------------------------------------------------------------------------


def products_gains() -> dict[str, pd.DataFrame]:
    """Collect what PoE-BT gains on three rivals: printed for five judges, measured for two.

    Printed: the cells of Tables 5 and 7 with few calls, one dot a judge. Measured: means over
    attributes with 95% intervals over dialogues or articles (`answer.gains`).
    """
    real = with_t(answer.gains())
    panels = {}
    for other, name in OVER.items():
        rows = []
        for table, dataset in (("table5", "summeval"), ("table7", "topicalchat")):
            cells = load(table).query("k == @few", local_dict={"few": str(PRINTED[dataset])})
            wide = cells.pivot_table(index="system", columns="method", values="number")
            gain = pd.DataFrame({"value": wide["PoE-BT"] - wide[other]})
            label = f"The paper's five judges,\n{TEXTS[dataset]}, {_of(PRINTED[dataset], dataset)}"
            rows.append(effects(label, "published", gain))
        part = real[real["other"] == other]
        for (system, dataset, k), one in part.groupby(["system", "dataset", "k"], sort=False):
            label = (
                f"{short(system)},\n{one['contexts'].iloc[0]} {TEXTS[dataset]}, {_of(k, dataset)}"
            )
            rows.append(effects(label, "measured", one))
        panels[f"over {name}"] = pd.concat(rows, ignore_index=True)
    return panels


def _of(k: int, dataset: str) -> str:
    return f"{k} of {CALLS[dataset]}"


def side_by_side(panels: Mapping[str, pd.DataFrame], *, height: float = 3.9) -> Figure:
    """Draw forests of the same rows beside each other, on one scale."""
    figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, height), sharex=True)
    for at, (ax, (title, rows)) in enumerate(zip(axes, panels.items(), strict=True)):
        forest(ax, rows, labels=not at)
        ax.set_title(fill(title, 13), fontsize=LETTERS)
    figure.supxlabel(POINTS, fontsize=LETTERS)
    key(figure, pd.concat(panels.values())["kind"])
    return figure


# What is new --------------------------------------------------------------------------------------


def new_effects() -> dict[str, pd.DataFrame]:
    """Collect the effects that this book adds, by what they are measured in.

    Points: gains in agreement with people. Calls: per cent saved at equal error. Intervals: how
    many of those that promise 95% hold, a dot each judge and design.
    """
    return {
        "points of agreement with people": _new_points(),
        "calls saved, %": _new_calls(),
        "95% intervals that hold, %": _new_intervals(),
    }


def _new_points() -> pd.DataFrame:
    gains = with_t(where(answer.gains(), system=QWEN.name, other="BT"))
    rows = [
        effects(f"Product: {TEXTS[d]}, {_of(k, d)} calls", "measured", part)
        for (d, k), part in gains.groupby(["dataset", "k"], sort=False)
    ]
    prior = {"question": "methods", "method": "EB-logit-g", "against": "PoE-BT"}
    for kind in ("recorded", "simulated"):
        part = stored(f"beyond-{kind}", **prior)
        few = part[part["k"] == part["k"].min()]
        label = "A prior learnt from few answers"
        rows.append(effects(label, kind, with_t(few, "of")))
    leans = stored("text-bias", attribute="mean", design="one order", pooled="all")
    few = leans.sort_values("k").drop_duplicates(["system", "dataset"])
    few = few.assign(value=few["people_gain"], se=few["people_se"])
    rows.append(effects("A place bias for each text", "measured", with_t(few)))
    return pd.concat(rows, ignore_index=True)


def _new_calls() -> pd.DataFrame:
    large = {"system": QWEN.name, "template": "poe"}
    both = stored("orders", quantity="scores", dataset="summeval", k=48, **large)
    one = stored("board-orders", dataset="topicalchat", **large)
    rules = stored("rules", versus="itself", texts=16, kind="measured")
    rules = rules.assign(value=100.0 * (1.0 - rules["ratio"]))
    looked, blind = (rules[rules["rule"] == rule] for rule in ("laplace", "determinant"))
    by_label = {
        "Both orders, ranking summaries": both.assign(value=both["regret_one"]),
        "One order, ranking systems": one.assign(value=one["regret_both"]),
        "Next pair by the paper's rule": looked,
        "Next pair without looking": blind,
    }
    parts = [effects(label, "measured", rows) for label, rows in by_label.items()]
    return pd.concat(parts, ignore_index=True)


def _new_intervals() -> pd.DataFrame:
    cover, few = stored("coverage"), stored("shrinkage")
    rows = [
        effects(name, "simulated", cover[cover["covariance"] == covariance])
        for name, covariance in (
            ("Each answer taken by itself", "scatter"),
            ("A pair's answers together", "paired"),
        )
    ]
    chosen = "Few answers, prior chosen"
    for name, method in ((chosen, "fitted"), ("The same, prior averaged", "averaged")):
        by_kind = few[few["method"] == method].groupby("kind")
        rows += [effects(name, kind, part) for kind, part in by_kind]
    return pd.concat(rows, ignore_index=True)


def stacked(panels: Mapping[str, pd.DataFrame], lines: tuple[float, ...]) -> Figure:
    """Draw forests with scales of their own below each other.

    lines : where nothing happens, or what was promised, on each.
    """
    heights = [rows["label"].nunique() for rows in panels.values()]
    size = (WIDTH, 0.23 * sum(heights) + 1.4)
    figure, axes = plt.subplots(len(panels), 1, figsize=size, height_ratios=heights)
    for ax, (title, rows), line in zip(axes, panels.items(), lines, strict=True):
        forest(ax, rows, line=line)
        ax.set_xlabel(title, fontsize=LETTERS, labelpad=1)
        ax.tick_params(axis="x", labelsize=LETTERS)
    key(figure, pd.concat(panels.values())["kind"])
    return figure


# The crossing -------------------------------------------------------------------------------------


def leads() -> pd.DataFrame:
    """Compute by how much the product leads on counting wins, at every number of calls stored.

    Columns: system, dataset, contexts, k, share (per cent of all calls), lead, and se over contexts
    where the paired gains are stored, else NaN. Agreement with people, means over attributes,
    decisions on the average of both orders; a judge at chance is left out, as in `answer.gains`.
    """
    methods, gains = (answer.measured(name) for name in ("methods", "gains"))
    known = {tuple(x) for x in answer.gains()[["system", "dataset"]].itertuples(index=False)}
    rows = methods.query(
        "attribute == 'mean' and metric == 'spearman' and selection != 'greedy'"
        " and template == 'poe'"
    )
    at = ["system", "dataset", "contexts", "k"]
    wide = rows.pivot_table(index=at, columns="method", values="value", sort=False).reset_index()
    lead = wide[at].assign(lead=wide["PoE-BT"] - wide["win-ratio"])
    gains = gains.query(
        "attribute == 'mean' and versus == 'people' and method == 'PoE-BT - win-ratio'"
    )
    lead = lead.merge(
        gains[["system", "dataset", "k", "se"]], how="left", on=["system", "dataset", "k"]
    )
    keep = [key in known for key in zip(lead["system"], lead["dataset"], strict=True)]
    share = 100.0 * lead["k"] / lead["dataset"].map(CALLS)
    return lead.assign(share=share)[keep].sort_values([*at]).reset_index(drop=True)


def zero_crossings(lead: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Find the share of calls, per cent, at which those lines of `leads` that do cross zero."""
    found = {}
    for name, part in lead.groupby(["system", "dataset"]):
        below = np.flatnonzero(part["lead"] <= 0.0)
        if not len(below):
            continue
        after = int(below[0])
        (x0, y0), (x1, y1) = part[["share", "lead"]].iloc[[after - 1, after]].to_numpy()
        found[name] = float(x0 + (x1 - x0) * y0 / (y0 - y1))
    return found


def headline() -> dict[str, str]:
    """Say the quantities that several pages quote, in words: the one place where they are made.

    ahead : points by which the product leads while at most two fifths of the calls are asked.
    every : the difference with all of them. saved : per cent of the calls that both orders save at
    least, ranking summaries with 48 calls. chosen : what choosing the next pair saves on average.
    """
    lead = leads()
    few, every = lead[lead["share"] <= 100.0 * FEW], lead[lead["share"] == 100.0]
    calls = _new_calls().groupby("label", sort=False)["value"]
    both, _, looked, _ = (rows for _, rows in calls)
    return {
        "ahead": f"{few['lead'].min():.0f} to {few['lead'].max():.0f}",
        "every": minus(f"{every['lead'].min():+.1f} to {every['lead'].max():+.1f}"),
        "saved": f"{both.min():.0f}",
        "chosen": f"{looked.mean():.0f}",
    }


FEW = 0.4  # of the calls: with the fewest of a dialogue that link its six replies
BESIDE = ((43, 4.9), (12.5, 4.1), (36, -1.7))  # where a line's name stands, in share and points
DASHES = ("-", (0, (5, 2)), (0, (1, 1)))


def crossing(lead: pd.DataFrame, *, height: float = 3.3) -> Figure:
    """Draw the product's lead on counting wins as a line a judge and data set, with two errors."""
    figure, ax = plt.subplots(figsize=(WIDTH, height))
    ax.axhline(0.0, color=GREY, lw=1)
    lines = [(name, part) for name, part in lead.groupby(["system", "dataset"])]
    for at, ((system, dataset), part) in enumerate(
        sorted(lines, key=lambda x: -x[1]["lead"].max())
    ):
        colour = plots.ITEMS[at]
        ax.plot(part["share"], part["lead"], color=colour, ls=DASHES[at], lw=1.8)
        some = part.dropna(subset="se")
        look: dict[str, Any] = {"fmt": "o^s"[at], "ms": 5, "lw": 1, "capsize": 2.5}
        ax.errorbar(
            some["share"] + 0.7 * (at - 1), some["lead"], 2.0 * some["se"], color=colour, **look
        )
        name = f"{short(system)},\n{TEXTS[dataset]}"
        put: dict[str, Any] = {"linespacing": 1.05, "fontsize": LETTERS, "va": "center"}
        x, y = BESIDE[at]
        ax.text(x, y, name, color=colour, **put)
    low, high = ax.get_ylim()
    ax.text(
        101, 0.96 * high, "the product is ahead", ha="right", va="top", color=GREY, fontsize=LETTERS
    )
    ax.text(14, 0.96 * low, "counting wins is ahead", va="bottom", color=GREY, fontsize=LETTERS)
    ax.set(xlabel="questions asked, % of all", ylabel="lead, points", xlim=(11, 103))
    plots.evidence(ax, "measured")
    return figure


# A judge before and after it was asked ------------------------------------------------------------


SUMMARIES = {"topicalchat": "dialogues", "summeval": "summaries"}


def first_places() -> pd.DataFrame:
    """Collect how often each judge prefers what it reads first, a row a prompt, for `forest`.

    On dialogues the mean over attributes; on summaries the larger judge's coherence, which alone
    was asked with several prompts.
    """
    rows = answer.measured("wording").query("quantity == 'first-position'")
    dialogues = where(rows, dataset="topicalchat", attribute="mean")
    summaries = where(rows, dataset="summeval", attribute="coherence", system=QWEN.name)
    rows = pd.concat([dialogues, summaries], ignore_index=True)
    words = rows["dataset"].map(SUMMARIES)
    names = [
        f"{short(system)}, {texts}" for system, texts in zip(rows["system"], words, strict=True)
    ]
    rows = rows.assign(label=names, low=np.nan, high=np.nan)
    return rows[["label", "template", "kind", "value", "low", "high"]]


NAMES_APART = 25.0  # per cent, between which two names stand side by side


def prompts(rows: pd.DataFrame) -> Figure:
    """Draw a dot for each prompt, at the share of answers that prefer the first place.

    rows : `first_places`. The ends of each row are named by their prompts.
    """
    figure, ax = plt.subplots(figsize=(WIDTH, 2.3))
    forest(ax, rows, line=50.0)
    for y, (_, part) in enumerate(rows.groupby("label", sort=False)):
        ends = part.loc[[part["value"].idxmin(), part["value"].idxmax()], ["value", "template"]]
        apart = np.ptp(ends["value"]) > NAMES_APART
        for (x, name), shift in zip(ends.to_numpy(), (0 if apart else -22, 0), strict=True):
            put: dict[str, Any] = {
                "textcoords": "offset points",
                "fontsize": LETTERS,
                "color": GREY,
            }
            ax.annotate(name, (x, y), (shift, 7), ha="center", **put)
    ax.set(xlim=(0, 104), xlabel="answers that prefer the first place, %")
    plots.evidence(ax, "measured")
    return figure


def marks_or_comparisons() -> pd.DataFrame:
    """Collect what comparing gains over expected marks, with all calls, for `forest`.

    Columns beside those of `effects`: attribute, of which "mean" has a 95% interval over dialogues
    or articles and the others none.
    """
    rows = answer.measured("absolute").query("method == 'avg-prob - expected'")
    rows = with_t(rows.dropna(subset=["value"]))
    rows = rows.assign(mean=rows["attribute"] == "mean").sort_values("mean", kind="stable")
    rows[["low", "high"]] = rows[["low", "high"]].where(rows["mean"])
    parts = [
        effects(f"{short(system)}, {SUMMARIES[dataset]}", "measured", part).assign(
            attribute=part["attribute"]
        )
        for (system, dataset), part in rows.groupby(["system", "dataset"], sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def grading(rows: pd.DataFrame) -> Figure:
    """Draw on which side of marks comparing falls: a mean with its interval, faint its attributes.

    rows : `marks_or_comparisons`.
    """
    figure, ax = plt.subplots(figsize=(WIDTH, 2.6))
    whole = rows["attribute"] == "mean"
    forest(ax, rows[whole])
    names = list(dict.fromkeys(rows.loc[whole, "label"]))
    each = rows[~whole]
    colour, marker, _ = KINDS["measured"]
    heights = each["label"].map(names.index)
    ax.plot(each["value"], heights + 0.27, marker, color=colour, ms=3, alpha=0.6)
    for x, side, said in ((-1, "right", "marks are better"), (1, "left", "comparing is better")):
        ax.text(x, -0.55, said, ha=side, va="center", color=GREY, fontsize=LETTERS)
    ax.set(ylim=(len(names) - 0.4, -0.85), xlabel="comparing minus marks, points")
    plots.evidence(ax, "measured")
    return figure


def foretold(rows: pd.DataFrame) -> Figure:
    """Draw what was measured in the interval that a twin predicted, each row on its own scale.

    rows : columns quantity, low, high, measured and inside, as of `predictions.outcomes`. All
    intervals are equally long here; red and hollow: outside. The numbers stand beside.
    """
    figure, ax = plt.subplots(figsize=(WIDTH, 0.27 * len(rows) + 0.5))
    y, (low, high) = np.arange(len(rows)), rows[["low", "high"]].to_numpy().T
    at = ((2.0 * rows["measured"] - low - high) / (high - low)).clip(-1.8, 3.2).to_numpy()
    ax.hlines(y, -1, 1, color=KINDS["simulated"][0], lw=7, alpha=0.3)
    inside, colour = rows["inside"].astype(bool).to_numpy(), KINDS["measured"][0]
    ax.plot(at[inside], y[inside], "o", color=colour)
    ax.plot(at[~inside], y[~inside], "o", color=plots.PAPER, mfc="white", mew=2)
    for k, row in enumerate(rows.itertuples()):
        said = minus(f"{row.measured:.1f}  ({row.low:.1f} to {row.high:.1f})")
        ax.text(
            3.6, k, said, va="center", fontsize=LETTERS, color=colour if row.inside else plots.PAPER
        )
    name_rows(ax, list(rows["quantity"]))
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-2, 7.2), xticks=[])
    ax.spines["bottom"].set_visible(False)
    return figure


# One order or both --------------------------------------------------------------------------------


def correlations_of_errors() -> pd.DataFrame:
    """Collect c of every judge that answered, ranking texts and ranking systems.

    Columns: label, task ("texts" or "systems"), kind, value (c) and se; a row an attribute and
    prompt. Recorded: LLMBar's judges, whose c is about being right.
    """
    columns = ["label", "task", "kind", "value", "se"]
    found = stored("orders")
    found = found[found["kind"].isin(["measured", "recorded"])]
    board = stored("board-orders").assign(quantity="scores")
    parts = []
    for task, table in (("texts", found), ("systems", board)):
        once = table.drop_duplicates(["system", "dataset", "attribute", "template", "quantity"])
        others = f"{once.loc[once['kind'] == 'recorded', 'system'].nunique()} judges of LLMBar"
        names = [
            f"{short(system)}, {TEXTS[dataset]}" if dataset in TEXTS else others
            for system, dataset in zip(once["system"], once["dataset"], strict=True)
        ]
        parts.append(once.assign(label=names, task=task, value=once["c"], se=once["c_se"])[columns])
    return pd.concat(parts, ignore_index=True)


def break_even(calls: int, texts: int = 16) -> float:
    """Compute the c at which both orders of half the pairs are as good as one order of all."""
    one, both = orders.resistances(texts, calls)
    return float(2.0 * one / both - 1.0)


def number_line(rows: pd.DataFrame) -> Figure:
    """Draw c from -1 to 1, a height a judge, with the break-even of each budget.

    rows : `correlations_of_errors`.
    """
    tasks = {"texts": "Ranking texts", "systems": "A leaderboard of systems"}
    heights = [rows.loc[rows["task"] == task, "label"].nunique() + 1 for task in tasks]
    size = (WIDTH, 4.0)
    figure, axes = plt.subplots(2, 1, figsize=size, sharex=True, height_ratios=heights)
    for ax, (task, words) in zip(axes, tasks.items(), strict=True):
        part = rows[rows["task"] == task]
        names = sorted(
            part["label"].unique(), key=lambda name: part.loc[part["label"] == name, "value"].mean()
        )
        for y, name in enumerate(names):
            some = part[part["label"] == name].sort_values("value")
            colour, marker, face = KINDS[some["kind"].iloc[0]]
            look: dict[str, Any] = {"fmt": marker, "color": colour, "mfc": face, "alpha": 0.8}
            rows_at = y + spread(len(some), 0.22)
            ax.errorbar(some["value"], rows_at, xerr=2.0 * some["se"], ms=3, lw=0.7, **look)
        ax.set_ylim(len(names) - (0.3 if task == "texts" else -0.2), -0.9)
        name_rows(ax, names)
        ax.axvspan(-1, 0, color="#F2F2F2", zorder=0)
        ax.axvline(0, color=GREY, lw=1.2)
        ax.set_title(words, fontsize=LETTERS, pad=16 if task == "texts" else 6)
    top = axes[0].get_xaxis_transform()
    for calls in (48, 96):
        at = break_even(calls)
        axes[0].axvline(at, color=GREY, lw=1.2, ls=(0, (2, 2)))
        axes[0].text(at, 1.01, f"{calls}", transform=top, ha="center", fontsize=LETTERS, color=GREY)
    axes[0].text(0, 1.01, "many calls", transform=top, ha="left", fontsize=LETTERS, color=GREY)
    low: dict[str, Any] = {
        "transform": axes[1].get_xaxis_transform(),
        "fontsize": LETTERS,
        "color": GREY,
    }
    axes[1].text(-0.02, 0.04, "← ask both orders", ha="right", **low)
    axes[1].text(0.02, 0.04, "ask other pairs →", ha="left", **low)
    axes[1].set(xlim=(-1, 1), xticks=(-1, -0.5, 0, 0.5, 1))
    axes[1].set_xlabel("c, correlation of a judge's errors in the two orders", fontsize=LETTERS)
    key(figure, ["measured", "recorded"])
    return figure


# Intervals from few answers -----------------------------------------------------------------------

SHORTFALL = 40.0  # per cent below the promise at which the colour is full


def strips(rows: pd.DataFrame, *, promise: float = 95.0) -> Figure:
    """Draw how many intervals hold as two blocks, judge by calls: strength fitted and averaged.

    rows : the stored `shrinkage`. The redder, the further below the promise; every cell has its
    number. Columns with a star ask both orders.
    """
    columns = list(rows[["orders", "k"]].drop_duplicates().itertuples(index=False, name=None))
    columns.sort(key=lambda one: (one[0] == "both", one[1]))
    judges = list(dict.fromkeys(rows["judge"]))
    size = (WIDTH, 0.3 * len(judges) + 1.0)
    figure, axes = plt.subplots(1, 2, figsize=size, sharey=True)
    for ax, method in zip(axes, ("fitted", "averaged"), strict=True):
        wide = where(rows, method=method).pivot(
            index="judge", columns=["orders", "k"], values="value"
        )
        held = wide.loc[judges, columns].to_numpy()
        below = np.clip((promise - held) / SHORTFALL, 0.0, 1.0)
        # Never so deep that dark numbers, or white ones in the dark theme, could not be read.
        grid(ax, below, held, ".0f", full=2.0, cmap="Reds", vmin=0.0, vmax=2.5)
        ax.set_title(f"strength {method}", fontsize=LETTERS)
        ax.set_xticks(range(len(columns)), [f"{k}\n{'*' * (o == 'both')}" for o, k in columns])
    axes[0].set_yticks(range(len(judges)), [short(j) if "-" in j[:-4] else j for j in judges])
    figure.supxlabel("answers about 16 texts (*: both orders of each pair)", fontsize=LETTERS)
    return figure
