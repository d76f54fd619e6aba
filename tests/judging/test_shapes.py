"""Tables of other shapes, each against the comparisons that it says, worked out by hand."""

from collections import Counter

import pandas as pd
import pytest

from judging.practice.reading.forms import read
from judging.practice.trust import read_people
from poe.errors import ComparisonError


def wins(rows, **named):
    """{(better, worse): times}, a tie under both, of a table given as a list of dicts."""
    found = read(pd.DataFrame(rows, dtype=object), **named)
    told = Counter()
    for one, other, p in zip(found.first, found.second, found.p.tolist(), strict=True):
        for key, share in (((one, other), p), ((other, one), 1.0 - p)):
            told[key] += share
    return {key: share for key, share in told.items() if share}


FALLING = {("x", "y"): 1, ("x", "z"): 1, ("y", "z"): 1}


class TestCounts:
    @pytest.mark.parametrize(
        "names",
        [
            ("home.team", "away.team", "home.wins", "away.wins", "draws"),
            ("player1", "player2", "win1", "win2", "ties"),
            ("model_a", "model_b", "wins_a", "wins_b", "n_ties"),
            ("model", "opponent", "wins", "losses", "ties"),
            ("A", "B", "A wins", "B wins", "ties"),
        ],
    )
    def test_a_row_has_as_many_wins_as_it_counts(self, names):
        row = dict(zip(names, ("x", "y", "3", "1", "2"), strict=True))
        assert wins([row]) == {("x", "y"): 4, ("y", "x"): 2}
        del row[names[-1]]
        assert wins([row]) == {("x", "y"): 3, ("y", "x"): 1}

    def test_columns_are_places_only_where_a_pair_stands_both_ways_round(self):
        names = ("A", "B", "A wins", "B wins")
        rows = [("x", "y", 8, 3), ("y", "z", 4, 4), ("x", "z", 9, 1)]
        table = pd.DataFrame(rows, columns=names)
        assert not read(table).in_order
        assert any(
            "no preference" in note or "nothing is said" in note for note in read(table).notes
        )
        home = pd.DataFrame([*rows, ("z", "x", 1, 5)], columns=names)
        assert read(home).in_order
        itself = pd.DataFrame([*rows, ("x", "x", 1, 5)], columns=names)
        assert not read(itself).in_order, "control: an item with itself has no two ways"

    def test_a_leaderboard_against_one_baseline(self):
        row = {"name": "x", "n_wins": 3, "n_wins_base": 1, "n_draws": 2, "n_total": 6}
        assert wins([row]) == {("x", "base"): 4, ("base", "x"): 2}

    def test_a_fraction_is_no_count_and_its_row_is_named(self):
        row = {"model_a": "x", "model_b": "y", "wins_a": 3, "wins_b": 0.5}
        with pytest.raises(ComparisonError, match=r"row 0: the column .wins_b. has .0\.5."):
            wins([row])

    def test_a_column_that_says_who_won_comes_before_a_count(self):
        row = {"model_a": "x", "model_b": "y", "winner": "x", "wins_a": 9, "wins_b": 9}
        assert wins([row]) == {("x", "y"): 1}


class TestRankings:
    @pytest.mark.parametrize(
        "row",
        [
            {"ranking": "x > y > z"},
            {"ranking": "x, y, z"},
            {"ranking": ["x", "y", "z"]},
            {"1st": "x", "2nd": "y", "3rd": "z"},
            {"rank_1": "x", "rank_2": "y", "rank_3": "z", "rank_4": None},
            {"First": "x", "Second": "y", "Third": "z"},
        ],
    )
    def test_the_best_comes_first(self, row):
        assert wins([row]) == FALLING

    def test_equal_items_are_tied(self):
        assert wins([{"ranking": "x > y = z"}]) == {
            ("x", "y"): 1, ("x", "z"): 1, ("y", "z"): 0.5, ("z", "y"): 0.5
        }  # fmt: skip

    def test_ranks_by_item_and_in_rows(self):
        wide = [{"voter": "v", "z": 3, "x": 1, "y": 2}, {"voter": "w", "z": 2, "x": 1, "y": None}]
        told = {("x", "y"): 1, ("x", "z"): 2, ("y", "z"): 1}
        assert wins(wide) == told
        long = [
            {"voter": row["voter"], "item": item, "rank": row[item]}
            for row in wide
            for item in "zxy"
        ]
        assert wins(long) == told

    def test_pairs_of_one_ranking_share_it_and_no_order_is_claimed(self):
        found = read(pd.DataFrame({"ranking": ["x > y > z"] * 12}))
        assert (found.cluster_name, len(set(found.cluster.tolist()))) == ("ranking", 12)
        assert not found.in_order
        assert any("12 rankings, read as 36 pairs" in note for note in found.notes)

    def test_marks_are_no_ranks(self):
        marks = [{"x": 5, "y": 5, "z": 4}, {"x": 1, "y": 2, "z": 3}]
        with pytest.raises(ComparisonError, match="say who was compared"):
            wins(marks)

    def test_an_item_twice_in_a_ranking_is_refused(self):
        with pytest.raises(ComparisonError, match="stands twice"):
            wins([{"ranking": "x > y > x"}])

    def test_people_rank_too_and_which_is_best_is_told(self):
        rows = [{"annotator": "v", "id": item, "rank": k} for k, item in enumerate("xyz", 1)]
        people = read_people(pd.DataFrame(rows))
        assert people.choices == (("x", "y", 1.0), ("x", "z", 1.0), ("y", "z", 1.0))
        assert any("1 was read as the best rank" in note for note in people.notes)


