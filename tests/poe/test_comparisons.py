"""The data type: what it accepts, what it refuses and in which words."""

import dataclasses

import numpy as np
import pytest

import poe

FOUR = ["ash", "birch", "cedar", "dogwood"]


def four(p=(0.9, 0.6, 0.3), **options):
    return poe.Comparisons(
        first=["ash", "birch", "cedar"], second=["birch", "cedar", "dogwood"], p=p, **options
    )


class TestBuilding:
    @pytest.mark.parametrize(
        ("first", "second", "options", "items", "pairs"),
        [
            (FOUR[:3], FOUR[1:], {}, FOUR, [[0, 1], [1, 2], [2, 3]]),
            ([7, 2], [2, 5], {}, [2, 5, 7], [[2, 0], [0, 1]]),  # numbers are sorted
            (["b"], ["c"], {"items": [*"dcba"]}, [*"dcba"], [[2, 1]]),  # two are not compared
            ([2], [0], {"items": 3}, [0, 1, 2], [[2, 0]]),
            ([2], [0], {"items": np.int64(3)}, [0, 1, 2], [[2, 0]]),
        ],
    )
    def test_items_and_their_order(self, first, second, options, items, pairs):
        p = [0.9, 0.6, 0.3][: len(first)]
        c = poe.Comparisons(first=first, second=second, p=p, **options)
        assert (c.items, c.n_items, len(c)) == (tuple(items), len(items), len(p))
        assert (c.pairs.tolist(), c.p.tolist(), c.weight.tolist()) == (pairs, p, [1] * len(p))
        again = poe.Comparisons.from_pairs(pairs, p, items=options.get("items", items))
        assert again.items == c.items

    def test_arrays_are_read_only_and_inputs_are_copied(self):
        p = np.array([0.9, 0.6, 0.3])
        c = four(p)
        p[0] = 0.1
        assert c.p[0] == 0.9
        with pytest.raises(ValueError, match="read-only"):
            c.p[0] = 0.1


class TestTables:
    """Columns first, second, p and weight; other people's forms are `judging.read`'s."""

    @pytest.mark.needs("pandas")
    def test_a_table_of_text_round_trip_keeps_leading_zeros(self, tmp_path):
        import pandas as pd

        c = poe.Comparisons(first=["007", "12"], second=["12", "x"], p=[0.125, 1], weight=[1, 2])
        c.to_table().to_csv(tmp_path / "c.csv", index=False)
        again = poe.Comparisons.from_table(pd.read_csv(tmp_path / "c.csv", dtype=str))
        assert again.items == ("007", "12", "x")
        pd.testing.assert_frame_equal(again.to_table(), c.to_table(), check_dtype=False)

    def test_columns_may_stand_beside_others(self):
        table = {"note": ["", ""], "p": [1, 0.25], "second": [*"bc"], "first": [*"ab"]}
        c = poe.Comparisons.from_table(table)
        assert (c.items, c.p.tolist(), c.weight.tolist()) == (("a", "b", "c"), [1, 0.25], [1, 1])
        assert poe.Comparisons.from_table(table, items=[*"cba"]).items == ("c", "b", "a")
        assert poe.Comparisons.from_table({**table, "weight": [2, 3]}).weight.tolist() == [2, 3]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"first": [], "second": [], "p": []}, "there are no comparisons"),
            ({"p": ["high"]}, "p must be numbers.*'high'"),
            ({"weight": [""]}, "weight must be numbers"),
            ({"p": None}, "no column 'p'; .*judging.read"),
        ],
    )
    def test_a_table_that_is_not_of_this_form_is_refused(self, change, message):
        table = {"first": ["a"], "second": ["b"], "p": [1], **change}
        with pytest.raises(poe.ComparisonError, match=message):
            poe.Comparisons.from_table({k: v for k, v in table.items() if v is not None})


@pytest.mark.needs("pandas")
def test_what_only_pandas_has_is_refused_too():
    import pandas as pd

    with pytest.raises(poe.ComparisonError, match="no column 'p'; it has 'first', 'second', 'sc"):
        poe.Comparisons.from_table(pd.DataFrame(columns=["first", "second", "score"]))
    with pytest.raises(poe.ComparisonError, match="row 1: an item name is missing"):
        made(["a", pd.NA])
    table = {"first": ["a"], "second": ["b"], "p": [0.5], "weight": [2]}
    assert poe.fit(pd.DataFrame(table)).items == ("a", "b")
    with pytest.raises(poe.ComparisonError, match="p must be numbers"):
        four(pd.to_datetime(["1970-01-01"] * 3))


