"""Tables of comparisons in the forms that people have, and what no form may mean."""

import numpy as np
import pandas as pd
import pytest

import judging
import poe
from judging.practice.reading.forms import read as columns_of


class TestForms:
    def test_table_with_own_column_names(self):
        table = pd.DataFrame({"a": ["x"], "b": ["y"], "prob": [0.25], "n": [3.0]})
        c = judging.read(table, first="a", second="b", p="prob", weight="n")
        assert (c.items, c.p.tolist(), c.weight.tolist()) == (("x", "y"), [0.25], [3.0])

    @pytest.mark.parametrize(
        ("columns", "p"),
        [
            ({"Model_A": "xy", "model b": "yz", "WINNER": ["model_a", "Model B"]}, [1, 0]),
            ({"model_a": "xy", "model_b": "yz", "winner": ["tie", "tie (bothbad)"]}, [0.5, 0.5]),
            ({"model_a": "xy", "model_b": "yz", "winner": ["Draw", "EQUAL"]}, [0.5, 0.5]),
            ({"model_a": "xy", "model_b": "yz", "winner": ["both_bad", "b"]}, [0.5, 0]),
            ({"model_a": "xy", "model_b": "yz", "winner": ["x", "z"]}, [1, 0]),
            ({"model_a": "xy", "model_b": "yz", "winner": [2, 1]}, [0, 1]),
            (
                {
                    "model_a": "xy",
                    "model_b": "yz",
                    "winner_model_a": [1, 0],
                    "winner_model_b": [0, 0],
                    "winner_tie": [0, 1],
                },
                [1, 0.5],
            ),
            ({"generator_1": "xy", "generator_2": "yz", "preference": [1.25, 2.0]}, [0.75, 0]),
            ({"left": "xy", "right": "yz", "winner": ["right", "left"]}, [0, 1]),
            ({"winner": "xy", "loser": "yz"}, [1, 1]),
        ],
    )
    def test_tables_in_the_forms_that_people_have(self, columns, p):
        table = pd.DataFrame({name: list(cells) for name, cells in columns.items()})
        c = judging.read(table)
        assert c.items == ("x", "y", "z")
        assert c.p.tolist() == p

    def test_names_that_could_be_places_are_names_where_others_are_not(self):
        table = pd.DataFrame({"first": list("abc"), "second": list("bca"), "winner": list("aba")})
        assert judging.read(table).p.tolist() == [1, 1, 0]

    def test_rows_without_a_verdict_are_left_out_with_a_note(self):
        table = pd.DataFrame({"first": ["a", "b"], "second": ["b", "a"], "winner": ["a", None]})
        with pytest.warns(UserWarning, match="1 row without a verdict"):
            assert len(judging.read(table)) == 1

    def test_what_may_mean_two_things_is_refused(self):
        for winner, message in (([1, 0], "two things"), (["a", "a"], "place of the other")):
            table = pd.DataFrame({"first": ["a", "b"], "second": ["b", "a"], "winner": winner})
            with pytest.raises(poe.ComparisonError, match=message):
                judging.read(table)

    def test_columns_that_do_not_say_who_won_are_named(self):
        message = "none of the columns 'first', 'second', 'score' says who won"
        with pytest.raises(poe.ComparisonError, match=message):
            judging.read(pd.DataFrame(columns=["first", "second", "score"]))


def table_of(words, *, sides=("model_a", "model_b"), column="winner", items="xyz"):
    """A row a verdict, over pairs of items in turn."""
    n = len(items)
    rows = [(items[k % n], items[(k + 1) % n], word) for k, word in enumerate(words)]
    return pd.DataFrame(rows, columns=[*sides, column])


