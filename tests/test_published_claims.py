"""The claims: well formed, about targets that exist, and computable on the printed cells."""

import functools
import re
import tomllib

import numpy as np
import pandas as pd
import pytest

from poe._paths import data_dir
from reproduction import published

CLAIMS = tomllib.loads((data_dir() / "claims.toml").read_text(encoding="utf-8"))["claim"]
PRINTED = [claim for claim in CLAIMS if "recipe" in claim]
KINDS = {"published", "simulated", "recorded", "measured"}
KEYS = {"id", "paper", "place", "claim", "targets", "measure", "evidence"}

# What the printed cells themselves do not bear out.
CONTRADICTED = {
    "v2-fifth-within-2-gaussian",  # Llama2-13B loses 2.0, Llama2-7B 1.8, but FlanT5-11B 2.1
    "v2-full-avg-prob-better",
    "v2-avg-prob-gains-3-4",
    "v2-gaussian-bt-alike-hard",
    "v2-selection-gains-half",
    "v1-selection-0.5-0.7",
    "ca-best-zero-shot-3-of-4",
    "ca-best-scorer-10-20",
    "ca-first-80-percent",
    "ca-accuracy-60-80",
    "sa-crowdlayer-beats-baselines",
    "sa-majority-training-1.5",
    "sa-gains-shrink-without-bias",
}

# Worked out on paper from the printed tables.
BY_HAND = {
    "v2-win-ratio-loses-10": 43.6 - 34.1,
    "v2-avg-prob-beats-win-ratio": 31.1 - 29.7,
    "v2-gaussian-bt-alike-hard": 36.6 - 34.9,
    "v2-soft-significant": (33.2 - 31.1) / np.hypot(0.6, 0.7),
    "v2-full-bt-differs-in-scores": 41.3 - 39.9,
    "v2-selection-win-ratio-most": (31.4 - 29.7) - (33.9 - 32.8),
    "v2-biased-judge-better": 41.6 - 38.9,
    "v2-topical-chat-gains": 29.7 - 27.7,
    "ca-podcast-best": 97.1 - 89.6,
    "ca-first-80-percent": 0.68,
    "ca-debiasing-topical-chat": (2.9 + 17.3 + 4.8 + 4.6) / 4,
    "ca-semantics-emerge": (52.4 - 12.8) - (44.9 - 40.6),
    "sa-majority-training-1.5": 78.78 - 76.16,
    "sa-crowdlayer-beats-baselines": 67.74 - 68.06,
}


@functools.cache
def cells_of_targets(targets):
    parts = [target.split("/") for target in targets]
    return pd.concat([published.load(t, paper=paper) for paper, t in parts], ignore_index=True)


def cells_of(claim):
    return cells_of_targets(tuple(claim["targets"]))


def measure(claim, cells):
    rows = ["table", "system", "dataset", "attribute"]

    def by(*columns):
        names = list(columns) if len(columns) > 1 else columns[0]
        return cells.pivot(index=rows, columns=names, values="number").sort_index(axis=1)

    names = {"cells": cells, "by": by, "np": np, "pd": pd}
    return float(eval(claim["recipe"], names))  # an expression in a data file of our own


def holds(claim, value):
    value = round(value, 6)
    return claim.get("at_least", -np.inf) <= value <= claim.get("at_most", np.inf)


def test_there_are_enough_and_their_ids_are_unique():
    ids = [claim["id"] for claim in CLAIMS]
    assert len(ids) == len(set(ids))
    assert len(ids) >= 30
    assert {claim["paper"] for claim in CLAIMS} == set(published.PAPERS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["id"])
def test_is_well_formed(claim):
    assert claim.keys() >= KEYS
    assert claim.keys() <= KEYS | {"at_least", "at_most", "recipe"}
    assert {"at_least", "at_most"} & claim.keys(), "no criterion"
    assert claim.get("at_least", -np.inf) <= claim.get("at_most", np.inf)
    assert set(claim["evidence"]) <= KINDS
    assert claim["evidence"]
    assert ("recipe" in claim) == ("published" in claim["evidence"])
    for target in claim["targets"]:
        paper, name = target.split("/")
        assert paper == claim["paper"]
        assert re.fullmatch(r"table\d+|figure\d+[a-f]?|laplacian|attributes", name)
        if "recipe" in claim:
            assert name in published.PAPERS[paper]


@pytest.mark.parametrize("claim", PRINTED, ids=lambda claim: claim["id"])
def test_printed_cells_decide_it(claim):
    value = measure(claim, cells_of(claim))
    assert np.isfinite(value)
    assert holds(claim, value) == (claim["id"] not in CONTRADICTED)


@pytest.mark.parametrize("name", BY_HAND)
def test_measures_agree_with_those_worked_out_by_hand(name):
    claim = next(claim for claim in CLAIMS if claim["id"] == name)
    assert np.isclose(measure(claim, cells_of(claim)), BY_HAND[name])


@pytest.mark.parametrize("claim", PRINTED, ids=lambda claim: claim["id"])
def test_depends_on_the_cells(claim):
    """Negative control: other numbers in the cells give other measures."""
    cells = cells_of(claim)
    outcomes = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        number = rng.uniform(0.0, 60.0) + 10.0 ** rng.uniform(-1, 2) * rng.uniform(size=len(cells))
        outcomes.add(measure(claim, cells.assign(number=number)))
        if len(outcomes) > 1:
            return
    pytest.fail("the measure is the same whatever the cells say")
