"""Tables of comparisons in the forms that people have, and what no form may mean."""

import pandas as pd
import pytest

import judging
import poe


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
            ({"model_a": "xy", "model_b": "yz", "winner": [2, 0]}, [0, 0.5]),
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
