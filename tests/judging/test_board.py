"""The leaderboard's promises: plain first, length control that does not pay, gates."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import judging
import poe
from judging import Fitting
from judging.practice.board import errors, gate, leaderboard
from judging.practice.board.clusters import Clustered, clustered
from judging.practice.board.errors import error_findings
from judging.practice.board.length import relative
from judging.practice.cli import main
from judging.practice.reading import forms
from judging.practice.sentences import say

NAMES = ("plain", "padded", "cut", "better", "worse", "long", "short")
QUALITY = (0.0, 0.0, 0.0, 0.5, -0.5, 0.2, -0.2)
LENGTH = (1.0, 1.6, 0.6, 1.0, 1.2, 1.2, 0.8)


def world(
    seed, *, quality=QUALITY, length=LENGTH, names=NAMES, taste=1.0, shape="tanh", prompts=400
):
    """Simulated votes: systems of known quality and length before a judge who likes length."""
    rng, n = np.random.default_rng(seed), len(quality)
    size = rng.lognormal(6.0, 0.5, (prompts, 1)) * np.array(length)
    size = size * rng.lognormal(0.0, 0.3, (prompts, n))
    own = np.array(quality) + 0.5 * rng.standard_normal((prompts, n))
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    turned = rng.random((prompts, len(pairs))) < 0.5
    i = np.where(turned, pairs[:, 0], pairs[:, 1]).ravel()
    j = np.where(turned, pairs[:, 1], pairs[:, 0]).ravel()
    x = np.repeat(np.arange(prompts), len(pairs))
    lengths = np.column_stack([size[x, i], size[x, j]])
    longer = relative(lengths) if shape == "tanh" else np.log(lengths[:, 0] / lengths[:, 1])
    p = expit(own[x, i] - own[x, j] + taste * longer + 0.2)
    return pd.DataFrame(
        {
            "first": np.array(names)[i],
            "second": np.array(names)[j],
            "p": (rng.random(len(p)) < p).astype(float),
            "prompt": [f"prompt {k}" for k in x],
            "length_1": lengths[:, 0],
            "length_2": lengths[:, 1],
        }
    )


@pytest.mark.long
class TestLengthDoesNotPay:
    def gains(self, shape, taste, seeds=10):
        """Points of the win rate against the same system as it was: padded, cut; and plain."""
        found = []
        for seed in range(seeds):
            board = leaderboard(world(seed, shape=shape, taste=taste), length=True)
            rates = [board.compare(name, "plain", equal_length=True) for name in NAMES[1:3]]
            rates += [board.compare(name, "plain") for name in NAMES[1:3]]
            found.append([100.0 * (one["win_rate"] - 0.5) for one in rates])
        return np.mean(found, axis=0)

    @pytest.mark.parametrize(("shape", "taste"), [("tanh", 0.5), ("tanh", 1.0), ("log", 0.5)])
    def test_padding_and_cutting_gain_at_most_a_point(self, shape, taste):
        """The last is a judge whose taste has another form than the model's."""
        padded, cut, plain_padded, plain_cut = self.gains(shape, taste)
        assert padded <= 1.0
        assert cut <= 1.0
        assert plain_padded > 4.0, "the control: in the plain ranking padding pays"
        assert plain_cut < -3.0

    def test_a_concise_system_that_is_better_is_found_to_be(self):
        table = world(0, quality=(0.0, 0.0, 0.6), length=(1.0, 1.6, 0.6), names=("a", "b", "c"))
        board = leaderboard(table, length=True)
        assert board.equal.ranking()[0] == "c"
        # Own strengths on every prompt (sd 0.7 a difference) flatten 0.6 logits to about 0.55.
        apart = board.compare("c", "a", equal_length=True)
        assert apart["low"] < 0.55 < apart["high"]
        assert board.compare("c", "a")["difference"] < 0.3, "the control"

    def test_no_effect_of_length_moves_nothing(self):
        for seed in range(40):
            table = world(seed, taste=0.0, prompts=30)
            board = leaderboard(table, length=True)
            if not board.equal.covariate.size:
                np.testing.assert_allclose(board.equal.scores, board.plain.scores, atol=1e-9)
                assert "show no effect of length" in str(board)
                break
        else:
            pytest.fail("of 40 worlds without an effect, every one was found to have one")

    def test_the_shrunken_effect_is_smaller_than_the_estimate(self):
        table = world(1, prompts=25)
        board = leaderboard(table, length=True)
        c = judging.read(table)  # in the order of its rows, which a board leaves
        x = relative(table[["length_1", "length_2"]].to_numpy())
        free = clustered(poe.fit(c, bias="fit"), pd.factorize(table["prompt"])[0], x).covariate
        assert 0.0 < board.equal.covariate.size < free.size

    def test_a_system_without_answers_of_equal_length_is_named(self):
        table = world(2, quality=(0.0, 0.0, 0.0), length=(1.0, 1.0, 0.05), names=("a", "b", "c"))
        said = str(leaderboard(table, length=True))
        assert re.search(r"few comparisons of answers about equally long: c \(\d\)", said)


