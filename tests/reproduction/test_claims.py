"""Claims: recipes on cells and curves made by hand, and what must fail."""

import numpy as np
import pandas as pd
import pytest

from reproduction import claims, published, verdicts
from reproduction.claims import OUTCOMES, all_claims
from reproduction.twins import key_of, twins

# Worked out on paper from the printed tables.
BY_HAND = {
    "v2-win-ratio-loses-10": 43.6 - 34.1,
    "v2-avg-prob-beats-win-ratio": 31.1 - 29.7,
    "v2-gaussian-bt-alike-hard": 5 / 10,
    "v2-soft-significant": (33.2 - 31.1) / np.hypot(0.06, 0.07),
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
LOSS = '(by("k", "method")["240", "avg-prob"] - by("k", "method")["48", "PoE-BT"]).max()'


@pytest.fixture(scope="module")
def long():
    return claims.accepted()


def one(recipe="", **changes):
    plain = {
        "id": "x", "paper": "poe_v2", "place": "5", "claim": "c", "targets": ["poe_v2/table1"],
        "measure": "m", "evidence": ["published", "simulated"], "recipe": recipe,
    }  # fmt: skip
    return claims.Claim(**{**plain, **changes})


@pytest.mark.long
class TestFile:
    def test_they_are_those_accepted(self, long, tmp_path):
        """The golden gate: every number and outcome; `judging scorecard --accept` where meant."""
        stored = verdicts.read("claims")
        named = [(c.id, kind) for c in all_claims().values() for kind in c.evidence]
        assert list(zip(stored["id"], stored["evidence"], strict=True)) == named
        values = [all_claims()[id_].measured(kind, moves=0).value for id_, kind in named]
        np.testing.assert_allclose(stored["value"], values, rtol=1e-5)
        assert stored["verdict"].tolist() == long["verdict"].tolist(), "from value and error"
        assert set(long["verdict"]) == set(OUTCOMES)
        written = pd.read_csv(claims.accept(long, tmp_path))
        pd.testing.assert_frame_equal(written, stored)

    def test_printed_cells_decide(self, long):
        printed = long[long["evidence"] == "published"].set_index("id")
        assert "cannot be checked" not in set(printed["verdict"])
        for name, value in BY_HAND.items():
            assert np.isclose(printed.loc[name, "value"], value), name

    def test_every_recipe_depends_on_the_cells(self, long):
        """Negative control: other numbers in the cells give other measures."""
        for id_, printed in long[long["evidence"] == "published"].set_index("id")["value"].items():
            claim, rng = all_claims()[id_], np.random.default_rng(0)
            cells, value = claims.cells_of(claim.targets, "published"), printed
            while np.isclose(value, printed, rtol=1e-4) and rng.uniform() < 0.99:
                number = 10.0 ** rng.uniform(-1, 2) * rng.uniform(size=len(cells))
                value = claims.on_cells(claim.recipe, cells.assign(number=number))
            assert not np.isclose(value, printed, rtol=1e-4), id_


@pytest.mark.long
class TestCells:
    def test_a_claim_the_numbers_contradict_does_not_hold(self):
        """Negative control: the opposite of a claim that holds."""
        number = one(LOSS).measured("published")
        far = 0.1 + 1e-6  # more than a printed digit
        assert one(at_least=number.value - far).verdict(number) == "holds"
        assert one(at_least=number.value).verdict(number) == "borderline"
        assert one(at_most=number.value - far).verdict(number) == "does not hold"
        assert one().verdict(claims.Number(np.nan)) == "cannot be checked"
        count = claims.Number(4.0, 0.3)
        assert one(at_least=4, unit="judges").verdict(count) == "borderline", "by its error"
        assert one(at_least=3, unit="judges").verdict(count) == "holds"

    def test_an_error_is_that_of_the_cells(self):
        """Half a printed digit each way, in two cells; a part in common cancels between them."""
        cells = claims.cells_of(["poe_v2/table1"], "published")
        gap = 'cells["number"].iloc[2] - cells["number"].iloc[4]'  # of one judge
        found = claims._of_cells(gap, cells, 300)
        assert found.error == pytest.approx(0.1 / np.sqrt(12) * np.sqrt(2), rel=0.15)
        together = cells.assign(error=1.0, common=0.6)
        assert claims._of_cells(gap, together, 300).error == pytest.approx(0.8 * 2**0.5, rel=0.15)

    def test_an_extreme_names_its_judge(self):
        found = all_claims()["v2-win-ratio-loses-10"].measured("published", moves=2)
        assert (found.judge, round(found.without, 6)) == ("FlanT5-3B", 8.8)
        mean = one('by("k", "method")["48", "PoE-BT"].mean()').measured("published", moves=2)
        assert mean.judge == "", "all decide"

    def test_missing_numbers_that_matter_are_not_guessed(self):
        cells = published.load("table1").assign(printed=True)
        lost = cells["id"] == "poe_v2/table1/FlanT5-3B/K48/PoE-BT"
        cells["number"] = cells["number"].mask(lost)
        assert np.isnan(claims.on_cells(LOSS, cells))
        other = 'by("k", "method")["240", "win-ratio"].max()'
        assert claims.on_cells(other, cells) == 43.6, "does not need the cell"
        none = cells.assign(number=cells["number"].mask(cells["k"] == "48"))
        gap = '(by("k", "method")["48", "PoE-BT"] - by("k", "method")["48", "PoE-g"]).max()'
        assert np.isnan(claims.on_cells(gap, none)), "missing numbers do not cancel"

    def test_ours_take_the_place_of_the_printed(self, monkeypatch):
        ours = published.load("table1")[["id"]].assign(value=1.0, kind="simulated")
        monkeypatch.setattr(claims, "read", {"table1": ours.assign(se=0.1)}.get)
        assert one(LOSS).measured("simulated", moves=0).value == 0.0
        assert np.isnan(one(LOSS).measured("measured").value)

    def test_a_judge_on_a_bound_is_left_out_of_ours_alone(self, monkeypatch):
        printed = published.load("table1")
        ours = printed[["id"]].assign(value=np.arange(len(printed), dtype=float), kind="simulated")
        monkeypatch.setattr(claims, "read", {"table1": ours.assign(se=0.1)}.get)
        last = printed["system"].iloc[-1]
        others = np.flatnonzero(printed["system"] != last)

        def value(evidence, *without):
            return one('cells["number"].max()', without=without).measured(evidence, moves=0).value

        assert value("published", last) == value("published")
        assert value("simulated") == len(ours) - 1
        assert value("simulated", last) == value("simulated", f"{last}/SummEval") == others.max()
        assert value("simulated", f"{last}/HANNA") == len(ours) - 1, "on that dataset alone"
        said = one(without=[last])
        assert f"without {last}" in said.shown(claims.Number(1.0), "simulated")
        assert "without" not in said.shown(claims.Number(1.0), "published")

    def test_judges_are_left_out_for_a_bound_and_by_name(self):
        """Each that is named has no noise on the sets that the claims are about."""
        for claim in all_claims().values():
            for name in claim.without:
                judge, _, place = name.partition("/")
                for dataset in [place] if place else ["SummEval", "TopicalChat"]:
                    found = twins(key_of(dataset)).items()
                    at = {one for (one, _), t in found if "noise" in t.at_bound}
                    assert judge in at, claim.id


N = 1056


def curve(values, *, selection="no-repeat", bias="none", method="PoE-BT"):
    about = {"panel": "p", "dataset": "hanna", "system": "j", "attribute": "a"}
    about |= {"method": method, "selection": selection, "bias": bias}
    return pd.DataFrame({"k": list(values), "value": list(values.values()), **about})


def joined(*lines):
    """Curves of one panel, each with (selection, bias) and values by k."""
    return pd.concat([curve(v, selection=s, bias=b) for (s, b), v in lines])


P = np.linspace(0.05, 0.95, 10)
STRAIGHT = pd.DataFrame({"panel": "p", "p": P, "count": 100, "variance": 1.0, "value": 3 * P - 1})
DEBIASED = joined(
    (("no-repeat", "none"), {5 * N: 20.0, 10 * N: 30.0}),
    (("no-repeat", "plug-in"), {5 * N: 40.0, 10 * N: 41.0}),
)
DESIGNS = joined(
    (("no-repeat", "plug-in"), {2 * N: 30.0, 5 * N: 38.0, 20 * N: 39.0, 50 * N: 40.0}),
    (("symmetric", "none"), {2 * N: 25.0, 5 * N: 38.5, 20 * N: 39.2, 50 * N: 39.9}),
)
SELECTED = joined(
    (("random", "none"), {32: 40, 48: 43, 64: 45, 180: 48, 240: 49}),
    (("greedy", "none"), {32: 42, 48: 44, 64: 46, 180: 48.1, 240: 49}),
    (("laplace", "none"), {32: 43.0, 48: 44.5, 64: 46.0}),
)
SIZES = pd.DataFrame(
    [
        (task, k, method, gain, 3.0 if k == 1000 else 1.5)
        for task in ("HaluEval", "TruthfulQA", "ChatbotArena")
        for k in (1000, 5000)
        for method, gain in (("Crowdlayer", 1.0), ("SkillAggregation", 1.5))
    ],
    columns=["dataset", "k", "method", "gain", "gain_sd"],
)
CURVES = [
    ("v2-debiasing-needed", DEBIASED, 11.0),
    ("v2-debiasing-idle", DEBIASED, 20.0),
    ("v2-nonsymmetric-early", DESIGNS, 1.0),
    ("v2-nonsymmetric-late", DESIGNS, 0.5),
    ("v2-nonsymmetric-end", DESIGNS, 0.1),
    ("v2-selection-early", SELECTED, 1.0),
    ("v2-selection-fades", SELECTED, 0.1),
    ("v2-laplace-selection-early", SELECTED, 0.5),
    ("v2-linear-mean", STRAIGHT, 1.0),
    ("v2-linear-mean", STRAIGHT.assign(value=(P - 0.5) ** 2), 0.0),
    ("v2-constant-variance", STRAIGHT, 1.0),
    ("v2-constant-variance", STRAIGHT.assign(variance=np.where(P < 0.5, 1.0, 2.0)), 2.0),
    ("sa-few-samples-noisier", SIZES, 2.0),
    ("sa-over-crowdlayer-at-every-size", SIZES, 0.5),
]


def test_recipes_on_curves_by_hand():
    for name, table, expected in CURVES:
        found = claims.on_curves(all_claims()[name].recipe, [table], "simulated")
        assert found == pytest.approx(expected, abs=1e-9), name
    needed = all_claims()["v2-poe-converges-faster-curves"].recipe
    panel = pd.concat(
        [curve({1: 8.0, 2: 9.5, 4: 10.0}), curve({1: 5.0, 2: 8.0, 4: 9.1}, method="avg-prob")]
    )
    assert claims.on_curves(needed, [panel, panel], "simulated") == 0.5
