"""What the pages about results say: the answer, claims without information, tables, dialogues."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from book.telling import answer, dialogues, drawings, pages, sentences
from judging.machine import data_dir
from reproduction import claims, power, verdicts
from reproduction.published import load
from reproduction.significance import CHANCE, CLEAR, LIKELY


def asked(system, dataset, value, se, **changes):
    """One row of a stored `measured-methods`."""
    plain = {
        "attribute": "mean", "metric": "spearman", "selection": "full", "method": "avg-prob",
        "template": "poe",
    }  # fmt: skip
    return {"system": system, "dataset": dataset, "value": value, "se": se} | plain | changes


class TestInformation:
    def test_two_errors_above_zero_are_needed(self):
        rows = pd.DataFrame(
            [
                asked("a", "summeval", 1.9, 1.0),
                asked("a", "topicalchat", 2.1, 1.0),
                asked("b", "summeval", -5.0, 1.0),  # ranks the other way round: no use either
                asked("b", "topicalchat", 0.0, 1.0, method="PoE-BT"),  # not what decides
            ]
        )
        assert sentences.chance(rows) == {("a", "summeval"), ("b", "summeval")}

    def test_claims_about_texts_at_chance_alone_lose_their_verdict(self):
        rows = claims.overview().set_index("id")
        found = sentences.informed(rows.reset_index(), {"SummEval"}).set_index("id")
        before, after = (table["measured verdict"] for table in (rows, found))
        assert before["v2-fifth-within-2"] == "holds"
        assert after["v2-fifth-within-2"] == sentences.NO_INFORMATION
        # About TopicalChat, about both, about a figure, and one that was not measured at all.
        for name in (
            "v2-topical-chat-gains",
            "v2-gaussian-bt-alike-soft",
            "v2-curves-rise",
            "v2-large-poe-never-worse",
        ):
            assert after[name] == before[name] != sentences.NO_INFORMATION
        assert found.drop(columns="measured verdict").equals(rows.drop(columns="measured verdict"))

    def test_a_judge_with_information_keeps_every_verdict(self):
        rows = claims.overview()
        assert sentences.informed(rows, set()).equals(rows)

    def test_the_pages_show_the_word_in_place_of_a_green_field(self):
        held = sentences.overview()
        html = str(sentences.claim_list(held[held["id"] == "v2-fifth-within-2"], "measured"))
        assert '<b class="verdict-undecided">no information</b>' in html
        assert "verdict-agrees" not in html


class TestAnswer:
    def test_the_gains_are_those_of_the_printed_cells(self, card):
        rows = answer.table(card)
        five = (
            load("table5")
            .query("k == '48'")
            .pivot(index="system", columns="method", values="number")
        )
        for row, other in zip(rows.to_dict("records"), answer.RIVALS, strict=False):
            printed = f"{(five['PoE-BT'] - five[other]).mean():+.1f}" if other in five else ""
            assert row["published"] == printed
        assert list(rows.columns)[:2] == ["claim", "published"]
        assert rows.columns[-1] == "verdict"
        assert re.match(r"clear in \d of \d", rows["verdict"].iloc[0])
        shares = power.shares(card).set_index("group")
        for row in rows.iloc[len(answer.RIVALS) :].to_dict("records"):
            group = re.search(r": (.*) \(\d+\)$", row["claim"])[1]
            more = shares.loc[group, "beside"] > shares.loc[group, "guess"] + answer.AHEAD
            assert row["verdict"].startswith("better" if more else "no better")

    def test_every_decision_has_both_baselines(self):
        """Decided on both orders' average, and by each call: for every judge, texts and budget."""
        found = answer.gains()
        assert set(found["other"]) == set(answer.RIVALS)
        assert len(found) == len(answer.RIVALS) * found.groupby(["system", "dataset", "k"]).ngroups
        assert set(found["said"]) == {CLEAR, LIKELY, CHANCE}

    def test_one_family_of_tests_whatever_is_shown(self):
        """What is clear in a part is what is clear in all: Holm by hand over the whole table."""
        found = answer.gains().sort_values("value")
        t = (found["value"] / found["se"]).abs()
        p = 2 * stats.t.sf(t, found["contexts"] - 1)
        rank = stats.rankdata(p, method="ordinal")
        survive = p * (len(p) - rank + 1) < 0.05
        survive &= rank <= np.min(
            rank[~survive], initial=len(p) + 1
        )  # none after the first to fail
        assert list(found["said"] == CLEAR) == list(survive)
        few = pd.concat([answer.real(other) for other in answer.RIVALS])
        assert 0 < (few["said"] == CLEAR).sum() <= survive.sum()

    def test_a_judge_at_chance_is_left_out(self):
        found = answer.real("win-ratio")
        nothing = answer.at_chance()
        assert len(found)
        assert not {
            f"{row.system} on {answer.NAMES[row.dataset]}" for row in found.itertuples()
        } & set(nothing)


