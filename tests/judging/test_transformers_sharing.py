"""Shared prefixes give the probabilities of separate prompts, for a fraction of the tokens."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from judging.errors import JudgeError
from judging.judges.transformers import prefix, tree
from tests import tiny_models as tiny
from tests.tiny_models import answers, judge, questions

pytestmark = [
    pytest.mark.needs("torch"),
    pytest.mark.filterwarnings("ignore:.*gives the label words only"),
    pytest.mark.xdist_group("transformers"),
]


def by_hand(model, asked, reader):
    """(K, L) label log-probabilities, each prompt alone, through the plain model."""
    found = []
    for question in asked:
        written = reader.writer.write(question.prompt, question.text)
        ids = torch.tensor(reader.writer.encode([written]))
        with torch.inference_mode():
            log_p = torch.log_softmax(model(input_ids=ids).logits[0, -1], dim=-1)
        labels = reader.writer.target(question.prompt, written).labels
        found.append(log_p[list(labels)].tolist())
    return np.array(found)


def p_of(log_p):
    share = np.exp(log_p)
    return share[:, 0] / share.sum(axis=1)


# The library has no sdpa for Gemma 2.
KINDS = [(name, "eager" if name == "gemma2" else "sdpa") for name in tiny.DECODERS]


@pytest.mark.parametrize(("name", "attention"), [*KINDS, ("llama", "eager"), ("mistral", "eager")])
def test_shared_probabilities_are_those_of_each_prompt_alone(name, attention):
    model = tiny.decoder(name, attention=attention)
    asked = questions(candidates=3)
    alone = by_hand(model, asked, judge(model))
    p = p_of(alone)
    assert np.ptp(p) > 0.02  # there is something to get wrong
    for rows in (64, 100_000):
        reader = judge(model, row_tokens=rows)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*cannot share")
            found = answers(reader, asked)
        np.testing.assert_allclose([a.p for a in found], p, rtol=0, atol=1e-5)
        np.testing.assert_allclose(np.exp([a.log_p for a in found]), np.exp(alone), atol=1e-6)
        assert sum(a.computed for a in found) < 0.6 * sum(a.tokens for a in found)
        if name in ("mistral", "gemma2", "gemma3", "qwen2-sliding", "phi3"):
            assert reader.engine.sharing.window == tiny.WINDOW
            assert min(a.tokens for a in found) > 2 * tiny.WINDOW


# What could be wrong with a mask or with positions, each of which the comparison must notice.

forward, good = prefix.Sharing._forward, prefix.mask


def shifted(self, ids, positions, masked, cache, keep):
    wrong = torch.arange(len(positions)) + int(positions.min())
    return forward(self, ids, wrong, masked, cache, keep)


def causal(last, positions, kept, **more):
    """Branches of a row see each other."""
    return good(torch.full_like(last, len(last)), positions, kept, **more)


WRONG = [
    ("llama", "sdpa", prefix.Sharing, "_forward", shifted),
    ("llama", "eager", prefix.Sharing, "_forward", shifted),
    ("llama", "eager", prefix, "mask", lambda *a, **k: good(*a, **k) == 0),  # of truth values
    ("llama", "sdpa", prefix, "mask", causal),
    ("mistral", "sdpa", prefix, "windows", lambda config: {"": None}),
    ("gemma3", "sdpa", prefix, "windows", lambda config: {"": None}),
]


def test_wrong_positions_masks_and_windows_are_caught(monkeypatch):
    for name, attention, where, what, wrong in WRONG:
        model = tiny.decoder(name, attention=attention)
        with monkeypatch.context() as patched:
            patched.setattr(where, what, wrong)
            assert worst(model, questions()) > 1e-4, (name, attention, what)


def worst(model, asked):
    """The largest error of shared answers, with the judge's own check turned off."""
    reader = judge(model, row_tokens=400)
    reader.engine.checked = {(a, b) for a in (True, False) for b in (True, False)}
    found = answers(reader, asked)
    off = float(np.abs(np.array([a.p for a in found]) - p_of(by_hand(model, asked, reader))).max())
    assert sum(a.computed for a in found) < 0.6 * sum(a.tokens for a in found)
    return off


def test_the_judge_itself_notices_a_model_that_cannot_and_falls_back(monkeypatch):
    model = tiny.decoder("llama")
    asked = questions()
    expected = p_of(by_hand(model, asked, judge(model)))
    monkeypatch.setattr(prefix, "mask", lambda *a, **k: torch.zeros_like(good(*a, **k)))
    with pytest.warns(UserWarning, match="llama cannot share prefixes: a probability changes by"):
        found = answers(judge(model, row_tokens=400), asked)
    np.testing.assert_allclose([a.p for a in found], expected, atol=1e-5)
    assert all(a.computed >= a.tokens for a in found)


