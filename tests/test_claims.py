"""Claims: recipes on cells made by hand, curves made by hand, and what must fail."""

import numpy as np
import pandas as pd
import pytest

from reproduction import (
    attributes,
    claim_numbers,
    claims,
    contexts,
    curve_claims,
    published,
    sweep,
)
from reproduction.claim_numbers import run_recipe
from reproduction.claims import Claim, entries, evaluate
from reproduction.settings import Settings


@pytest.fixture(scope="module")
def long():
    return evaluate()


def claim(recipe="", **changes):
    plain = {
        "id": "x", "paper": "poe_v2", "place": "5", "claim": "c", "targets": ("poe_v2/table1",),
        "measure": "m", "evidence": ("published", "simulated"), "recipe": recipe,
    }  # fmt: skip
    return Claim(**{**plain, **changes})


LOSS = 'by("k", "method")["240", "avg-prob"] - by("k", "method")["48", "PoE-BT"]'


class TestRecipes:
    def test_by_hand(self):
        cells = published.load("table1")
        judge = cells[(cells["system"] == "FlanT5-3B")]
        assert run_recipe(f"({LOSS}).max()", judge) == pytest.approx(44.3 - 42.6)

    def test_limits_include_their_ends(self):
        one = claim(at_least=1.0, at_most=2.0)
        assert one.holds(1.0)
        assert one.holds(2.0)
        assert one.holds(2.0 + 1e-9)
        assert not one.holds(2.01)
        assert not one.holds(0.9)

    def test_a_claim_the_numbers_contradict_does_not_hold(self):
        """Negative control: the opposite of a claim that holds."""
        value = claims.measured(claim(f"({LOSS}).max()"), "published")
        assert claim(at_least=value).holds(value)
        assert not claim(at_most=value - 0.1).holds(value)

    def test_missing_numbers_that_matter_are_not_guessed(self, monkeypatch):
        cells = published.load("table1")
        cells["printed"] = True
        cells.loc[cells["id"] == "poe_v2/table1/FlanT5-3B/K48/PoE-BT", "number"] = np.nan
        monkeypatch.setattr(claim_numbers, "cells_of", lambda target, evidence: cells)
        assert np.isnan(claims.measured(claim(f"({LOSS}).max()"), "simulated"))
        other = 'by("k", "method")["240", "win-ratio"].max()'
        assert claims.measured(claim(other), "simulated") == 43.6, "does not need the cell"

    def test_missing_numbers_do_not_cancel(self, monkeypatch):
        cells = published.load("table1")
        cells["printed"] = True
        cells.loc[cells["k"] == "48", "number"] = np.nan
        monkeypatch.setattr(claim_numbers, "cells_of", lambda target, evidence: cells)
        gap = 'by("k", "method")["48", "PoE-BT"] - by("k", "method")["48", "PoE-g"]'
        assert np.isnan(claims.measured(claim(f"({gap}).max()"), "simulated"))

    def test_nothing_of_that_kind(self):
        assert np.isnan(claims.measured(claim(f"({LOSS}).max()"), "measured"))

    def test_a_recipe_reaches_nothing_but_its_names(self):
        assert np.isnan(run_recipe("cells['absent'].max()", published.load("table1")))
        with pytest.raises(NameError):
            run_recipe("open('x')", published.load("table1"))

    def test_ours_take_the_place_of_the_printed(self, monkeypatch):
        ours = published.load("table1")[["id"]].assign(value=1.0, kind="simulated")
        monkeypatch.setattr(claim_numbers, "read", lambda name: ours)
        assert claims.measured(claim(f"({LOSS}).max()"), "simulated") == 0.0
        assert np.isnan(claims.measured(claim(f"({LOSS}).max()"), "measured"))


class TestFile:
    def test_enough_claims_each_with_its_place_and_its_own_name(self):
        assert len(entries()) >= 25
        assert len({c.id for c in entries()}) == len(entries())
        assert all(c.place and c.measure and c.evidence for c in entries())

    def test_every_printed_recipe_can_be_evaluated(self, long):
        printed = long[long["evidence"] == "published"]
        assert (printed["verdict"] != "cannot be checked").all()

    def test_every_curve_claim_has_a_measure(self):
        without = {c.id for c in entries() if not c.recipe}
        known = set(claim_numbers.MEASURES)
        assert known <= without
        assert {id_ for id_ in without - known if not id_.startswith("sa-")} == set()

    def test_all_three_verdicts_occur(self, long):
        assert set(long["verdict"]) == {"holds", "does not hold", "cannot be checked"}

    def test_values_and_verdicts_agree(self, long):
        by_id = {c.id: c for c in entries()}
        for _, row in long.iterrows():
            if row["verdict"] == "cannot be checked":
                assert np.isnan(row["value"])
            else:
                assert by_id[row["id"]].holds(row["value"]) == (row["verdict"] == "holds")

    def test_main_claims_for_the_front_page(self):
        table = claims.claims()
        assert len(table) == len(claims.MAIN)
        assert table["published holds"].all()


