"""Rankings with a judge in the loop: promises, stopping, and what is gained.

Every judge here is simulated, and where a probability is checked it is well specified: its
decisions or votes are drawn from the model that is fitted.
"""

import numpy as np
import pytest
from scipy.special import expit

import judging
import poe
from judging import prompts
from judging.errors import JudgeError
from judging.judges import Store, TextJudge
from judging.practice.asking.ending import RankingFailedError, RankingInterruptedError
from judging.practice.findings import Narrow
from judging.practice.ranking import rank as module
from judging.practice.ranking import words
from judging.practice.ranking.settings import Asking, Fitting
from judging.practice.trust import People
from poe.choose.stopping import StopRule, ranks_within, se_below, top_known
from poe.errors import ComparisonError
from tests.asking import HashJudge, texts

QUALITY = np.random.default_rng(0).normal(size=9) * 1.5
NAMES = [f"essay-{i}" for i in range(9)]


def rank(items, judge, **how):
    """`judging.rank`, with the fields of Asking and Fitting as keywords of their own."""

    def taken(kind):
        return kind(**{name: how.pop(name) for name in kind.__annotations__ if name in how})

    return module.rank(items, judge, asking=taken(Asking), fitting=taken(Fitting), **how)


def soft(**options):
    return judging.SimulatedJudge(QUALITY, noise=0.4, **options).answer


def decisions(scores, seed):
    """A judge that decides: the first wins with probability sigma(s_i - s_j)."""
    rng = np.random.default_rng(seed)

    def judge(pairs):
        d = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        return (rng.random(len(pairs)) < expit(d)).astype(float)

    return judge


def listening(judge):
    """The judge, and the list of what it was asked."""
    heard = []

    def judged(pairs):
        heard.append(pairs.copy())
        return judge(pairs)

    return judged, heard


# Rounds and budgets ----------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["adaptive", "greedy", "random"])
@pytest.mark.parametrize("both", [False, True])
def test_the_budget_is_spent_in_batches_without_repeats(rule, both):
    judge, heard = listening(soft())
    found = rank(
        NAMES, judge, budget=60, batch=10, rule=rule, orders="both" if both else "one", seed=1
    )
    first = 36 if both else 18  # about four comparisons an item
    assert [len(pairs) for pairs in heard] == [first] + [10] * ((60 - first) // 10) + (
        [4] if both else [2]
    )
    every = np.vstack(heard)
    np.testing.assert_array_equal(found.comparisons.pairs, every)
    ordered = {tuple(pair) for pair in every.tolist()}
    assert len(ordered) == 60
    unordered = {tuple(sorted(pair)) for pair in ordered}
    assert len(unordered) == (30 if both else 36), "all 36 pairs before any in its other order"
    assert found.stopped_because == "the budget of 60 comparisons is spent"
    assert found.history["asked"].tolist() == np.cumsum([len(p) for p in heard]).tolist()
    assert found.history["asked"].iloc[-1] == 60


def test_the_first_round_links_everything():
    judge, heard = listening(soft())
    rank(NAMES, judge, budget=18)
    (pairs,) = heard
    assert len(poe.Comparisons.from_pairs(pairs, [0.5] * 18, items=9).components()) == 1
    assert (np.bincount(pairs.ravel()) >= 3).all()
    judge, heard = listening(soft())
    rank(NAMES, judge, budget=8)
    assert len(heard[0]) == 8, "a tree where the budget has no more"


def test_the_last_fit_is_of_all_answers():
    found = rank(NAMES, soft(bias=0.5), budget=50, bias="fit", seed=2)
    again = poe.fit(found.comparisons, "bradley-terry", bias="fit")
    np.testing.assert_allclose(found.fit.scores, again.scores, atol=1e-8)
    assert found.fit.items == tuple(NAMES)
    assert found.history["bias"].iloc[-1] == pytest.approx(again.bias)
    assert found.history["moved"].isna().tolist() == [True] + [False] * (len(found.history) - 1)


def test_no_more_than_there_is_can_be_asked():
    for budget, both in ((72, False), (72, True), (80, False)):
        found = rank(NAMES, soft(), budget=budget, orders="both" if both else "one")
        assert len({tuple(pair) for pair in found.comparisons.pairs.tolist()}) == 72
        assert len(found.comparisons) == 72
        assert ("all of them were asked" in " ".join(map(str, found.notes))) == (budget == 80)