class TestCodes:
    """What a table does not say is not inferred in silence."""

    @pytest.mark.parametrize(
        "codes",
        [
            [0, 1, 2], [0, 2], [0, 1], [0], [1], [1, "tie"], [-1, 1], [-1, 0, 1], [0.0, 1.0, None],
            ["0", "1", "2"], [True, False], [np.True_, np.False_], ["true", "false"], ["yes", "no"],
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("column", ["winner", "label", "result"])
    def test_codes_without_a_key_are_refused_and_a_way_out_is_named(self, codes, column):
        table = table_of(codes, column=column)
        for named in ({}, {"winner": column}):
            with pytest.raises(poe.ComparisonError, match="write the winner's name, or model_a"):
                columns_of(table, **named)

    def test_what_was_read_in_one_of_two_ways_is_told(self):
        told = {
            "1 was read as a win of model_a, 2 of model_b": table_of([1, 2, "tie"]),
            "win was read as a win of model_a, loss of model_b": table_of(["win", "loss", "draw"]),
        }
        for note, table in told.items():
            assert columns_of(table).notes == (note,)
            assert columns_of(table).p.tolist() == [1, 0, 0.5]
        numbered = columns_of(table_of([1, 2], sides=("system_1", "system_2")))
        assert numbered.notes == (), "the columns say which is which"
        names = columns_of(table_of(["a", "b", "a"], items="abc"))
        assert names.notes == ("'b', 'a' in 'winner': read as names, not places",)
        assert names.p.tolist() == [1, 1, 0]

    def test_zero_is_a_tie_in_alpaca_evals_preference_alone(self):
        theirs = {"sides": ("generator_1", "generator_2"), "column": "preference"}
        found = columns_of(table_of([1, 2, 0, 1.5, 1.25], **theirs))
        assert found.p.tolist() == [1, 0, 0.5, 0.5, 0.75]
        assert found.notes[0] == "0 was read as a tie"
        refused = [table_of([1, 0, 1], **theirs), table_of([1, 2, 0], column="preference")]
        for table in refused:  # no 2 among them, or of another program
            with pytest.raises(poe.ComparisonError, match="write the winner's name"):
                columns_of(table)

    def test_items_that_numbers_name_win_by_their_names(self):
        table = table_of(["0", "1", "2", "3", "0"], items="01234")
        assert columns_of(table).p.tolist() == [1, 1, 1, 1, 0]

    def test_an_item_called_as_a_tie_is_refused_where_it_wins(self):
        table = table_of(["even", "odd"], items=["even", "odd"])
        with pytest.raises(poe.ComparisonError, match="names one item and a tie"):
            columns_of(table)

    def test_the_declared_reading_is_taken(self):
        found = columns_of(table_of([1, 0, 1]), p="winner")
        assert found.p.tolist() == [1, 0, 1]


class TestOrder:
    """Columns are not the order in which texts were shown where all decisions name one."""

    ROWS = ("ab", "bc", "ca", "ba", "cb", "ac")

    def table(self, verdicts, **more):
        rows = [(*self.ROWS[k % 6], verdict) for k, verdict in enumerate(verdicts)]
        return pd.DataFrame(rows, columns=["model_a", "model_b", "winner"]).assign(**more)

    @pytest.mark.parametrize("side", ["model_a", "model_b"])
    @pytest.mark.parametrize("ties", [0, 5])
    def test_decisions_all_for_one_side_say_nothing_of_the_order(self, side, ties):
        found = columns_of(self.table([side] * 9 + ["tie"] * ties))
        assert not found.in_order
        assert f"all 9 decisions are for {side}" in found.notes[0]

    def test_other_tables_keep_their_order(self):
        other = "model_b"
        for verdicts in (["model_a"] * 9 + [other], ["model_a"] * 4 + ["tie"] * 9):
            assert columns_of(self.table(verdicts)).in_order
        assert columns_of(self.table(["model_a"] * 9, in_order=1)).in_order, "the table says so"
        p = self.table(["model_a"] * 9).rename(columns={"winner": "p"}).assign(p=0.8)
        assert columns_of(p).in_order, "probabilities tell a place from the items"

    def test_what_is_known_of_the_order_survives_a_file(self):
        known = columns_of(self.table(["model_a"] * 9, in_order=1))
        assert columns_of(known.to_table()).in_order
        unknown = columns_of(self.table(["model_a"] * 9))
        assert not columns_of(unknown.to_table()).in_order