def made(first=("a", "b"), second=("b", "c"), p=(0.5, 0.5), **options):
    return poe.Comparisons(first=first, second=second, p=p, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: four([0.9, 1.2, 0.3]), r"row 1 \('birch' against 'cedar'\): p is 1.2"),
        (lambda: four([0.9, np.nan, 0.3]), r"row 1 \('birch' against 'cedar'\): p is nan"),
        (lambda: four(np.ma.masked_array([0.9, 0.6, 0.3], [0, 1, 0])), r"row 1 .*p is nan"),
        (lambda: four(["high", "low", "low"]), "p must be numbers"),
        (lambda: four([0.5, 0.5]), "first has 3, second has 3, p has 2"),
        (lambda: four(weight=[0.0, 1, 1]), r"row 0 .*weight is 0"),
        (lambda: four(items=FOUR[:3]), "row 2: second is 'dogwood', which is not"),
        (lambda: four(items=[*FOUR, "ash"]), "more than once in items: 'ash'"),
        (lambda: made(second=["a", "c"]), r"row 0 .*'a'.*compared with itself"),
        (lambda: made([], [], []), "no comparisons"),
        *(
            (lambda bad=bad: made(["a", bad]), "row 1: an item name is missing")
            for bad in (float("nan"), None, ["a"])
        ),
        (
            lambda: poe.Comparisons.from_pairs([[0, 4]], [0.5], items=4),
            r"row 0 of pairs is \[0, 4\].* 0..3",
        ),
        (lambda: made([True, 2], [2, 1]), "True and 1 are the same name to Python"),
        (lambda: made(items=[1, 1.0, True]), "more than once in items"),
        (lambda: made(None), "expected a sequence of item names, not None"),
        (lambda: four(np.array([0.5 + 1j, 0.5, 0.5])), "p must be numbers"),
        (lambda: four([10**400, 0.5, 0.5]), "p must be numbers"),
        (lambda: four(weight=[1e200, 1, 1]), r"row 0 .*weight is 1e\+200"),
        (lambda: four(weight=[1e12, 1, 1e-4]), "weights from 0.0001 to 1e.12 differ"),
    ],
)
def test_what_cannot_be_is_refused_in_the_users_names(make, message):
    with pytest.raises(poe.ComparisonError, match=message):
        make()


class TestStructure:
    def test_matrix_of_the_paper(self):
        """Paper eq. 25: all pairs of four items with the anchor row on top."""
        pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
        c = poe.Comparisons.from_pairs(pairs, [0.5] * 6, items=4)
        expected = [
            [1, 0, 0, 0],
            [1, -1, 0, 0],
            [1, 0, -1, 0],
            [1, 0, 0, -1],
            [0, 1, -1, 0],
            [0, 1, 0, -1],
            [0, 0, 1, -1],
        ]
        assert c.matrix(anchor=True).tolist() == expected
        assert c.matrix().tolist() == expected[1:]

    def test_components_by_name_largest_first(self):
        c = poe.Comparisons(first=["a", "c", "d"], second=["b", "d", "e"], p=[0.5] * 3)
        assert c.components() == [("c", "d", "e"), ("a", "b")]
        with pytest.raises(poe.DisconnectedError, match="'a', 'b' share no comparison"):
            c.require_connected()

    def test_hard_keeps_ties(self):
        assert four([0.51, 0.5, 0.0]).hard().p.tolist() == [1.0, 0.5, 0.0]

    def test_merged_means_and_weights(self):
        c = poe.Comparisons.from_pairs(
            [[0, 1], [0, 1], [1, 0]], [0.2, 0.8, 0.3], items=2, weight=[1, 3, 5]
        )
        merged = c.merged()
        assert len(c) == 3, "repeats are kept until merging is asked for"
        assert merged.pairs.tolist() == [[0, 1], [1, 0]]
        np.testing.assert_allclose(merged.p, [(0.2 + 3 * 0.8) / 4, 0.3])
        assert merged.weight.tolist() == [4, 5]

    def test_symmetrised_is_the_mean_of_both_orders(self):
        c = poe.Comparisons.from_pairs([[1, 0], [0, 1]], [0.7, 0.9], items=2)
        both = c.symmetrised()
        assert both.pairs.tolist() == [[0, 1]]
        np.testing.assert_allclose(both.p, [(0.9 + 1 - 0.7) / 2])
        assert both.weight.tolist() == [2]

    def test_symmetrised_names_single_orders(self):
        with pytest.raises(poe.ComparisonError, match="one order only: 'ash before birch'"):
            four().symmetrised()


def test_large_sets_are_checked_as_small_ones_are():
    """Above a thousand comparisons another algorithm looks for the groups."""
    ring = np.column_stack([np.arange(1500), (np.arange(1500) + 1) % 1500])
    both = np.concatenate([ring, ring[:, ::-1], ring])
    poe.Comparisons.from_pairs(both, np.full(len(both), 0.5), items=1500).require_connected()
    c = poe.Comparisons.from_pairs(
        np.concatenate([both, [[1500, 1501]]]), np.full(len(both) + 1, 0.5), items=1502
    )
    assert [len(group) for group in c.components()] == [1500, 2]
    with pytest.raises(poe.DisconnectedError, match="items 1500, 1501 share no comparison"):
        c.require_connected()


@pytest.mark.needs("pandas")
class TestAttack:
    """`make attack` runs thousands of these; here a few hundred, and the control."""

    def test_what_is_mutated_is_fitted_or_refused_in_a_sentence(self):
        from tests.poe import attack_fits

        counts, faults = attack_fits.attack(300)
        assert faults == {}
        assert counts["fitted"] > 45
        assert counts["ComparisonError"] > 45

    def test_a_fit_that_is_none_would_be_noticed(self, monkeypatch):
        from tests.poe import attack_fits

        real = poe.fit

        def spoiled(*args, **options):
            found = real(*args, **options)
            return dataclasses.replace(found, scores=found.scores + np.nan)

        monkeypatch.setattr(poe, "fit", spoiled)
        assert "FAULT scores that are no numbers" in attack_fits.attack(60)[0]
        monkeypatch.setattr(poe, "fit", lambda *_, **__: {}["no such key"])
        assert any("KeyError" in fault for fault in attack_fits.attack(60)[1].values())