@pytest.mark.parametrize("seed", range(25))
def test_whatever_is_stored_is_used_and_only_the_rest_is_asked(seed):
    """Random numbers of texts, answers stored, budgets, rules and orders; counted by hand."""
    rng = np.random.default_rng(seed)
    n, both = int(rng.integers(4, 12)), bool(rng.integers(2))
    orders = "both" if both else ("one", "auto")[seed % 2]
    every = np.array([(i, j) for i in range(n) for j in range(n) if i != j])
    some = every[rng.random(len(every)) < rng.random()]
    # Sometimes as if the last texts were new.
    some = some[(some < n - rng.integers(3)).all(axis=1)]
    calls = int(rng.integers(n - 1, n * (n - 1) // 2 + 1)) * 2
    with Store(":memory:") as store:
        judge = HashJudge()
        TextJudge(judge, prompts.for_attribute("better"), texts(n), store=store).answer(some)
        before = len(judge.asked)
        judged = TextJudge(judge, prompts.for_attribute("better"), texts(n), store=store)
        rule = ["adaptive", "greedy", "random"][seed % 3]
        found = rank(
            n, judged, budget=calls, rule=rule, orders=orders, seed=seed, expert="gaussian"
        )
        asked = len(judge.asked) - before
    made = {tuple(pair) for pair in found.comparisons.pairs.tolist()}
    assert len(made) == len(found.comparisons), "none twice"
    assert {tuple(pair) for pair in some.tolist()} <= made
    assert len(made) == len(some) + asked
    assert asked == judged.new <= calls
    new = n - len(np.unique(some))
    if len(some) and len(some) + new * calls // n > calls:
        assert len(made) >= len(some) + new * (calls // n) - both
    else:
        assert len(made) == calls
    assert not found.partial


# Failing ---------------------------------------------------------------------------------


def test_no_answer_is_lost_when_the_judge_fails():
    calls = 0

    def failing(pairs):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ConnectionError("the server went away")
        return soft()(pairs)

    with pytest.raises(RankingFailedError, match=r"went away \(the 27 answers so far") as caught:
        rank(NAMES, failing, budget=60, batch=9, orders="one")
    assert len(caught.value.comparisons) == 27
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_no_answer_is_lost_by_ctrl_c():
    def stopped(pairs):
        if len(pairs) < 18:  # the first round has 18
            raise KeyboardInterrupt
        return soft()(pairs)

    with pytest.raises(RankingInterruptedError) as caught:
        rank(NAMES, stopped, budget=60, batch=9, orders="one")
    assert isinstance(caught.value, KeyboardInterrupt), "a program that waits for Ctrl-C gets it"
    assert len(caught.value.comparisons) == 18


def test_no_answer_is_lost_when_a_fit_fails():
    with pytest.raises(RankingFailedError, match="prior") as caught:
        rank(NAMES, decisions(np.arange(9) * 20.0, 8), budget=30, prior=0, orders="one")
    assert isinstance(caught.value.__cause__, poe.SeparableError)
    assert len(caught.value.comparisons) == 18, "those of the round that failed, too"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda pairs: 0.5, r"asked 18 comparisons and answered with shape \(\)"),
        (lambda pairs: np.full(len(pairs), 1.2), r"'essay-\d' against 'essay-\d'.: p is 1.2"),
    ],
)
def test_answers_are_checked(answer, message):
    with pytest.raises(ValueError, match=message):
        rank(NAMES, answer, budget=20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 7}, "budget of 7 calls cannot link 9 texts.* are 8"),
        ({"rule": "swiss"}, "rule must be"),
        ({"orders": "two"}, "orders must be one of auto, one, both"),
        ({"limit_calls": 0}, "limit_calls must be at least 1"),
        ({"limit_calls": 5}, "for texts and the name of a judge"),
        ({"items": "essays.csv"}, "for texts and the name of a judge"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        rank(**{"items": NAMES, "judge": soft(), "budget": 40} | options)


# Stopping --------------------------------------------------------------------------------


def test_a_rule_stops_and_says_so():
    found = rank(NAMES, soft(), budget=72, batch=6, until=se_below(0.65), errors="decision")
    assert found.stopped_because.startswith("largest standard error: 0.6")
    assert found.stopped_because.endswith("at most 0.65 was asked for")
    path = found.history["largest standard error"]
    assert (path[:-1] > 0.65).all()
    assert path.iloc[-1] <= 0.65
    assert path.iloc[-1] == pytest.approx(found.fit.standard_errors().max())


def test_rules_measure_what_they_say():
    fit = rank(NAMES, soft(), budget=72).fit
    top, ranks = top_known(2, 0.8, draws=500, seed=3), ranks_within(3, 0.9, draws=500, seed=3)
    assert top.measure(fit) == fit.prob_top_set(2, draws=500, seed=3)
    spans = np.diff(fit.rank_interval(0.9, draws=500, seed=3), axis=1)
    assert ranks.measure(fit) == spans.max()
    assert ranks(fit) == (spans.max() <= 3)
    assert top(fit) == (top.measure(fit) >= 0.8)
    assert top.met(0.8)
    assert not top.met(0.79)


def test_the_first_of_several_rules_stops():
    never = StopRule("never", lambda fit: 0.0, 1.0, at_least=True)

    def two_rounds(fit):
        return len(fit.comparisons) > 20

    found = rank(NAMES, soft(), budget=60, until=[never, two_rounds])
    assert found.stopped_because.startswith("two_rounds")
    assert found.history[["never", "two_rounds"]].to_numpy().tolist() == [[0, 0], [0, 1]]


# What it is worth ------------------------------------------------------------------------


def test_asking_where_it_tells_most_beats_asking_at_random():
    """Forty items, a fifth of the calls there are, the same judge and first round."""
    sims, n = 16, 40
    error, order = np.empty((2, sims, 2))
    for sim in range(sims):
        scores = 3.0 * np.random.default_rng([30, sim]).normal(size=n)
        scores -= scores.mean()
        for k, rule in enumerate(["random", "laplace"]):
            found = rank(
                n,
                decisions(scores, [31, sim]),
                bias=None,
                budget=320,
                prior=1 / (n - 1),
                rule=rule,
                seed=sim,
            )
            error[sim, k] = np.sqrt(np.mean((found.fit.scores - scores) ** 2))
            place = [np.argsort(np.argsort(s)) for s in (found.fit.scores, scores)]
            order[sim, k] = np.corrcoef(*place)[0, 1]

    def in_standard_errors(gain):
        return gain.mean() / (gain.std(ddof=1) / np.sqrt(sims))

    assert in_standard_errors(error[:, 0] - error[:, 1]) > 3
    assert in_standard_errors(order[:, 1] - order[:, 0]) > 3


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        *((Asking, one) for one in ({"unanswered": "leave"}, {"rounds": 0}, {"batch": -2})),
        *((Fitting, one) for one in ({"expert": "gausian"}, {"errors": "pared"})),
        *((Fitting, one) for one in ({"level": 95}, {"prior": -1})),
        *((Fitting, {"bias": one}) for one in ("fitt", float("nan"), 1e101, float("inf"))),
    ],
)
def test_settings_are_checked_before_anything_is_asked(kind, wrong):
    with pytest.raises(ValueError, match=r"must|choose from"):
        kind(**wrong)
    for known in (None, "mean", "fit", 0.3, np.float64(-1.0), 2):
        assert Fitting(bias=known).bias == known


