"""Pictures of the pages that go through the papers, one finding each, read from stored results.

    >>> from book.telling import paper_pictures
    >>> paper_pictures.gains(paper_pictures.gains_of_confidence())  # doctest: +SKIP

They look like those of `pictures`; what they share is in `marks`.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from book.telling import answer
from book.telling.drawings import LETTERS, WIDTH
from book.telling.marks import (
    FAINT,
    GREY,
    KINDS,
    POINTS,
    TEXTS,
    forest,
    grid,
    key,
    legend,
    name_rows,
    short,
    spread,
    with_t,
)
from judging import plots
from reproduction import claims, power, verdicts
from reproduction.published import NAMES, load
from reproduction.results import stored

# Table 1 ------------------------------------------------------------------------------------------

FOLLOWS = "Twins, whose confidence\nfollows quality"
APART = "The same twins, when it\nfollows something else"


def gains_of_confidence() -> pd.DataFrame:
    """Collect what PoE-BT gains on Bradley-Terry: printed, by twins, by judges that were asked.

    Columns as `marks.forest` takes them, and judge. Printed and twins: Table 1 with 48 calls,
    one row a judge; the twins are the first ones, whose orders err independently. Measured: the
    fewest calls of each judge and data set, with 95% intervals over contexts.
    """
    cells = load("table1").query("k == '48'")
    cells = cells.assign(value=cells["number"])
    tried = stored("diagnosis-errors").query(
        "dataset == 'SummEval' and k == 48 and metric == 'spearman' and selection == 'symmetric'"
        " and variant == 'uneven 1'"
    )
    first = tried.assign(value=tried["value"] - tried["change"])
    by_label = {
        "Printed, the paper's\nfive judges": ("published", cells),
        FOLLOWS: ("simulated", first),
        APART: ("simulated", tried),
    }
    parts = []
    for label, (kind, table) in by_label.items():
        wide = table.pivot(index="system", columns="method", values="value")
        value = (wide["PoE-BT"] - wide["BT"]).rename("value").rename_axis("judge").reset_index()
        parts.append(value.assign(label=label, kind=kind, low=np.nan, high=np.nan))
    real = with_t(answer.real("BT"))
    names = [
        f"{short(row.system)},\n{row.contexts} {TEXTS[row.dataset]}" for row in real.itertuples()
    ]
    real = real.assign(label=names, kind="measured", judge=real["system"])
    parts.append(real[list(parts[0].columns)])
    return pd.concat(parts, ignore_index=True)


def gains(rows: pd.DataFrame) -> Figure:
    """Draw `gains_of_confidence`, the printed judge that gains least by its name."""
    figure, ax = plt.subplots(figsize=(WIDTH, 0.52 * rows["label"].nunique() + 0.9))
    forest(ax, rows)
    printed = rows[rows["kind"] == "published"]
    least = printed.loc[printed["value"].idxmin()]
    at: dict[str, Any] = {"ha": "center", "fontsize": LETTERS, "color": GREY}
    ax.text(least["value"], -0.25, least["judge"], **at)
    figure.supxlabel(f"PoE-BT minus Bradley-Terry, {POINTS}", fontsize=LETTERS)
    key(figure, rows["kind"])
    return figure


def dumbbells(card: pd.DataFrame, methods: tuple[str, ...]) -> Figure:
    """Draw printed and simulated cells of Table 1 at 48 calls as dumbbells, grouped by judge.

    card : `verdicts.compare("table1")`. A tick in each group stands where the judge is when all
    calls are made, by the printed average probability.
    """
    few = card[card["k"].astype(int) == 48].set_index(["system", "method"])
    every = card[card["k"].astype(int) == 240].set_index(["system", "method"])["number"]
    judges = list(dict.fromkeys(few.index.get_level_values("system")))
    step = len(methods) + 1.2
    figure, ax = plt.subplots(figsize=(WIDTH, 0.175 * step * len(judges) + 0.8))
    looks = [KINDS[kind] for kind in ("published", "simulated")]
    ticks = []
    for group, judge in enumerate(judges):
        top = group * step
        ax.vlines(every[judge, "avg-prob"], top - 0.4, top + len(methods) - 0.6, color=GREY, lw=1)
        ax.text(
            0.0,
            top - 0.75,
            judge,
            transform=ax.get_yaxis_transform(),
            fontsize=LETTERS,
            weight="bold",
        )
        for place, method in enumerate(methods):
            ends = few.loc[(judge, method), ["number", "ours"]].astype(float)
            ax.hlines(top + place, *sorted(ends), color=FAINT, lw=2.5, zorder=0)
            for x, (colour, marker, face) in zip(ends, looks, strict=True):
                ax.plot(x, top + place, marker, color=colour, mfc=face, ms=5.5)
            ticks.append(top + place)
    name_rows(ax, list(methods) * len(judges), ticks)
    ax.tick_params(axis="y", labelsize=LETTERS)
    ax.set(ylim=(step * len(judges) - 1.2, -1.5), xlabel=POINTS)
    key(figure, ["published", "simulated"])
    return figure


# Sentences about figures --------------------------------------------------------------------------

EDGE = 6.0  # margins further out are drawn here
OUTCOME = {
    "holds": ("#0072B2", "o", "#0072B2"),
    "borderline": (GREY, "s", GREY),
    "does not hold": (plots.PAPER, "X", plots.PAPER),
}


def margins(figures: list[str]) -> pd.DataFrame:
    """Collect how far each sentence about these figures is from turning, a row a sentence.

    Columns: place, claim, verdict, margin (`Claim.margin` of the simulated number).
    """
    rows = claims.accepted().query("evidence == 'simulated'").set_index("id")
    made = []
    for claim in claims.all_claims().values():
        if set(claim.targets) & set(figures) and claim.id in rows.index:
            row = rows.loc[claim.id]
            margin = claim.margin(claims.Number(row["value"], row["error"]), "simulated")
            made.append((_place(claim.targets), claim.claim, row["verdict"], margin))
    return pd.DataFrame(made, columns=["place", "claim", "verdict", "margin"])


def _place(targets: list[str]) -> str:
    """Name figures in few words: "4, 8a, 8b, 8c", "comparative assessment, 4"."""
    paper = targets[0].split("/")[0]
    numbers = ", ".join(target.rsplit("figure", 1)[1] for target in targets)
    before = "" if paper == "poe_v2" else f"{paper.replace('_', ' ')},\n"
    return f"{before}Figure{'s' * (len(targets) > 1)} {numbers}"


def sentences(rows: pd.DataFrame) -> Figure:
    """Draw a mark for each sentence of `margins`, a height for each group of figures."""
    names = list(dict.fromkeys(rows["place"]))
    figure, ax = plt.subplots(figsize=(WIDTH, 0.3 * len(names) + 1.2))
    ax.axvspan(-1, 1, color="#EEEEEE", zorder=0)
    ax.axvline(0, color=GREY, lw=1)
    for name, part in rows.groupby("place", sort=False):
        part = part.sort_values("margin")
        for shift, row in zip(spread(len(part), 0.2), part.itertuples(), strict=True):
            colour, marker, _ = OUTCOME[row.verdict]
            at = float(np.clip(row.margin, -EDGE, EDGE))
            ax.plot(at, names.index(str(name)) + shift, marker, color=colour, ms=6.5)
    legend(figure, OUTCOME)
    ax.set(ylim=(len(names) - 0.4, -0.6), xlim=(-EDGE - 0.4, EDGE + 0.4))
    ax.set_xticks(
        [-EDGE, -3, -1, 0, 1, 3, EDGE], [f"−{EDGE:.0f}", "−3", "−1", "0", "1", "3", f"{EDGE:.0f}"]
    )
    figure.supxlabel("distance from the limit, over what could turn the answer", fontsize=LETTERS)
    name_rows(ax, names)
    return figure


# Predictions against a guess ----------------------------------------------------------------------

VERDICT = {
    "agrees": "#0072B2",
    "differs, cause found": "#E69F00",
    "differs, cause unknown": "#444444",
}
DEEP = 4  # squares in a column


def squares(card: pd.DataFrame) -> pd.DataFrame:
    """Count predictions by block and outcome, with the share that a guess would get.

    Columns: group (of `power.shares`), each of `VERDICT`, guess (per cent).
    """
    known = power.shares(card).set_index("group")["guess"]
    rows = verdicts.predictions(verdicts.unique(card))
    unknown = rows["cause"] == verdicts.UNKNOWN
    agrees, found, open_ = VERDICT
    differs = np.where(unknown, open_, found)
    word = np.where(rows["verdict"] == "agrees", agrees, differs)
    blind, ours = rows["role"] == "blind", rows["paper"] == "poe_v2"
    group = np.select(
        [ours & ~blind, ours & blind, rows["paper"] == "comparative_assessment"],
        list(known.index[:3]),
        "other",
    )
    counts = pd.crosstab(group, word).reindex(
        index=known.index[:3], columns=list(VERDICT), fill_value=0
    )
    return counts.assign(guess=known).rename_axis("group").reset_index()


def waffle(blocks: pd.DataFrame) -> Figure:
    """Draw a square for every prediction, coloured by outcome, and a line where a guess would end.

    blocks : `squares`.
    """
    figure, axes = plt.subplots(len(blocks), 1, figsize=(WIDTH, 1.05 * len(blocks) + 0.4))
    widest = int(np.ceil(blocks[list(VERDICT)].sum(axis=1).max() / DEEP))
    for ax, row in zip(axes, blocks.to_dict("records"), strict=True):
        at = 0
        for word, colour in VERDICT.items():
            for _ in range(row[word]):
                x, y = divmod(at, DEEP)
                ax.add_patch(Rectangle((x, -y), 0.86, 0.86, color=colour, lw=0))
                at += 1
        guess = at / DEEP * row["guess"] / 100.0
        ax.vlines(guess, -DEEP + 0.6, 1.3, color=plots.PAPER, lw=1.8)
        put: dict[str, Any] = {
            "color": plots.PAPER,
            "fontsize": LETTERS,
            "va": "bottom",
            "ha": "center",
        }
        ax.text(guess, 1.4, f"a guess: {row['guess']:.0f}%", **put)
        share = 100.0 * row["agrees"] / at
        ax.set(xlim=(-0.5, widest + 0.5), ylim=(-DEEP + 0.5, 2.6), aspect="equal")
        ax.axis("off")
        ax.set_title(f"{row['group']}: {share:.0f}% of {at} agree", fontsize=LETTERS)
    marks = [Rectangle((0, 0), 1, 1, color=colour, label=word) for word, colour in VERDICT.items()]
    beside: dict[str, Any] = {"loc": "outside lower left", "ncols": 3, "fontsize": LETTERS}
    figure.legend(handles=marks, handlelength=0.8, columnspacing=1.0, **beside)
    return figure


# Which pair next ----------------------------------------------------------------------------------

RULES = {
    "determinant": ("without looking", (plots.ITEMS[2], "s", plots.ITEMS[2])),
    "laplace": ("the paper's rule", (plots.ITEMS[0], "o", plots.ITEMS[0])),
    "reordering": ("least sure order", (plots.ITEMS[1], "D", plots.ITEMS[1])),
}


def saved(rows: pd.DataFrame, *, half: float) -> Figure:
    """Draw how many calls each rule needs: means over attributes, the cells faint behind them.

    rows : columns kind, system, texts, rule and ratio of the stored `rules`. half : the ratio up to
    which a rule counts as saving about half.
    """
    names = np.where(rows["kind"] == "measured", rows["system"].map(short), "simulated judges")
    rows = rows.assign(label=[f"{n}, {t} texts" for n, t in zip(names, rows["texts"], strict=True)])
    labels = list(dict.fromkeys(rows.sort_values("texts", ascending=False, kind="stable")["label"]))
    figure, ax = plt.subplots(figsize=(WIDTH, 0.5 * len(labels) + 1.1))
    for x, style in ((1.0, "-"), (half, (0, (4, 2)))):
        ax.axvline(x, color=GREY, lw=1.2, ls=style, zorder=0)
    for at, (rule, (_, (colour, marker, _))) in enumerate(RULES.items()):
        part = rows[rows["rule"] == rule].groupby("label", sort=False)["ratio"]
        for label, ratios in part:
            y = labels.index(label) + 0.24 * (at - 1)
            face = "white" if label.startswith("simulated") else colour
            look: dict[str, Any] = {"color": colour, "mfc": face, "ls": "", "marker": marker}
            ax.plot(ratios, np.full(len(ratios), y), ms=3.5, alpha=0.4, **look)
            ax.plot(ratios.mean(), y, ms=7, **look)
    legend(figure, dict(RULES.values()))
    top: dict[str, Any] = {
        "transform": ax.get_xaxis_transform(),
        "fontsize": LETTERS,
        "color": GREY,
    }
    ax.text(half, 1.01, "half saved", ha="center", **top)
    ax.text(1.0, 1.01, "nothing saved", ha="center", **top)
    name_rows(ax, labels)
    ax.set(ylim=(len(labels) - 0.5, -0.5), xlim=(half - 0.05, None))
    ax.set_xlabel("calls needed, over those of random pairs")
    return figure


# Diagnoses ----------------------------------------------------------------------------------------


def tried(distances: pd.DataFrame) -> Figure:
    """Draw by how much each change of the twins moves them towards print, a cell a table.

    distances : mean absolute differences, a row a variant, the unchanged twins first; a column a
    table. The number in a cell is the change; blue is nearer, red further away.
    """
    change = (distances - distances.iloc[0]).iloc[1:].astype(float)
    figure, ax = plt.subplots(figsize=(WIDTH, 0.29 * len(change) + 1.0))
    shades = change.to_numpy()
    grid(ax, shades, shades, "+.2f", full=0.9, cmap="RdBu_r", vmin=-1.2, vmax=1.2)
    heads = [name.replace(", ", ",\n") for name in change.columns]
    ax.set_xticks(range(len(heads)), heads, linespacing=1.0)
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(change)), list(change.index))
    return figure


# Errata -------------------------------------------------------------------------------------------

MUST_EQUAL = {"BT": "Bradley-Terry", "PoE-g-hard": "Gaussian experts\non decisions"}


def equal_cells() -> pd.DataFrame:
    """Collect printed differences from counting wins that must be zero when all calls are made.

    Columns as `marks.forest` takes them; a row a judge, data set and method of `MUST_EQUAL`.
    """
    parts = []
    for table, dataset in (("table5", "summeval"), ("table7", "topicalchat")):
        cells = load(table).query("selection == 'full'")
        wide = cells.pivot(index="system", columns="method", values="number")
        for method, words in MUST_EQUAL.items():
            value = (wide[method] - wide["win-ratio"]).rename("value").reset_index()
            parts.append(value.assign(label=f"{words},\n{NAMES[dataset]}"))
    return pd.concat(parts, ignore_index=True).assign(kind="published", low=np.nan, high=np.nan)


def unequal(rows: pd.DataFrame) -> Figure:
    """Draw `equal_cells` around the line on which all of them must lie."""
    figure, ax = plt.subplots(figsize=(WIDTH, 0.62 * rows["label"].nunique() + 0.7))
    forest(ax, rows)
    figure.supxlabel(f"printed difference from counting wins, {POINTS}", fontsize=LETTERS)
    top: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "ha": "right", "color": GREY}
    ax.text(0.0, 1.01, "must be here", fontsize=LETTERS, **top)
    plots.evidence(ax, "published")
    return figure