@pytest.mark.long
class TestReference:
    def star(self, seed=0, prompts=300):
        table = world(seed, prompts=prompts)
        return table[(table["first"] == "plain") | (table["second"] == "plain")]

    def test_win_rate_and_error_are_those_of_the_mean(self):
        """By hand: the mean of the wins, its standard deviation over the root of their number."""
        table = self.star()
        found = leaderboard(table, reference="plain").against()
        for name in NAMES[1:]:
            own = table[(table["first"] == name) | (table["second"] == name)]
            won = np.where(own["first"] == name, own["p"], 1.0 - own["p"])
            assert found.loc[name, "win_rate"] == pytest.approx(won.mean(), abs=1e-12)
            expected = won.std(ddof=1) / np.sqrt(len(won))
            assert found.loc[name, "se"] == pytest.approx(expected, rel=1e-12)
            assert found.loc[name, "comparisons"] == len(won)
        with pytest.raises(ValueError, match="no system 'nobody'"):
            leaderboard(table, reference="nobody")


def alpaca(names, seed=0, prompts=60):
    """Files in the form of alpaca_eval's annotations, of invented verdicts, the order undone."""
    rng = np.random.default_rng(seed)
    return {
        name: pd.DataFrame(
            {
                "instruction": [f"do {k}" for k in range(prompts)],
                "generator_1": "base",
                "output_1": "x" * 50,
                "generator_2": name,
                "output_2": ["y" * int(n) for n in rng.integers(20, 90, prompts)],
                "preference": np.round(1.0 + rng.random(prompts) ** (2.0 - 0.5 * k), 3),
            }
        )
        for k, name in enumerate(names)
    }


def test_several_files_and_a_reference_in_one_command(tmp_path, capsys):
    tables = alpaca(["ann", "bob", "base"])
    paths = []
    for name, table in tables.items():
        paths.append(str(tmp_path / f"{name}.json"))
        table.to_json(paths[-1], orient="records")
    command = [
        "leaderboard",
        *paths,
        "--reference",
        "base",
        "--set",
        "length-control",
    ]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in found["systems"]}
    for name in ("ann", "bob"):
        won = tables[name]["preference"] - 1.0
        assert rows[name]["reference_rate"] == pytest.approx(won.mean())
        assert rows[name]["reference_se"] == pytest.approx(won.std(ddof=1) / np.sqrt(len(won)))
    assert len(found["differences"]) == 3
    pd.DataFrame({"first": ["a"], "second": ["b"], "p": ["much"]}).to_csv(tmp_path / "e.csv")
    assert main(["fit", str(tmp_path / "e.csv"), paths[0], "--column", "first=first"]) == 1


# One kind of interval ---------------------------------------------------------------------------


