"""The gain of soft answers in two parts: by hand, exactly, and on judges with a bias or none."""

import numpy as np
import pandas as pd
import pytest

from judging.simulated import SimulatedJudge
from poe.choose.selection import select_stack
from reproduction import answers, run
from reproduction.measured_tables import asked
from studies import margin

THREE = np.array([[3.0, 2.0, 1.0]])
OF = "Bradley-Terry"


def of_three(said):
    """Parts of three texts whose pairs were asked in both orders: said[i, j], i shown first."""
    pairs = np.array([c for i, j in ((0, 1), (0, 2), (1, 2)) for c in ((i, j), (j, i))])
    p = np.array([said[tuple(pair)] for pair in pairs.tolist()])
    return margin.split(pairs[None, None], p[None, None], THREE)


@pytest.mark.parametrize("method", margin.METHODS_OF)
def test_a_judge_that_prefers_the_first_place_says_nothing_call_by_call(method):
    """Means .55, .55, .55 for the better text; every call alone says "the first"."""
    found = of_three({(0, 1): 0.9, (0, 2): 0.9, (1, 2): 0.9, (1, 0): 0.8, (2, 0): 0.8, (2, 1): 0.8})
    assert found[method, "cancellation"].item() == pytest.approx(1.0)
    assert found[method, "margin"].item() == pytest.approx(0.0, abs=1e-12)
    assert found[method, "gain"].item() == pytest.approx(1.0)


@pytest.mark.parametrize("method", margin.METHODS_OF)
def test_decisions_in_a_circle_say_nothing_and_their_sizes_do(method):
    """0 beats 1 and 1 beats 2 by far, 2 beats 0 by a hair; both orders agree."""
    found = of_three(
        {(0, 1): 0.9, (1, 0): 0.1, (1, 2): 0.9, (2, 1): 0.1, (2, 0): 0.51, (0, 2): 0.49}
    )
    assert found[method, "margin"].item() == pytest.approx(1.0)
    assert found[method, "cancellation"].item() == pytest.approx(0.0, abs=1e-12)


def simulated(*, bias, shared=0.0, contexts=150, n=8, calls=24):
    """Parts, and the mean of each in points, of a simulated judge."""
    rng = np.random.default_rng(4)
    quality = rng.standard_normal((contexts, n))
    judge = SimulatedJudge(quality, bias=bias, noise=0.7, shared=shared, seed=rng)
    pairs = select_stack(contexts, n, calls, rule="symmetric", seed=rng)
    found = margin.split(pairs[None], judge.answer(pairs)[None], quality)
    return found, {key: 100.0 * float(x.mean()) for key, x in found.items()}


def test_both_parts_are_the_gain():
    for bias in (0.0, 1.5):
        found, _ = simulated(bias=bias)
        for method in margin.METHODS_OF:
            total = found[method, "margin"] + found[method, "cancellation"]
            np.testing.assert_allclose(total, found[method, "gain"], rtol=0, atol=1e-15)


def test_only_a_judge_with_a_bias_has_something_to_cancel():
    """A fair one's two decisions of a pair even tell a little more: two to nil, or tied."""
    _, fair = simulated(bias=0.0)
    assert -4.0 < fair[OF, "cancellation"] < 1.0
    assert fair[OF, "margin"] > 1.0
    _, biased = simulated(bias=2.5)
    assert biased[OF, "cancellation"] > 10.0


def test_where_both_orders_say_the_same_nothing_is_cancelled():
    found, _ = simulated(bias=0.0, shared=1.0)
    np.testing.assert_allclose(found["average", "cancellation"], 0.0, atol=1e-12)
    # Bradley-Terry has half as much of its prior on a comparison that came twice.
    assert abs(100.0 * found[OF, "cancellation"].mean()) < 0.5


@pytest.fixture(scope="module")
def design():
    one = asked("summeval", "coherence", "comparative-1", "qwen")
    assert one is not None
    assert not one.whole
    return one


