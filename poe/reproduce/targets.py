"""Every target by name: what `poe reproduce` can recompute."""

from __future__ import annotations

from functools import partial

import pandas as pd

from poe.reproduce import (
    comparative,
    contexts,
    curves,
    diagnosis,
    figures,
    laplacian,
    recorded,
    table3,
    table9,
)
from poe.reproduce.settings import Settings, Target

S, T, H, C = "summeval", "topicalchat", "hanna", "cmcqrd"


def _tables() -> list[Target]:
    what = {
        "table1": "SummEval, Spearman, five methods",
        "table2": "SummEval, random against selected comparisons",
        "table5": "SummEval, Spearman, six methods",
        "table6": "SummEval, Pearson",
        "table7": "TopicalChat, Spearman",
        "table8": "TopicalChat, Pearson",
    }
    found = [
        Target(
            name,
            "poe_v2",
            text,
            "simulated",
            partial(contexts.run, table=name),
            (T,) if name in ("table7", "table8") else (S,),
            10.0,
            name,
        )
        for name, text in what.items()
    ]
    found.append(
        Target(
            "table3",
            "poe_v2",
            "HANNA and CMCQRD, all texts ranked together",
            "simulated",
            table3.run,
            (H, C),
            20.0,
            "table3",
        )
    )
    found.append(
        Target(
            "table9",
            "poe_v2",
            "against G-Eval and PairS",
            "simulated",
            table9.run,
            (S, H),
            15.0,
            "table9",
        )
    )
    v1 = {1: S, 2: S, 3: S, 4: T, 5: T}
    found += [
        Target(
            f"v1-table{k}",
            "poe_v1",
            "as poe_v2's, K in pairs",
            "simulated",
            partial(contexts.run, table=f"table{k}", paper="poe_v1"),
            (d,),
            2.0,
            f"table{k}",
        )
        for k, d in v1.items()
    ]
    return found


def _figures() -> list[Target]:
    found = [
        Target(
            name,
            "poe_v2",
            _panel(of),
            "simulated",
            partial(figures.small, name=name),
            (of[1],),
            10.0 if of[1] == S else 2.0,
        )
        for name, of in figures.SMALL.items()
    ]
    found.append(
        Target(
            "figure1c",
            "poe_v2",
            _panel(figures.SELECTED) + ", selected or random",
            "simulated",
            figures.selection,
            (S,),
            30.0,
        )
    )
    for group, run in (
        (figures.LARGE, figures.large_panel),
        (figures.BOTH_DESIGNS, figures.designs),
        (figures.DEBIASED, figures.debiased),
    ):
        found += [
            Target(name, "poe_v2", _panel(of), "simulated", partial(run, name=name), (of[1],), 20.0)
            for name, of in group.items()
        ]
    found.append(
        Target(
            "figure9",
            "poe_v2",
            "probabilities and score differences",
            "simulated",
            figures.figure9,
            (S, T),
            1.0,
        )
    )
    found.append(
        Target(
            "figure10",
            "poe_v2",
            "mean and variance of the score difference",
            "simulated",
            figures.figure10,
            (S, T),
            1.0,
        )
    )
    return found


def _earlier() -> list[Target]:
    paper = "comparative_assessment"
    places = {1: (S,), 3: (T,), 5: (S,), 6: (S, T), 7: (S,), 9: (S, T), 10: (S, T)}
    found = [
        Target(
            f"comparative-table{k}",
            paper,
            "decisions under that paper's prompts",
            "simulated",
            partial(comparative.run, table=f"table{k}"),
            place,
            5.0,
            f"table{k}",
        )
        for k, place in places.items()
    ]
    found.append(
        Target(
            "comparative-table8",
            paper,
            "self-consistency",
            "simulated",
            comparative.table8,
            (S,),
            2.0,
            "table8",
        )
    )
    found.append(
        Target(
            "comparative-table11",
            paper,
            "the likeliest ranking",
            "simulated",
            comparative.table11,
            (S,),
            30.0,
            "table11",
        )
    )
    found += [
        Target(
            f"comparative-{name}",
            paper,
            _panel(of) + ", three ways to choose calls",
            "simulated",
            partial(comparative.figure, name=name),
            (of[1],),
            5.0,
        )
        for name, of in comparative.PANELS.items()
    ]
    return found


def _v1_figures() -> list[Target]:
    panels = {
        "v1-figure3a": ("FlanT5-3B", S, "coherence"),
        "v1-figure3b": ("FlanT5-11B", T, "coherency"),
    }
    found = [
        Target(
            name,
            "poe_v1",
            _panel(of) + " (panels are not named in the text at hand)",
            "simulated",
            partial(_curve, name=name, of=of),
            (of[1],),
            10.0,
        )
        for name, of in panels.items()
    ]
    found.append(
        Target(
            "v1-laplacian",
            "poe_v1",
            "Laplacian experts, clean and turned answers",
            "simulated",
            laplacian.run,
            (S,),
            15.0,
        )
    )
    return found


def _curve(settings: Settings, name: str, of: curves.Panel) -> pd.DataFrame:
    return curves.run(settings, {name: of})


def _recorded() -> list[Target]:
    return [
        Target(
            "recorded-hanna",
            "recorded",
            "HANNA's five judges: every method, 2N to 100N calls",
            "recorded",
            recorded.hanna_curves,
            (H,),
            60.0,
        ),
        Target(
            "recorded-selection",
            "recorded",
            "HANNA's five judges: random or greedy pairs",
            "recorded",
            recorded.hanna_selection,
            (H,),
            60.0,
        ),
        Target(
            "recorded-llmbar",
            "recorded",
            "LLMBar: position bias, both orders, accuracy",
            "recorded",
            recorded.llmbar,
            (),
            1.0,
        ),
        Target(
            "recorded-pandalm",
            "recorded",
            "PandaLM: accuracy",
            "recorded",
            recorded.pandalm,
            (),
            1.0,
        ),
    ]


def _diagnoses() -> list[Target]:
    return [
        Target(
            "diagnosis-zermelo",
            "poe_v2",
            "soft Bradley-Terry stopped early, or with a prior: why Mistral-7B deviates",
            "simulated",
            diagnosis.run,
            (S,),
            10.0,
        )
    ]


def _panel(of: curves.Panel) -> str:
    return f"{of[0]}, {of[1]} {of[2]}"


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *_tables(),
        *_figures(),
        *_v1_figures(),
        *_earlier(),
        *_recorded(),
        *_diagnoses(),
    )
}

# The same runs under other numbers; poe_v1's figures 1, 2, 4 and 5f are v2's 9, 10, 1c and 3.
ALIASES: dict[str, str] = {
    "v1-figure1": "figure9",
    "v1-figure2": "figure10",
    "v1-figure4": "figure1c",
    "v1-figure5f": "figure3",
}


def find(name: str) -> list[Target]:
    """The targets of a name: one, all panels of a figure ("figure6"), or "all" in order."""
    if name == "all":
        return list(TARGETS.values())
    name = ALIASES.get(name, name)
    if name in TARGETS:
        return [TARGETS[name]]
    panels = [t for key, t in TARGETS.items() if key[:-1] == name and key[-1].isalpha()]
    if not panels:
        raise ValueError(f"there is no target {name!r}; `poe reproduce list` names them all")
    return panels


def of_table(paper: str, table: str) -> Target | None:
    """The target that fills a published table."""
    found = [t for t in TARGETS.values() if t.paper == paper and t.table == table]
    return found[0] if found else None