def test_names_are_looked_at_before_anything_is_asked():
    def never(pairs):
        raise AssertionError("asked")

    with pytest.raises(ComparisonError, match="listed more than once"):
        judging.rank(["a", "a", "b"], never)
    with pytest.raises(ValueError, match="6000 are the most"):
        judging.rank(6001, never, budget="3x")


def test_a_limit_is_the_runs_own():
    """The judge has its own back afterwards; two limits at once are refused."""
    texts = [f"{'word ' * (k % 4 + 1)}{k}." for k in range(12)]
    judge = judging.open("demo")
    own = judge.spending
    first = judging.rank(texts, judge, attribute="plainer", asking=judging.Asking(limit_calls=20))
    assert first.partial
    assert judge.spending is own
    assert not judging.rank(texts, judge, attribute="kinder", budget=30).partial
    limited = judging.open("demo", limit_calls=3)
    with pytest.raises(JudgeError, match="one of the two places"):
        judging.rank(texts, limited, attribute="newer", asking=judging.Asking(limit_calls=20))


def test_what_is_asked_now_is_priced_alone():
    """Runs of one judge, one after the other, do not add up."""
    texts = [f"{'word ' * (k % 4 + 1)}{k}." for k in range(8)]
    judge, price = judging.open("demo"), judging.Asking(price=(1.0, 0.0))
    notes = [
        next(note for note in map(str, one.notes) if "asked now" in note)
        for attribute in ("plainer", "kinder")
        for one in [judging.rank(texts, judge, attribute=attribute, budget=20, asking=price)]
    ]
    tokens = [int(note.split("calls, ")[1].split()[0].replace(",", "")) for note in notes]
    assert tokens[1] < 1.5 * tokens[0]