def test_calls_of_a_design_are_drawn_from_it_and_link_all_texts(design):
    few, all_made = margin.counts(design)[0], margin.counts(design)[-1]
    made = [{*zip(i, j, strict=True)} for i, j in zip(*design.calls[1:], strict=True)]
    for k in (few, all_made):
        drawn = margin.of_design(design, k, 3, np.random.default_rng(0))
        assert drawn.shape == (3, len(made), k, 2)
        for sets in drawn:
            for pairs, known in zip(sets, made, strict=True):
                rows = [tuple(pair) for pair in pairs.tolist()]
                assert {*rows} <= known
                assert len({*rows}) == k
                assert [(b, a) for a, b in rows[::2]] == rows[1::2]
                group = {0}
                for _ in range(16):
                    group |= {b for a, b in rows if a in group}
                assert len(group) == 16
    assert (drawn[0] != drawn[1]).any() or k == all_made


def test_all_calls_need_no_draws_and_few_are_those_of_the_table_of_gains():
    one = asked("topicalchat", "coherency", "poe", "qwen")
    assert margin.counts(one) == (12, 14, 18, 22, 26, 30)


# The crossed bootstrap ---------------------------------------------------------------------------


def grid(y, dataset="a", start=0):
    """Prompts and contexts by number."""
    y = np.asarray(y, dtype=float)
    names = tuple(f"prompt {k}" for k in range(len(y)))
    return margin.Grid(dataset, names, tuple(range(start, start + y.shape[1])), y)


def test_the_mean_is_over_contexts_then_prompts_then_grids():
    one = grid([[1.0, 2.0, 3.0], [np.nan, 6.0, np.nan]])  # (2 + 6) / 2
    other = grid([[10.0], [20.0]], dataset="b")
    assert margin.crossed([one, other], None).item() == pytest.approx((4.0 + 15.0) / 2)