def test_the_cache_is_as_it_was_after_an_interruption():
    """Ctrl-C in the middle of a run leaves a judge that answers as before."""
    model = tiny.decoder("mistral")
    asked = questions()
    reader = judge(model, row_tokens=64)
    running = reader.answer(asked)
    first = [next(running) for _ in range(3)]
    with pytest.raises(KeyboardInterrupt):
        running.throw(KeyboardInterrupt)
    found = answers(reader, asked)
    assert all(found[k].p == pytest.approx(answer.p, abs=1e-6) for k, answer in first)
    np.testing.assert_allclose([a.p for a in found], p_of(by_hand(model, asked, reader)), atol=1e-5)


def test_sixteen_candidates_and_four_attributes_need_a_fourteenth_of_the_tokens():
    fresh = iter(range(10**9))  # all tokens different
    article, *rest = ([next(fresh) for _ in range(n)] for n in (450, *[75] * 16, *[22] * 4))
    texts, asked = rest[:16], rest[16:]
    sequences = [
        article + a + b + question for a in texts for b in texts if a is not b for question in asked
    ]
    # by hand: each prompt; the article, 16 first ones, 16 x 15 second ones, and the questions
    assert sum(map(len, sequences)) == 960 * (450 + 75 + 75 + 22) == 597_120
    shared = tree.size(tree.build(sequences))
    assert shared == 450 + 16 * 75 + 240 * 75 + 960 * 22 == 40_770


def keep_small(monkeypatch, model, room):
    """Let only so many tokens fit into the memory at once."""
    forward = type(model).forward

    def limited(this, *args, input_ids=None, **more):
        if input_ids.numel() > room:
            raise torch.OutOfMemoryError("no room")
        return forward(this, *args, input_ids=input_ids, **more)

    monkeypatch.setattr(type(model), "forward", limited)


@pytest.mark.parametrize("share", [True, False])
def test_out_of_memory_halves_and_goes_on(monkeypatch, share):
    model = tiny.decoder("llama")
    asked = questions()
    expected = p_of(by_hand(model, asked, judge(model)))
    keep_small(monkeypatch, model, 250)
    reader = judge(model, share_prefixes=share, row_tokens=100_000, batch_tokens=100_000)
    with pytest.warns(UserWarning, match="out of memory") as said:
        found = answers(reader, asked)
    assert len([w for w in said if "out of memory" in str(w.message)]) <= 5  # it learns from each
    np.testing.assert_allclose([a.p for a in found], expected, atol=1e-5)


def test_a_prompt_that_never_fits_is_an_error(monkeypatch):
    model = tiny.decoder("llama")
    keep_small(monkeypatch, model, 10)
    with (
        warnings.catch_warnings(action="ignore"),
        pytest.raises(JudgeError, match="do not fit into the memory of cpu"),
    ):
        answers(judge(model), questions())


# The tree --------------------------------------------------------------------------------------

sequences_of_tokens = st.lists(
    st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=12
)


@given(sequences_of_tokens)
def test_a_tree_holds_every_beginning_once_and_its_shares_add_up(sequences):
    forest = tree.build(sequences)
    beginnings = {tuple(s[: k + 1]) for s in sequences for k in range(len(s))}
    assert tree.size(forest) == len(beginnings)
    assert tree.pairs(forest) == sum(map(len, beginnings))
    share = tree.shares(forest, len(sequences))
    assert share.sum() == pytest.approx(tree.size(forest))
    assert (share <= np.array([len(s) for s in sequences]) + 1e-9).all()


@given(sequences_of_tokens)
def test_in_a_row_a_token_sees_its_own_beginning_and_nothing_else(sequences):
    flat = tree.flatten(tree.build(sequences))
    for leaf, prompt in zip(flat.leaves, flat.prompts, strict=True):
        seen = [j for j in range(len(flat.ids)) if j <= leaf < flat.last[j]]
        assert flat.ids[seen].tolist() == sequences[prompt]
        assert flat.positions[seen].tolist() == list(range(len(sequences[prompt])))
    assert sorted(flat.prompts) == list(range(len(sequences)))


@given(sequences_of_tokens, st.integers(1, 30))
def test_packing_keeps_order_and_room(sequences, most):
    forest = tree.build(sequences)
    bins = tree.pack(forest, most)
    assert [id(node) for some in bins for node in some] == [id(node) for node in forest]
    assert all(tree.size(some) <= most or len(some) == 1 for some in bins)


def test_shares_by_hand():
    # 1 2 is shared by three prompts, 3 by two of them, the rest belongs to one.
    share = tree.shares(tree.build([[1, 2, 3, 4], [1, 2, 3, 5, 6], [1, 2, 7]]), 3)
    np.testing.assert_allclose(share, [2 / 3 + 1 / 2 + 1, 2 / 3 + 1 / 2 + 2, 2 / 3 + 1])