def test_people_are_found_by_the_number_that_a_text_has():
    """Names that are no strings: what is counted, shown and correlated is the same."""
    found = judging.rank(6, lambda pairs: expit(pairs[:, 1] - pairs[:, 0] + 0.1), seed=1)
    said = People({str(k): -float(k) for k in range(5)})
    beside = found.with_people(said)
    table = beside.to_frame().set_index("name")
    assert table["gold"].dropna().to_dict() == {k: -float(k) for k in range(5)}
    assert beside.agreement()[0] == pytest.approx(1.0)
    assert beside.agreement()[2] == 5


def test_a_ranking_without_errors_shows_its_scores():
    """As many comparisons as scores: nothing is left over to say how sure a Gaussian is."""
    found = judging.rank(
        6,
        lambda pairs: 0.5 + 0.05 * np.sign(pairs[:, 1] - pairs[:, 0]),
        budget=5,
        fitting=Fitting(expert="gaussian", bias=None),
        asking=Asking(orders="one"),
    )
    with pytest.raises(ValueError, match="no residuals"):
        found.to_frame()
    with pytest.raises(ValueError, match=r"5 answers about 6 texts leave .* it takes 6 answers"):
        judging.report(found)
    best = found.fit.ranking()[0]
    assert repr(found).startswith(f"Ranking(6 texts: {best} {found.fit.scores.max():+.2f}, ")
    assert repr(found).endswith(", ...; 5 comparisons)")
    assert "no residuals to estimate sigma" in found._repr_html_()


@pytest.mark.parametrize("rule", [top_known(9), top_known(6), ranks_within(5)])
def test_a_rule_that_says_nothing_of_so_few_is_refused_before_anything_is_asked(rule):
    asked = []

    def judge(pairs):
        asked.append(pairs)
        return np.full(len(pairs), 0.6)

    with pytest.raises(ValueError, match="says nothing of 6 items; it is for"):
        judging.rank(6, judge, until=rule)
    assert asked == []
    judging.rank(6, judge, until=[top_known(5, 0.6), ranks_within(4)], budget=12)
    assert asked
    with pytest.raises(ValueError, match="one or more"):
        top_known(0)


@pytest.mark.parametrize("orders", ["auto", "one"])
def test_three_texts_are_asked_in_both_orders_whatever_the_batch(orders):
    """Both orders are set for two or three texts, so a batch of one is nobody's mistake."""
    found = judging.rank(
        texts(3),
        HashJudge(),
        attribute="better",
        budget="all",
        asking=Asking(batch=1, orders=orders),
    )
    assert len(found.comparisons) == 6


def test_scores_at_equal_length_are_those_of_a_covariate():
    """What a regression leaves; and what a product with the covariate and a weak prior finds."""
    rng = np.random.default_rng(4)
    counts = rng.integers(5, 60, size=9)
    long = {f"t{k}": "word " * int(n) + f"number {k}" for k, n in enumerate(counts)}
    both = {"asking": Asking(orders="both"), "budget": "4x"}
    how = {"expert": "gaussian", "bias": None, "length_control": True}
    found = judging.rank(long, "demo", attribute="plainer", fitting=Fitting(**how), **both)
    w = np.log([len(long[name].split()) for name in found.fit.items])
    slope, level = np.polyfit(w, found.fit.scores, 1)
    equal = found.at_equal_length()
    np.testing.assert_allclose(equal, found.fit.scores - slope * w - level, atol=1e-12)
    c = found.comparisons
    product = poe.fit(c, "gaussian", bias="fit", covariate=w[c.first] - w[c.second], prior=1e-7)
    np.testing.assert_allclose(product.scores, equal, atol=1e-4)
    assert product.bias == pytest.approx(-slope, rel=1e-3)
    table = found.to_frame()
    place = [found.fit.items.index(name) for name in table["name"]]
    np.testing.assert_allclose(table["lc_score"], equal[place])
    assert table.sort_values("lc_score", ascending=False)["lc_rank"].is_monotonic_increasing
    assert "rank, equal length" in words.in_text([found])
    assert "Rank, equal length" in judging.report(found)
    plain = judging.rank(long, "demo", attribute="plainer", fitting=Fitting(), **both)
    assert "lc_score" not in plain.to_frame()


@pytest.mark.parametrize("rule", ["laplace", "reordering", "adaptive", "random"])
def test_a_rule_that_looks_at_answers_says_that_its_intervals_are_narrow(rule):
    """As in `tests.studies.test_adaptivity`, whose intervals after such a choice miss."""
    judge = judging.SimulatedJudge(np.linspace(-1.0, 1.0, 6), seed=1)
    found = judging.rank(6, judge.answer, budget=12, asking=Asking(rule=rule, orders="one"))
    warned = [note for note in found.notes if isinstance(note, Narrow)]
    assert warned == ([Narrow(rule)] if rule in ("laplace", "reordering") else [])
