"""The scorecard: a row for every printed cell, and pages made from it."""

import re

import numpy as np
import pandas as pd
import pytest

from poe.cli import main
from reproduction import causes, claims, pages, pages_heat, published, results, scorecard
from reproduction.targets import TARGETS


@pytest.fixture(scope="module")
def card():
    return scorecard.scorecard()


@pytest.fixture(scope="module")
def everything():
    return scorecard.everything()


class TestScorecard:
    def test_every_published_cell_has_a_row(self, card, everything):
        assert card["id"].tolist() == published.all_tables()["id"].tolist()
        assert len(card) == 468
        ids = [published.all_tables(paper=paper)["id"] for paper in published.PAPERS]
        assert scorecard.without_row(everything, pd.concat(ids)) == []
        assert everything["id"].is_unique

    def test_a_cell_without_a_row_is_caught(self, card):
        first = card["id"].iloc[0]
        assert scorecard.without_row(card.iloc[1:], card["id"]) == [first]

    def test_totals_add_up(self, card):
        totals = scorecard.totals(card)
        assert totals.loc["all", "cells"] == 468
        assert (totals.drop(columns="cells").sum(axis=1) == totals["cells"]).all()

    def test_every_deviation_has_a_cause_or_says_that_it_has_none(self, everything):
        deviates = everything["verdict"] == "deviates"
        assert (everything.loc[deviates, "cause"] != "").all()
        assert (everything.loc[~deviates, "cause"] == "").all()

    def test_a_printed_cell_without_a_number_is_no_comparison(self, everything):
        """A result of ours beside a value that cannot be read once counted as a deviation."""
        empty = everything["number"].isna()
        assert empty.sum() == (everything["published"] == "").sum() > 0
        assert (everything["ours"].notna() & empty).any()
        assert set(everything.loc[empty, "verdict"]) == {"not readable"}
        assert "not readable" not in set(everything.loc[~empty, "verdict"])
        assert everything.loc[everything["verdict"] == "deviates", "difference"].notna().all()

    def test_totals_leave_out_what_cannot_be_read(self, everything):
        card = everything[everything["paper"] == "poe_v1"]
        found, counts = scorecard.summary(card), card["verdict"].value_counts()
        assert counts["not readable"] > 0
        assert "not attempted" not in counts
        assert found["attempted"] == len(card) - counts["not readable"]
        predicted = scorecard.predictions(card)
        assert found["predicted"] == len(predicted) == scorecard.errors(card)["cells"].sum()
        assert predicted["difference"].notna().all()
        assert found["within_one"] == (predicted["difference"].abs() < 1.0).mean()

    def test_every_cause_names_what_shows_it(self):
        for cause in causes.known("cause"):
            assert ("diagnosis" in cause) != ("declared" in cause), cause["text"]
            shown = "diagnosis" in cause
            assert shown == (sum(how in cause for how in ("variant", "error")) == 1), cause["text"]
        for entry in (*causes.known("cause"), *causes.known("refuted")):
            if "diagnosis" in entry:
                assert entry["diagnosis"] in TARGETS
                found = results.read(entry["diagnosis"])
                assert found is not None, entry["diagnosis"]
                assert entry.get("variant") in {None, *found.get("variant", ())}

    def test_what_is_refuted_explains_less_than_half(self, everything):
        found = causes.refuted(everything)
        assert (found["cells"] > 0).all()
        assert (found["after"] > 0.5 * found["before"]).all()

    def test_every_difference_that_a_cause_explains_is_at_least_halved(self, everything):
        rows = everything.dropna(subset=["left"])
        assert len(rows)
        assert (rows["left"].abs() <= 0.5 * rows["difference"].abs()).all()
        assert set(rows["verdict"]) == {"deviates"}

    def test_every_cause_and_reason_is_needed(self, everything):
        assert {c["text"] for c in causes.known("cause")} <= set(everything["cause"])
        assert {r["text"] for r in causes.known("reason")} <= set(everything["reason"])

    def test_whatever_was_not_attempted_has_a_reason(self, everything):
        left = everything["verdict"] == "not attempted"
        assert (everything.loc[left, "reason"] != "").all()
        assert (everything.loc[~left, "reason"] == "").all()

    def test_no_verdict_got_worse(self, everything):
        baseline = pd.read_csv(scorecard.baseline_path())
        assert scorecard.worsened(everything, baseline).empty
        assert len(baseline) == len(everything)

    def test_a_worse_verdict_or_a_missing_cell_is_caught(self, card):
        baseline = card[["id", "verdict"]]
        worse = card.copy()
        worse.loc[0, "verdict"] = "not attempted"
        caught = scorecard.worsened(worse.drop(index=1), baseline)
        assert caught["id"].tolist() == card["id"].tolist()[:2]
        assert caught["now"].tolist() == ["not attempted", "missing"]

    def test_errors_count_predictions_on_real_labels_alone(self, card):
        rows = card[card["role"].isin(["predicted", "held out"]) & (card["labels"] == "real")]
        found = scorecard.errors(card)
        assert found["cells"].sum() == len(rows)
        by_hand = rows.loc[rows["table"] == "table5", "difference"].abs().mean()
        assert scorecard.error_of(card, tables=("table5",)) == pytest.approx(by_hand)
        assert np.isnan(scorecard.error_of(card, tables=("no table",)))

    def test_the_goal_of_the_twins(self, card):
        """Below a Spearman point for the rows of few calls, where they are predictions."""
        few = scorecard.error_of(card, tables=("table5", "table7"), k=("48", "18"))
        assert few < 1.0