class TestWords:
    def row(self, verdict):
        return {"model_a": "x", "model_b": "y", "verdict": verdict}

    @pytest.mark.parametrize(
        ("verdict", "p"),
        [("A>>B", 1), ("[[A>B]]", 1), ("B<A", 1), ("A=B", 0.5), ("B>A", 0), ("A<<B", 0),
         ("x > y", 1), ("y>x", 0), ("x = y", 0.5)],
    )  # fmt: skip
    def test_signs_between_places_or_names(self, verdict, p):
        assert read(pd.DataFrame([self.row(verdict)])).p.tolist() == [p]

    @pytest.mark.parametrize("verdict", ["A>A", "A>C", "x>z", ">"])
    def test_signs_between_anything_else_are_refused(self, verdict):
        with pytest.raises(ComparisonError, match="no verdict"):
            wins([self.row(verdict)])

    def test_words_for_no_verdict_are_left_out_unless_an_item_has_the_name(self):
        rows = [self.row(word) for word in ("a", "skip", "Can't tell", "b")]
        found = read(pd.DataFrame(rows))
        assert found.p.tolist() == [1, 0]
        assert "'skip', \"Can't tell\" in 'verdict': read as no verdict" in found.notes
        assert wins([{"model_a": "skip", "model_b": "y", "verdict": "skip"}]) == {("skip", "y"): 1}


class TestLabelStudio:
    def task(self, *results, cancelled=False):
        return {
            "data": {"text_l": "x", "text_r": "y"},
            "annotations": [
                {"completed_by": {"email": "e"}, "was_cancelled": cancelled, "result": [*results]}
            ],
        }

    def chosen(self, side):
        return {"type": "pairwise", "to_name": "text_l,text_r", "value": {"selected": side}}

    def test_an_annotation_is_a_row(self):
        tasks = [self.task(self.chosen("left")), self.task(self.chosen("right"))]
        tasks += [self.task(), self.task(self.chosen("left"), cancelled=True)]
        tasks += [{"data": {"text_l": "x", "text_r": "y"}, "annotations": []}]
        assert wins(tasks) == {("x", "y"): 1, ("y", "x"): 1}

    def test_a_choice_goes_by_its_name(self):
        choice = {"type": "choices", "from_name": "better", "value": {"choices": ["x"]}}
        named = {"first": "text_l", "second": "text_r", "winner": "better"}
        assert wins([self.task(choice)], **named) == {("x", "y"): 1}


class TestGuess:
    ROWS = tuple(
        {"Comment": f"c{k}", "Left entry": a, "Right entry": b, "Your choice": c}
        for k, (a, b, c) in enumerate(("xyx", "yzz", "zxz", "xzx"))
    )

    def test_columns_that_fit_are_named(self):
        with pytest.raises(ComparisonError) as error:
            wins(self.ROWS)
        options = {"first": "Left entry", "second": "Right entry", "winner": "Your choice"}
        asked = " ".join(f"--column {option}={name!r}" for option, name in options.items())
        assert f"is it {asked}?" in str(error.value)
        assert wins(self.ROWS, **options) == {("x", "y"): 1, ("z", "y"): 1, ("z", "x"): 1,
                                              ("x", "z"): 1}  # fmt: skip

    def test_a_place_is_the_only_difference_between_two_columns(self):
        """Rater has an a and Text B a b: they are no a and b."""
        rows = [
            {"Rater": "ann", "Text A": "x", "Text B": "y", "Said": "A"},
            {"Rater": "ben", "Text A": "y", "Text B": "z", "Said": "about the same"},
            {"Rater": "ann", "Text A": "z", "Text B": "x", "Said": "B"},
            {"Rater": "ben", "Text A": "x", "Text B": "z", "Said": "can't decide"},
        ]
        with pytest.raises(ComparisonError) as error:
            wins(rows)
        asked = "--column first='Text A' --column second='Text B' --column winner='Said'"
        assert f"is it {asked}?" in str(error.value)
        named = {"first": "Text A", "second": "Text B", "winner": "Said"}
        assert wins(rows, **named) == {("x", "y"): 1, ("y", "z"): 0.5, ("z", "y"): 0.5,
                                       ("x", "z"): 1}  # fmt: skip

    def test_signs_between_names_are_verdicts_too(self):
        rows = [{"One": a, "Two": b, "Said": f"{b}>>{a}"} for a, b in ("xy", "yz", "zx")]
        with pytest.raises(ComparisonError) as error:
            wins(rows)
        assert "is it --column first='One' --column second='Two'" in str(error.value)

    def test_columns_that_do_not_fit_are_not(self):
        with pytest.raises(ComparisonError) as error:
            wins([row | {"Your choice": "q"} for row in self.ROWS])
        assert "is it" not in str(error.value)
