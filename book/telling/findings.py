"""The findings that can be cited: a sentence each, with its n, its interval and its rows.

Every number is read from stored results. A finding has a name that stays, so that a link to
`what-is-new.html#finding-NAME` and a BibTeX entry that names it lead to the same sentence later.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

import poe
from book.telling import answer, marks, pages, pictures
from reproduction import power, verdicts
from reproduction.answers import QWEN
from reproduction.results import stored

YEAR = 2026
BIBTEX = """\
@misc{{jbc-{id},
  author = {{{{The Judging by Comparison authors}}}},
  title = {{{title}}},
  howpublished = {{Judging by Comparison, what-is-new.html\\#finding-{id}}},
  note = {{Version {version}}},
  year = {{{year}}}
}}"""


@dataclass(frozen=True)
class Finding:
    """A sentence that can be cited, and what stands behind it.

    id : of its anchor. says : the sentence, with its number. of : on what, and how many. interval :
    in words, with what it is over. kind : of number. page : where more is. rows : the stored ones.
    """

    id: str
    says: str
    of: str
    interval: str
    kind: str
    page: str
    rows: pd.DataFrame

    @property
    def bibtex(self) -> str:
        """An entry whose title is the sentence."""
        title = self.says.rstrip(".").replace("%", r"\%")
        return BIBTEX.format(id=self.id, title=title, version=poe.__version__, year=YEAR)


def findings() -> list[Finding]:
    """Collect the findings of *In one picture*, in the order of its cards."""
    effects = list(pictures.new_effects().values())
    return [_orders(), _product(), *_intervals(effects[2]), _next_pair(effects[1]), _papers()]


def _ends(low: float, high: float, form: str = ".1f") -> str:
    return marks.minus(f"{low:{form}} to {high:{form}}")


def _orders() -> Finding:
    at = {"quantity": "scores", "dataset": "summeval", "k": 48, "template": "poe"}
    rows = stored("orders", system=QWEN.name, **at)
    least = rows.loc[rows["measured"].idxmin()]
    half = 2.0 * least["measured_se"]
    return Finding(
        "both-orders",
        "With 48 calls an article, a small language model's scores of summaries have at least "
        f"{least['measured']:.1f} times the squared error if a pair is asked in one order instead "
        "of both.",
        f"{int(least['units'])} articles; {least['attribute']}, the least of "
        f"{len(rows)} attributes",
        f"{_ends(least['measured'] - half, least['measured'] + half)} (two standard errors)",
        "measured",
        "when-both-orders",
        rows,
    )


def _product() -> Finding:
    gains = marks.with_t(answer.gains())
    rows = gains[(gains["system"] == QWEN.name) & (gains["other"] == "win-ratio")]
    (few,) = rows[(rows["dataset"] == "topicalchat") & (rows["k"] == 12)].to_dict("records")
    return Finding(
        "product-few-calls",
        "With 12 of a dialogue's 30 calls, a product of experts agrees with people by "
        f"{few['value']:.1f} points of Spearman's correlation more than counting wins.",
        f"{few['contexts']} dialogues of six replies, one model of 1.5 billion parameters",
        f"{_ends(few['low'], few['high'])} (95%, over dialogues)",
        "measured",
        "measured-judge",
        rows,
    )


def _intervals(held: pd.DataFrame) -> list[Finding]:
    alone, paired, chosen, averaged = (
        held[held["label"] == label] for label in dict.fromkeys(held["label"])
    )
    words = "the range over all of them"
    return [
        Finding(
            "paired-intervals",
            "Intervals that take a pair's two answers together hold in "
            f"{_ends(paired['value'].min(), paired['value'].max(), '.0f')}% of cases, where 95% "
            "were promised.",
            f"{len(paired)} simulated judges, designs and experts",
            f"{words}; each answer by itself: "
            f"{_ends(alone['value'].min(), alone['value'].max(), '.0f')}%",
            "simulated",
            "14-how-sure",
            pd.concat([alone, paired]),
        ),
        Finding(
            "averaged-intervals",
            "With few answers, 95% intervals averaged over the strength of the prior hold in "
            f"{_ends(averaged['value'].min(), averaged['value'].max(), '.0f')}% of cases.",
            f"{len(averaged)} judges, designs and numbers of calls",
            f"{words}; with one strength chosen: "
            f"{_ends(chosen['value'].min(), chosen['value'].max(), '.0f')}%",
            " ".join(sorted(set(averaged["kind"]))),
            "beyond",
            pd.concat([chosen, averaged]),
        ),
    ]


def _next_pair(calls: pd.DataFrame) -> Finding:
    rows = calls[calls["label"].str.contains("paper's rule")]
    blind = calls[calls["label"].str.contains("without looking")]
    return Finding(
        "next-pair",
        f"Choosing the next pair by the answers so far saves {rows['value'].mean():.0f}% of the "
        "calls, against pairs drawn at random.",
        f"{len(rows)} attributes of two models, 16 texts each",
        f"{_ends(rows['value'].min(), rows['value'].max(), '.0f')}% (the range over attributes); "
        f"without looking at answers {blind['value'].mean():.0f}%",
        "measured",
        "where-the-field-went",
        pd.concat([rows, blind]),
    )


def _papers() -> Finding:
    rows = power.shares(verdicts.scorecard())
    blind = rows.set_index("group").loc["PoE v2, blind"]
    return Finding(
        "twins-and-a-guess",
        "Calibrated simulated judges predict a paper's printed numbers no better than a guess from "
        "its other judges.",
        f"{int(blind['predictions'])} blind cells, five judges",
        f"{_ends(blind['lead_low'], blind['lead_high'], '.0f')} points of agreement (95%, over "
        f"judges; the estimate is {marks.minus(format(blind['lead'], '.0f'))})",
        "published simulated",
        "results",
        rows,
    )


def html(found: list[Finding]) -> Markup:
    """List findings: each with its anchor, n, interval, and a fold with BibTeX and its rows."""
    item = Markup(
        '<li id="finding-{id}">{says} <a class="headerlink" href="#finding-{id}" '
        'title="Link to this finding">#</a>{fold}</li>'
    )
    behind = Markup(
        '<p>n: {of}. Interval: {interval}. {kinds} <a href="{page}.html">More</a></p>'
        "<pre>{bibtex}</pre>"
    )
    items = []
    for one in found:
        kinds = Markup(" ").join(map(pages.badge, one.kind.split()))
        inside = behind.format(
            of=one.of, interval=one.interval, kinds=kinds, page=one.page, bibtex=one.bibtex
        )
        fold = pages.folded("n, interval, BibTeX", inside, one.rows)
        items.append(item.format(id=one.id, says=one.says, fold=fold))
    return Markup('<ul class="findings">{}</ul>').format(Markup().join(items))