def curve(values, *, selection="no-repeat", bias="none", method="PoE-BT", dataset="hanna"):
    return pd.DataFrame({
        "k": list(values), "value": list(values.values()), "method": method, "panel": "p",
        "selection": selection, "bias": bias, "dataset": dataset, "system": "j", "attribute": "a",
    })  # fmt: skip


class TestCurves:
    N = 1056

    def test_debiasing_by_hand(self):
        table = pd.concat(
            [
                curve({5 * self.N: 20.0, 10 * self.N: 30.0}),
                curve({5 * self.N: 40.0, 10 * self.N: 41.0}, bias="plug-in"),
            ]
        )
        measure = curve_claims.MEASURES
        assert measure["v2-debiasing-needed"]({"figure7a": table}, "simulated") == 11.0
        assert measure["v2-debiasing-idle"]({"figure7b": table}, "simulated") == 20.0

    def test_designs_by_hand(self):
        ks = (2 * self.N, 5 * self.N, 20 * self.N, 50 * self.N)
        table = pd.concat(
            [
                curve(dict(zip(ks, (30.0, 38.0, 39.0, 40.0), strict=True)), bias="plug-in"),
                curve(dict(zip(ks, (25.0, 38.5, 39.2, 39.9), strict=True)), selection="symmetric"),
            ]
        )
        measure = curve_claims.MEASURES
        curves = {"figure4": table}
        assert measure["v2-nonsymmetric-early"](curves, "simulated") == 1.0
        assert measure["v2-nonsymmetric-late"](curves, "simulated") == pytest.approx(0.5)
        assert measure["v2-nonsymmetric-end"](curves, "simulated") == pytest.approx(0.1)

    def test_selection_by_hand(self):
        ks = (32, 48, 64, 180, 240)
        table = pd.concat(
            [
                curve(dict(zip(ks, (40, 43, 45, 48, 49), strict=True)), selection="random"),
                curve(dict(zip(ks, (42, 44, 46, 48.1, 49), strict=True)), selection="greedy"),
                curve({32: 43.0, 48: 44.5, 64: 46.0}, selection="laplace"),
            ]
        )
        measure = curve_claims.MEASURES
        curves = {"figure1c": table}
        assert measure["v2-selection-early"](curves, "simulated") == pytest.approx(1.0)
        assert measure["v2-selection-fades"](curves, "simulated") == pytest.approx(0.1)
        assert measure["v2-laplace-selection-early"](curves, "simulated") == pytest.approx(0.5)

    def test_every_attribute_by_hand(self):
        rows = [
            ("a", 48, "win-ratio", 30.0), ("a", 48, "PoE-BT", 33.0),
            ("b", 48, "win-ratio", 30.0), ("b", 48, "PoE-BT", 29.5),
            ("a", 240, "win-ratio", 50.0), ("a", 240, "PoE-BT", 10.0),
        ]  # fmt: skip
        table = pd.DataFrame(rows, columns=["attribute", "k", "method", "value"]).assign(system="j")
        measure = curve_claims.MEASURES["v2-every-attribute"]
        assert measure({"attributes": table}, "simulated") == pytest.approx(-0.5)

    def test_a_straight_line_is_linear_and_a_parabola_is_not(self):
        p = np.linspace(0.05, 0.95, 10)
        rows = {"panel": "p", "p": p, "count": 100, "variance": 1.0}
        straight = pd.DataFrame({**rows, "value": 3 * p - 1})
        bent = pd.DataFrame({**rows, "value": (p - 0.5) ** 2})
        measure = curve_claims.MEASURES["v2-linear-mean"]
        assert measure({"figure10": straight}, "simulated") == pytest.approx(1.0)
        assert measure({"figure10": bent}, "simulated") < 0.1
        variance = curve_claims.MEASURES["v2-constant-variance"]
        assert variance({"figure10": straight}, "simulated") == 1.0
        half = straight.assign(variance=np.where(p < 0.5, 1.0, 2.0))
        assert variance({"figure10": half}, "simulated") == 2.0

    def test_a_curve_that_is_not_there_cannot_be_checked(self, monkeypatch):
        monkeypatch.setattr(claim_numbers, "read", lambda name: None)
        assert np.isnan(claims.measured(claim(id="v2-debiasing-needed"), "simulated"))


def test_results_by_attribute_average_to_table_1(monkeypatch):
    monkeypatch.setattr(sweep, "BLOCK", 2)
    settings = Settings(draws=2, source="stand-in", workers=1)
    ours = attributes.run(settings)
    assert len(ours) == 5 * 4 * 2 * 5
    means = ours.groupby(["system", "k", "method"])["value"].mean()
    table = contexts.run(settings, "table1").set_index(["system", "k", "method"])["value"]
    pd.testing.assert_series_equal(means.sort_index(), table.sort_index())