@pytest.mark.parametrize("errors", ["auto", "vote", "pair", "prompt"])
def test_fit_and_leaderboard_give_one_interval_and_say_which(tmp_path, capsys, errors):
    votes = world(3, prompts=40)
    path = tmp_path / "votes.csv"
    for table in (votes, votes.drop(columns="prompt")):
        if errors == "prompt" and "prompt" not in table:
            continue
        table.to_csv(path, index=False)
        found, said = [], []
        for command in ("fit", "leaderboard"):
            out = tmp_path / f"{command}.csv"
            options = ["--set", f"errors={errors}", "--out", str(out), "--verbose"]
            assert main([command, str(path), *options]) == 0
            found.append(pd.read_csv(out)[["rank", "name", "score", "low", "high"]])
            text = capsys.readouterr().out
            said.append(re.findall(r"Intervals are per \w+", text))
        pd.testing.assert_frame_equal(*found)
        assert main(["fit", str(path), "--set", f"errors={errors}", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [row["low"] for row in told["items"]] == pytest.approx(found[0]["low"].tolist())
        assert told["comparisons"] == len(table)
        assert said[0] == said[1]
        kind = {"auto": "prompt" if "prompt" in table else "vote"}.get(errors, errors)
        assert said[0] == [f"Intervals are per {kind}"]


@pytest.mark.long
def test_votes_one_by_one_are_as_sure_as_their_bootstrap():
    """What `fit` once told of 1,760 votes on 5 systems was three times as wide."""
    rng = np.random.default_rng(0)
    i = rng.integers(5, size=1200)
    j = (i + rng.integers(1, 5, size=1200)) % 5
    p = (rng.random(1200) < expit(0.3 * (i - j))).astype(float)
    table = pd.DataFrame({"first": i, "second": j, "p": p})
    board = leaderboard(table)
    assert board.errors == "vote"
    drawn = []
    for _ in range(200):
        some = rng.integers(1200, size=1200)
        c = poe.Comparisons.from_pairs(np.column_stack([i, j])[some], p[some], items=5)
        drawn.append(poe.fit(c, bias="fit").scores)
    ours = board.plain.standard_errors()[np.argsort(board.plain.items)]
    np.testing.assert_allclose(ours, np.std(drawn, axis=0), rtol=0.2)
    once = pd.DataFrame({"first": ["a", "b", "c"], "second": ["b", "c", "a"], "p": [0.7, 0.6, 0.4]})
    assert leaderboard(once).errors == "pair", "one judge, every pair at most once in each order"


# Gates ------------------------------------------------------------------------------------------


def two(won, lost, extra=()):
    """Votes on new and old."""
    rows = [("new", "old", 1.0)] * won + [("old", "new", 1.0)] * lost + list(extra)
    return pd.DataFrame(rows, columns=["first", "second", "p"])


@pytest.mark.parametrize(
    ("won", "lost", "rule", "status"),
    [
        (80, 40, "new >= old", 0),
        (40, 80, "new >= old", 5),
        (62, 58, "new >= old", 3),
        (62, 58, "new >= old - 15%", 0),
        (80, 40, "new >= old + 30%", 5),
        (60, 60, "new >= old", 3),
    ],
)
def test_a_gate_ends_with_its_status(tmp_path, capsys, won, lost, rule, status):
    path = tmp_path / "votes.csv"
    two(won, lost).to_csv(path, index=False)
    assert main(["leaderboard", str(path), "--require", rule, "--json"]) == status
    (found,) = json.loads(capsys.readouterr().out)["requirements"]
    assert found["state"] == {0: "holds", 5: "fails", 3: "open"}[status]


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        (("new >= old", "new >= old + 30%"), 5),
        (("new >= old - 15%", "new >= old"), 3),
        (("new >= old - 15%", "new >= old + 30%"), 5),
    ],
)
def test_of_several_gates_the_worst_counts(tmp_path, rules, status):
    path = tmp_path / "votes.csv"
    two(62, 58).to_csv(path, index=False)
    required = [word for rule in rules for word in ("--require", rule)]
    assert main(["leaderboard", str(path), *required, "--quiet"]) == status


def test_as_many_more_as_are_told_do_decide():
    """The votes again, in the same shares: with so many more the requirement holds."""
    board = leaderboard(two(62, 50), fitting=Fitting(bias=None))
    verdict = gate.check(board, gate.parse("new >= old", board.plain.items), 0.95)
    assert verdict.state == "open"
    times = 1.0 + verdict.more / 112
    for factor, state in ((1.1 * times, "holds"), (0.8 * times, "open")):
        more = leaderboard(two(round(62 * factor), round(50 * factor)), fitting=Fitting(bias=None))
        found = gate.check(more, gate.parse("new >= old", more.plain.items), 0.95)
        assert found.state == state


@pytest.mark.long
def test_a_gate_errs_as_often_as_it_says():
    """Equal systems: "worse" is said in at most 5% of worlds, "better" too."""
    rng = np.random.default_rng(5)
    states = []
    for _ in range(300):
        won = int(rng.binomial(200, 0.5))
        board = leaderboard(two(won, 200 - won), fitting=Fitting(bias=None))
        states.append(gate.check(board, gate.parse("new >= old", ["new", "old"]), 0.95).state)
    assert 0.02 <= states.count("holds") / 300 <= 0.08
    assert 0.02 <= states.count("fails") / 300 <= 0.08