def test_causes_in_a_terminal(capsys):
    assert main(["scorecard", "--causes"]) == 0
    out = capsys.readouterr().out
    assert "not readable" in out
    assert causes.UNKNOWN in out
    assert "[diagnosis-errors]" in out


class TestPages:
    def test_a_heat_map_has_every_cell_with_its_published_value(self, card):
        for table in ("table1", "table3", "table9"):
            html = pages_heat.heat_html(card, table)
            rows = card[card["table"] == table]
            assert html.count('<td class="cell') >= len(rows)
            for value in rows["published"]:
                assert value in html

    def test_what_is_not_attempted_says_why(self, card):
        html = pages_heat.heat_html(card, "table9")
        assert "nothing but the cell itself is printed" in html

    def test_a_cell_that_cannot_be_read_shows_ours_and_no_difference(self, everything):
        rows = everything[(everything["paper"] == "poe_v1") & (everything["table"] == "table5")]
        html = pages_heat.heat_html(rows, "table5")
        cells = [c for c in html.split("<td") if "verdict-not-readable" in c]
        assert len(cells) == (rows["verdict"] == "not readable").sum() > 0
        assert all("missing from the text at hand" in c and ", print lost" in c for c in cells)
        assert "not readable" in pages.legend_html()

    def test_headings_sort_by_button(self, card):
        html = pages_heat.heat_html(card, "table2")
        heads = re.findall(r'<th scope="col">(.*?)</th>', html)
        assert heads
        assert all(head.startswith("<button") for head in heads)
        assert '<table class="comparison sortable' in html

    def test_colour_repeats_the_number(self):
        assert "rgba(178,24,43,0.55)" in pages_heat._colour(9.0)
        assert "rgba(33,102,172,0.55)" in pages_heat._colour(-5.0)
        assert pages_heat._colour(0.0).endswith("0.00)")

    def test_at_a_glance(self, card):
        html = pages_heat.glance_html(card)
        assert "<b>468</b>printed cells" in html
        assert "evidence-simulated" in html

    def test_claims(self):
        html = pages_heat.overview_html(claims.overview("poe_v2"))
        assert html.count("<tr>") == 1 + sum(c.paper == "poe_v2" for c in claims.entries())
        assert "holds" in html

    def test_nothing_is_loaded_from_elsewhere(self, card):
        html = pages_heat.heat_html(card, "table1") + pages_heat.glance_html(card)
        assert "http" not in html
        assert "src=" not in html