def test_the_bootstrap_has_the_variance_of_two_independent_multinomials():
    """E(w w') of a multinomial of size P over P is I + (1 - 1/P) J, and so of contexts."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=(5, 1)) + 2.0 * rng.normal(size=(1, 9)) + rng.normal(size=(5, 9))
    p, c = y.shape
    of_prompts, of_contexts = (np.eye(n) + (1.0 - 1.0 / n) * np.ones((n, n)) for n in (p, c))
    variance = np.trace(y.T @ of_prompts @ y @ of_contexts) / (p * c) ** 2 - y.mean() ** 2
    again = margin.crossed([grid(y)], np.random.default_rng(2), 20000)
    assert again.mean() == pytest.approx(y.mean(), abs=4 * np.sqrt(variance / 20000))
    assert again.var() == pytest.approx(variance, rel=0.05)


def test_grids_of_one_data_set_share_what_was_drawn():
    y = np.random.default_rng(3).normal(size=(4, 7))
    one = margin.crossed([grid(y)], np.random.default_rng(5), 50)
    both = margin.crossed([grid(y), grid(y)], np.random.default_rng(5), 50)
    np.testing.assert_allclose(both, one)
    apart = margin.crossed([grid(y), grid(-y)], np.random.default_rng(5), 50)
    np.testing.assert_allclose(apart, 0.0, atol=1e-12)


# The theory --------------------------------------------------------------------------------------


def test_information_by_hand():
    """Quarters (0, 1), (0, 1), (1, 1), (1, 1): H(3/4) - 1/2 - 3 / (16 ln 2) bits."""
    size = np.array([8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    agrees = np.array([1, 0, 1, 0, 1, 1, 1, 1], dtype=bool)
    entropy = -0.75 * np.log2(0.75) - 0.25 * np.log2(0.25)
    wanted = entropy - 0.5 - 3.0 / (16.0 * np.log(2.0))
    assert margin.information(size, agrees) == pytest.approx(wanted, rel=1e-12)


def test_where_size_tells_nothing_information_is_nothing_on_average():
    rng = np.random.default_rng(6)
    told = [margin.information(rng.random(80), rng.random(80) < 0.6) for _ in range(2000)]
    assert np.mean(told) == pytest.approx(0.0, abs=4 * np.std(told) / np.sqrt(2000) + 0.001)


def test_a_cell_is_predicted_from_the_others_alone():
    rng = np.random.default_rng(7)
    x, cell = rng.random((24, 3)), np.repeat(np.arange(6), 4)
    y = 1.0 + x @ np.array([2.0, -3.0, 0.5])
    np.testing.assert_allclose(margin.predicted(x, y, cell), y)
    spoilt = np.where(cell == 2, 1e6, y)
    np.testing.assert_allclose(margin.predicted(x, spoilt, cell)[cell == 2], y[cell == 2])
    assert np.abs(margin.predicted(x, spoilt, cell)[cell == 1] - y[cell == 1]).max() > 1.0


def test_halves_of_nested_sets_are_halves():
    sets = [range(60), range(0, 60, 3), range(0, 60, 6)]
    half = margin.halved([list(s) for s in sets], 0)
    assert [len(half & {*s}) for s in sets] == [30, 10, 5]


# What was declared, and is stored ----------------------------------------------------------------


@pytest.fixture(scope="module")
def stored():
    return run.read("margin"), run.read("margin-tests")


def test_there_is_a_guess_for_every_cell(stored):
    rows = stored[0]
    place = ["system", "dataset", "template", "quantity"]
    few = rows[(rows["method"] == OF) & ~rows["template"].isin(margin.PARAPHRASED)]
    few = few[few["quantity"] != "gain"]
    guesses = margin.expected()
    assert {*map(tuple, guesses[place].values)} == {*map(tuple, few[place].values)}
    assert (guesses["low"] < guesses["median"]).all()
    assert (guesses["median"] < guesses["high"]).all()
    assert {*guesses["system"]} == {model.name for model in answers.MODELS.values()}


def test_stored_parts_add_up_and_agree_with_the_table_of_gains(stored):
    rows = stored[0]
    place = ["system", "dataset", "template", "k", "method"]
    wide = rows.pivot(index=place, columns="quantity", values="value")
    np.testing.assert_allclose(wide["margin"] + wide["cancellation"], wide["gain"], atol=2e-4)
    wide = wide.xs("poe", level="template").xs(OF, level="method")
    for name in ("measured-gains", "measured-qwen-gains"):
        known = run.read(name).query("attribute == 'mean' and versus == 'people'")
        known = known.set_index(["system", "dataset", "k"])
        for method, part in (("PoE-BT - BT", "margin"), ("PoE-BT - BT, each call", "gain")):
            same = known.loc[known["method"] == method, "value"]
            # As many draws are the same draws; else the two differ by their Monte Carlo errors.
            alike = (known["draws"] == rows["draws"].iloc[0]).all()
            noise = known.loc[known["method"] == method, "draw_se"]
            ratio = known["draws"].iloc[0] / rows["draws"].iloc[0]
            allowed = 1e-3 if alike else 4.0 * np.sqrt(1.0 + ratio) * noise + 1e-3
            assert ((wide[part].reindex(same.index) - same).abs() <= allowed).all()


def claims(rows, tested):
    return list(margin.outcomes(rows, tested)["holds"])


def test_claims_hold_and_fail_where_they_should(stored):
    rows, _ = stored
    fine = rows.copy()
    last = fine.groupby(["dataset", "template", "system"])["k"].transform("max") == fine["k"]
    lean = (fine["first"] - 50.0).abs()
    fine.loc[fine["quantity"] == "margin", "value"] = np.where(last, -1.0, 1.0)[
        fine["quantity"] == "margin"
    ]
    fine.loc[fine["quantity"] == "cancellation", "value"] = lean
    sure = pd.DataFrame({"quantity": margin.EACH[1:], "value": 1.0, "holm": 0.01})
    assert claims(fine, sure) == [True] * 6
    worse = fine.assign(value=np.where(fine["quantity"] == "margin", -fine["value"], -lean))
    assert claims(worse, sure.assign(value=-1.0)) == [False] * 6
    assert claims(fine, sure.assign(holm=[0.01, 0.06]))[-1] is False