class TestTables:
    def test_wide_tables_stack_on_a_phone_and_narrow_ones_do_not(self):
        wide = pd.DataFrame({name: [1] for name in "abcde"})
        html = str(pages.frame(wide))
        assert 'class="comparison stacks"' in html
        assert re.findall(r'data-label="(\w)"', html) == list("bcde")
        assert "stacks" not in str(pages.frame(wide[list("abc")]))
        assert "stacks" not in str(pages.frame(wide, name="comparison heat"))

    def test_one_column_stays_in_sight(self, card):
        html = str(pages.heat(card[card["paper"] == "poe_v2"], "table5"))
        heads = re.findall(r"<th scope=\"col\"( class=\"kept\")?>(?:<button[^>]*>)?([^<]*)", html)
        assert [name for kept, name in heads if kept] == ["PoE-BT"]
        rows = html.count("<tr>") - 1
        assert len(re.findall(r'<td class="[^"]* kept"', html)) == rows

    def test_many_methods_are_rows(self, card):
        part = card[card["paper"] == "skill_aggregation"]
        html = str(pages.heat(part, "table1"))
        methods = part.loc[part["table"] == "table1", "method"].unique()
        assert len(methods) > pages.MAX_METHOD_COLUMNS
        assert re.findall(r'<th scope="row">([^<]*)</th>', html) == list(methods)


def test_every_cause_has_its_piece(card):
    rows = verdicts.predictions(verdicts.unique(card))
    odd = rows[rows["verdict"] == "differs"]
    figure = drawings.causes(odd)
    pieces = [patch.get_width() for patch in figure.axes[0].patches]
    assert sum(pieces) == len(odd)
    assert pieces == sorted(pieces, reverse=True)
    with pytest.raises(StopIteration):
        drawings.causes(odd.assign(cause="the moon"))


def test_a_dialogue_shows_the_answers_as_they_were_given():
    html = str(dialogues.browser("coherency"))
    stored = json.loads(re.search(r'json">(.*?)</script>', html, re.S)[1])
    cells = re.findall(r'<td[^>]* data-at=""[^>]*>([^<]*)</td>', html)
    assert cells == stored[0]
    assert len({len(one) for one in stored}) == 1
    raw = pd.read_csv(data_dir() / "measured" / "topicalchat-poe.csv.gz")
    raw = raw[(raw["attribute"] == "coherency") & (raw["context"] == 3)]
    raw = raw.set_index(["first", "second"])
    p = expit(raw["log_p_1"] - raw["log_p_2"])
    wanted = [f"{100 * p[i, j]:.0f}" for i in range(6) for j in range(6) if i != j]
    half = stored[3][len(stored[3]) // 2 :]  # the smaller model stands below
    shown = [half[7 * i : 7 * i + 5] for i in range(6)]
    assert list(np.ravel(shown)) == wanted


def test_numbers_below_zero_have_a_minus_and_names_their_hyphen():
    rows = pd.DataFrame(
        {"judge": ["Qwen2.5-Coder-1.5B"], "gain": ["-1.1 ± 2.7"], "of": ["(-0.8 to 2.4)"]}
    )
    html = str(pages.frame(rows))
    assert "Qwen2.5-Coder-1.5B" in html
    assert "−1.1&nbsp;± 2.7" in html
    assert "−0.8" in html