def test_what_cannot_be_asked_of_these_answers_is_not_asked_for():
    board = leaderboard(two(62, 50), fitting=Fitting(bias=None))
    wanted = gate.parse("new >= old", board.plain.items)
    free = gate.check(board, wanted, 0.95)
    assert gate.check(board, wanted, 0.95, left=free.more) == free
    for left, said in ((free.more - 1, f"have {free.more - 1} left"), (0, "have none left")):
        text = say(gate.check(board, wanted, 0.95, left=left))
        assert text.endswith(f"; these answers {said}, so it takes more answers.")
    votes = two(62, 50).assign(prompt=[k // 2 for k in range(112)])  # two votes a prompt
    board = leaderboard(votes, fitting=Fitting(bias=None))
    more = gate.check(board, wanted, 0.95).more
    text = say(gate.check(board, wanted, 0.95, left=5))
    prompts = re.search(r"to about (\d+) more prompts", text)
    assert int(prompts[1]) == pytest.approx((more - 5) / 2, rel=0.05), "to two digits"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("new > old", "is no requirement"),
        ("new >= old - 1.2.3%", "no system 'old - 1.2.3%'"),
        ("new >= old - .%", "no system"),
        ("new >= nobody", "no system 'nobody'"),
        ("new >= new", "against itself"),
        ("new >= old - 60%", "less than 50 points"),
    ],
)
def test_requirements_that_say_nothing_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        gate.parse(text, ["new", "old", "old - 2%"])
    assert gate.parse("new >= old - 2%", ["new", "old - 2%"]).old == "old - 2%", "a name first"


def test_a_store_may_be_a_file(tmp_path):
    rows = [
        {"system": name, "prompt": f"q{k}", "answer": f"{'word ' * (k % 3 + times)}{k}"}
        for k in range(8)
        for times, name in enumerate(("old", "new"), start=1)
    ]
    found = [
        leaderboard(rows, "demo", attribute="plainer", budget=8, store=tmp_path / "s.sqlite")
        for _ in range(2)
    ]
    assert (tmp_path / "s.sqlite").exists()
    assert found[0].fit.scores.tolist() == found[1].fit.scores.tolist()


def test_errors_that_are_the_experts_own_are_called_so():
    votes = two(6, 5)
    columns = forms.read(pd.DataFrame(votes))
    c = poe.Comparisons(first=columns.first, second=columns.second, p=columns.p)
    found = error_findings(poe.fit(c, "huber", prior=0.1), columns, "pair")
    assert [one.case for one in found] == ["expert"]
    assert error_findings(poe.fit(c, prior=0.1), columns, "pair")[0].case == "pair"


def test_more_items_than_errors_fit_are_not_clustered(monkeypatch):
    """Matrices of all items would be made, only to say afterwards that they do not fit."""
    votes = pd.DataFrame(two(30, 20)).assign(prompt=np.arange(50) % 12)
    columns = forms.read(votes)
    c = poe.Comparisons(first=columns.first, second=columns.second, p=columns.p)
    fitted = poe.fit(c, prior=0.1)
    assert isinstance(errors.with_errors(fitted, columns, "prompt"), Clustered)
    monkeypatch.setattr(errors, "COVARIANCE_ITEMS", 1)
    assert not isinstance(errors.with_errors(fitted, columns, "prompt"), Clustered)
    assert error_findings(fitted, columns, "prompt")[0].case != "prompt"


def test_no_requirement_holds_by_a_judge_that_hardly_reads():
    """The same difference, once under a large preference for the first place."""
    rng = np.random.default_rng(0)
    boards = []
    for bias in (0.0, 4.0):
        pairs = rng.permuted(np.array([["new", "old"]] * 400), axis=1)
        sign = np.where(pairs[:, 0] == "new", 1.0, -1.0)
        votes = [
            {"first": a, "second": b, "p": p}
            for (a, b), p in zip(pairs, expit(0.4 * sign + bias), strict=True)
        ]
        boards.append(leaderboard(votes))
    wanted = gate.parse("new >= old", ["new", "old"])
    assert [gate.check(board, wanted, 0.95).state for board in boards] == ["holds", "open"]
