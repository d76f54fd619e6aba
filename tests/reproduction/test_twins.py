"""Twins: what they perceive, and what data/twins.toml says they were made of."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

import judging
from reproduction import calibrate_small, published, small
from reproduction import twins as module
from reproduction.twins import calibration_cells, call_errors, perceived, quality_scores, twins
from tests.judging.test_simulated_judge import require_shared

GOLD = judging.datasets.load("summeval").scores["coherence"]


def test_perceived_quality_has_the_stated_correlation():
    taste = np.random.default_rng(1).standard_normal((200, *GOLD.shape))
    q, z = perceived(GOLD, 0.6, taste), quality_scores(GOLD)
    r = (q * z).mean() / np.sqrt((q**2).mean() * (z**2).mean())
    assert r == pytest.approx(0.6, abs=0.005)
    assert q.var() == pytest.approx(1.0, abs=0.01)


def test_quality_of_two_by_hand():
    """Ranks 1 and 2 of 2 have quantiles -c and c; linear scores differ alike; so z is -1, 1."""
    np.testing.assert_allclose(quality_scores(np.array([[3.0, 7.0]])), [[-1.0, 1.0]])


def test_the_earlier_paper_has_its_own_bias_and_not_every_judge():
    found = twins("summeval")
    flan = found["FlanT5-11B", "coherence"]
    assert flan.bias == 0.0
    assert flan.of_earlier_paper().bias < 0.0
    with pytest.raises(ValueError, match="no judge Mistral-7B"):
        found["Mistral-7B", "coherence"].of_earlier_paper()


def test_the_file_has_a_twin_for_every_judge_and_attribute_and_a_judge_is_equally_sharp():
    sharpness = {}
    for dataset, attributes in module.ATTRIBUTES.items():
        judges = module.LARGE_JUDGES if dataset in ("hanna", "cmcqrd") else module.JUDGES
        found = twins(dataset)
        assert set(found) == {(j, a) for j in judges for a in attributes.values()}
        assert all(0 < t.rho < 1 and t.noise >= 0 and t.sharpness > 0 for t in found.values())
        for twin in found.values():
            assert sharpness.setdefault(twin.judge, twin.sharpness) == twin.sharpness


def test_every_cell_used_is_published():
    for cell in calibration_cells():
        assert published.number(cell)


def test_what_was_seen_is_listed():
    """Every cell that twins have is calibrated, implied, or on the list that its role names."""
    ids = pd.concat([published.all_tables(paper=paper)["id"] for paper in published.PAPERS])
    assert all(ids.str.startswith(start).any() for start in module.listed("seen"))
    for paper, tables in (("poe_v2", "125678"), ("poe_v1", "12345")):
        for table in tables:
            cells = small.cells(f"table{table}", paper)
            for id_, cell in zip(cells["id"], cells["cell"], strict=True):
                role = small.role(cell)
                assert role in module.ROLES
                if role in ("seen", "blind"):
                    entry = module.listed(role)["/".join(id_.split("/")[:2]) + "/"]
                    assert entry.get("only") in (None, "selected")
                    assert ("selected" in id_) == (entry.get("only") == "selected")


def test_a_parameter_on_a_bound_is_marked_and_has_no_error():
    rows = module._file()["twin"]
    for row in rows:
        at = row.get("at_bound", [])
        assert ("noise" in at) == (row["noise"] == 0.0)
        sharp = row["sharpness"] in (calibrate_small.MIN_SHARPNESS, calibrate_small.MAX_SHARPNESS)
        assert ("sharpness" in at) == sharp
        assert not set(at) & set(row["se"])
    assert any("at_bound" in row for row in rows)


def test_a_large_set_is_asked_as_a_small_one_is():
    """Single answers and both orders together have one distribution, by matrix and by call."""
    gold = np.arange(40.0)
    i, j = np.triu_indices(40, 1)

    def both(shared, large):
        twin = module.Twin("x", "hanna", "coherence", 0.5, 1.0, 3.0, 0.5, shared=shared)
        ask = (
            twin.asker(gold, np.random.default_rng(1))
            if large
            else twin.answer(gold[None], np.random.default_rng(2)).answer
        )
        pairs = np.stack([i, j], axis=-1)
        there, back = np.ravel(ask(pairs)), np.ravel(ask(pairs[:, ::-1]))
        return there, there + 1.0 - back, there + back

    for one, other in zip(both(-0.6, True), both(-0.6, False), strict=True):
        assert ks_2samp(one, other).pvalue > 1e-3
    pairs = zip(both(-0.6, True)[1:], both(0.6, False)[1:], strict=True)
    assert all(ks_2samp(one, other).pvalue < 1e-3 for one, other in pairs), "negative control"


def test_only_declared_cells_of_the_predicted_paper_were_used():
    """Full sets, soft gain, one row of few calls; one more for Mistral; Table 3's ends."""
    mine = {c for c in calibration_cells() if c.startswith("poe_v2/table")}
    allowed = set()
    for judge in module.JUDGES:
        allowed |= {f"poe_v2/table5/{judge}/K240/avg-prob", f"poe_v2/table7/{judge}/K30/avg-prob"}
        allowed |= {f"poe_v2/table6/{judge}/K240/{m}" for m in ("avg-prob", "PoE-BT")}
    allowed |= {"poe_v2/table5/Mistral-7B/K48/win-ratio", "poe_v2/table7/Mistral-7B/K18/win-ratio"}
    allowed |= set(calibrate_small.SHARED_ON)
    assert set(calibrate_small.SHARED_ON) == {
        f"poe_v2/table5/{j}/K48/avg-prob" for j in module.JUDGES if j != "Mistral-7B"
    }
    rest = mine - allowed
    assert allowed <= mine
    assert all("/table3/" in c and c.endswith("/avg-prob") for c in rest)
    assert {c.split("/")[3] for c in rest} == {"K5N", "K50N"}


# Calls about a large set, of which no matrix is kept ------------------------------------------


@pytest.mark.parametrize("shared", [-1.0, -0.4, 0.0, 0.7, 1.0])
def test_both_orders_share_what_is_stated_call_by_call(shared):
    pairs = np.argwhere(~np.eye(400, dtype=bool))
    require_shared(call_errors(pairs, shared=shared, seed=1), pairs, 400, shared)


def test_a_call_errs_alike_in_every_batch():
    pairs = np.random.default_rng(0).integers(0, 50, size=(3, 20, 2))
    e = call_errors(pairs, shared=-0.3, seed=7)
    alone = [call_errors(pair[None], shared=-0.3, seed=7)[0] for pair in pairs.reshape(-1, 2)]
    np.testing.assert_array_equal(e.ravel(), alone)
    assert abs(np.corrcoef(e.ravel(), call_errors(pairs, seed=8).ravel())[0, 1]) < 0.5
