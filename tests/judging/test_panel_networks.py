"""Methods with a context: the loss against sums by hand, its blind spot, training, bad input."""

import itertools

import numpy as np
import pytest
import torch

from judging import panel
from judging.panel import networks
from judging.panel.encoders import hashed_ngrams
from judging.panel.learning import learn

pytestmark = pytest.mark.needs("torch")
torch.set_num_threads(1)

QUICK = panel.Training(epochs=6, batch=64)
LEARNED = ("train-on-majority", "crowdlayer", "skill", "skill-x")


def sampled(n=1500, *, accuracies=(0.9, 0.7, 0.65, 0.6), shift=1.3, seed=0, classes=2):
    """Truth, decisions of independent judges, and vectors that tell something of the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    wrong = (truth[:, None] + rng.integers(1, classes, size=(n, len(accuracies)))) % classes
    right = rng.random((n, len(accuracies))) < accuracies
    vectors = rng.standard_normal((n, 6))
    vectors[np.arange(n), truth] += shift * np.sqrt(2)
    return truth, np.where(right, truth[:, None], wrong), vectors


# The objective ---------------------------------------------------------------------------


def random_parts(n=5, k=3, c=2, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.dirichlet(np.ones(c), size=n)
    confusion = rng.dirichlet(np.ones(c), size=(k, c))
    y = rng.dirichlet(np.ones(c), size=(n, k))
    y[1, 2] = 0.0  # a missing judgement
    return s, confusion, y


def as_tensors(*arrays):
    return [torch.as_tensor(array) for array in arrays]


@pytest.mark.parametrize("c", [2, 3])
def test_the_loss_is_eq_5_term_by_term(c):
    s, confusion, y = random_parts(c=c)
    total = 0.0
    for n, k, b in itertools.product(range(5), range(3), range(c)):
        predicted = sum(s[n, z] * confusion[k, z, b] for z in range(c))
        total -= y[n, k, b] * np.log(predicted)
    ours = networks.cross_entropy(*as_tensors(s, confusion, y), "skill")
    assert float(ours) == pytest.approx(total / 5)


def test_the_regulariser_is_eq_7_and_appendix_f():
    _, two, _ = random_parts()
    slopes = two[:, 0, 0] + two[:, 1, 1] - 1
    assert float(networks.regularisation(torch.as_tensor(two))) == pytest.approx((slopes**2).sum())
    _, three, _ = random_parts(c=3)
    printed = sum(
        (three[k, c, b] - three[k, 2, b]) ** 2 for k in range(3) for c in range(2) for b in range(2)
    )
    assert float(networks.regularisation(torch.as_tensor(three))) == pytest.approx(printed)


def test_crowdlayer_predicts_by_a_softmax_of_a_matrix():
    s, matrices, _ = random_parts()
    ours = networks.predicted(*as_tensors(s, matrices), "crowdlayer").numpy()
    logits = np.array([[matrices[k] @ s[n] for k in range(3)] for n in range(5)])
    np.testing.assert_allclose(ours, np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True))


# Training --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", LEARNED)
def test_every_method_reads_the_context_and_runs_are_repeatable(method):
    truth, said, vectors = sampled()
    rng_before = torch.random.get_rng_state()
    one = panel.aggregate(said, method, context=vectors, training=QUICK)
    again = panel.aggregate(said, method, context=vectors, training=QUICK)
    assert torch.equal(torch.random.get_rng_state(), rng_before)
    np.testing.assert_array_equal(one.probabilities, again.probabilities)
    assert one.accuracy(truth) > 0.85
    shuffled = vectors[np.random.default_rng(0).permutation(len(vectors))]
    blind = panel.aggregate(said, method, context=shuffled, training=QUICK)
    assert one.accuracy(truth) > blind.accuracy(truth) + 0.02
    np.testing.assert_allclose(one.probabilities.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("method", LEARNED)
def test_panels_of_one_shape_learn_side_by_side_what_each_learns_alone(method):
    made = [sampled(500, seed=seed) for seed in range(3)]
    dev = [(np.arange(60), truth[:60]) for truth, _, _ in made]
    many = (0.0, 0.1) if method.startswith("skill") else 0.0
    if many == 0.0:
        dev[0] = None  # of another shape, so that it stands in a group of its own
    panels = [
        (
            panel.Judgements.from_table(said),
            vectors,
            panel.Training(seed=k, epochs=4, batch=64, regulariser=many, dev=dev[k]),
        )
        for k, (_, said, vectors) in enumerate(made)
    ]
    together = learn(method, panels)
    for found, (given, context, training) in zip(together, panels, strict=True):
        (alone,) = learn(method, [(given, context, training)])
        np.testing.assert_allclose(found.probabilities, alone.probabilities, atol=2e-4)
        assert found.message == alone.message
    # Negative control: the panels differ by far more.
    assert abs(together[0].probabilities - together[1].probabilities).max() > 0.1


def test_labels_are_bayes_rule_and_the_regulariser_shrinks_slopes():
    _, said, vectors = sampled()
    free = panel.aggregate(said, "skill", context=vectors, training=QUICK)
    np.testing.assert_allclose(
        free.probabilities, panel.posterior(free.context, free.confusion, said), atol=1e-6
    )
    training = panel.Training(epochs=6, batch=64, regulariser=0.1)
    held = panel.aggregate(said, "skill", context=vectors, training=training)
    assert (held.slope < free.slope).all()
    assert held.context[:, 1].std() > free.context[:, 1].std()


def test_the_checkpoint_and_lambda_are_chosen_on_the_development_set():
    truth, said, vectors = sampled(800)
    dev = (np.arange(100), truth[:100])
    training = panel.Training(epochs=4, batch=64, regulariser=(0.0, 0.05), dev=dev)
    found = panel.aggregate(said, "skill", context=vectors, training=training)
    assert "best on 100 labelled samples" in found.message
    reached = float(found.message.split("(")[1].split(")")[0])
    assert found.accuracy(truth, rows=dev[0]) == pytest.approx(reached, abs=1e-3)
    for value in (0.0, 0.05):  # no other candidate's last epoch is better there
        single = panel.Training(epochs=4, batch=64, regulariser=value)
        last = panel.aggregate(said, "skill", context=vectors, training=single)
        assert last.accuracy(truth, rows=dev[0]) <= reached + 1e-9


def test_three_classes_and_missing_judgements():
    truth, said, vectors = sampled(1000, classes=3, shift=1.5)
    said = np.where(np.random.default_rng(1).random(said.shape) < 0.3, -1, said)
    for method in LEARNED:
        found = panel.aggregate(said, method, context=vectors, classes=3, training=QUICK)
        assert found.probabilities.shape == (1000, 3)
        assert found.accuracy(truth) > 0.6


def test_hashing_is_of_the_text_alone():
    texts = ["The cat sat.", "the CAT sat.", "a dog ran away", "x"]
    rows = hashed_ngrams(texts)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)
    for n, text in enumerate(texts):
        np.testing.assert_allclose(hashed_ngrams([text])[0], rows[n], atol=1e-6)
    assert abs(rows[0] @ rows[2]) < 0.3 < rows[0] @ hashed_ngrams(["The cat sat down."])[0]
    # Ten grams in all, one place each: "ab", "cd", "ab cd"; "ab ", "b c", ...; "ab c", ...
    assert (hashed_ngrams(["ab cd"])[0] != 0).sum() <= 3 + 4 + 3


# Bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (None, "needs the context of every sample"),
        (["a", "b"], "4 texts, or vectors"),
        (["a", "b", None, "d"], "no text in samples 2"),
    ],
)
def test_bad_contexts_are_refused(context, message):
    with pytest.raises(panel.PanelError, match=message):
        panel.aggregate(np.eye(4), "skill", context=context, training=QUICK)


# Transformers encoders, on a tiny random model ----------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A random model with its tokenizer, saved where from_pretrained finds it."""
    from tests import tiny_models

    return str(tiny_models.save(tmp_path_factory.mktemp("model")))


def test_a_transformers_encoder_is_trained_whole(tiny):
    truth, said, rng = *sampled(200)[:2], np.random.default_rng(0)
    texts = [
        " ".join(
            ["<s>", "good" if t else "bad", *(f"w{i}" for i in rng.integers(50, size=1 + n % 7))]
        )
        for n, t in enumerate(truth)
    ]
    training = panel.Training(epochs=4, batch=16, learning_rate=5e-3)
    found = panel.aggregate(said, "skill", context=texts, encoder=tiny, training=training)
    assert "last hidden state" in found.message
    assert (np.argmax(found.context, axis=1) == truth).mean() > 0.9


def test_padding_does_not_change_the_hidden_state(tiny):
    encoder = panel.Transformer(tiny).on(["<s> good w1", "<s> bad w2 w3 w4 w5 w6 w7"])
    body = encoder.make().eval()
    with torch.no_grad():
        together = body(encoder.batch(torch.tensor([0, 1])))
        alone = body(encoder.batch(torch.tensor([0])))
    torch.testing.assert_close(together[:1], alone, atol=1e-5, rtol=1e-5)
