"""Methods with a context: the loss against sums by hand, its blind spot, training, bad input."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from poe import panel
from poe.errors import JudgeError
from poe.panel.encoders import hashed_ngrams

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
from poe.panel import networks  # noqa: E402

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
    specific = torch.as_tensor(np.stack([three, three]))  # the mean over samples
    assert float(networks.regularisation(specific)) == pytest.approx(printed)
    turned = three[:, [2, 0, 1]][:, :, [2, 0, 1]]  # it depends on which class is called the last
    assert float(networks.regularisation(torch.as_tensor(turned))) != pytest.approx(printed, 1e-3)


def test_the_loss_cannot_tell_the_scale_of_s_from_the_slopes():
    """S' = alpha + beta s with slopes over beta: the same predictions, another posterior."""
    s0, p0, p1 = np.array([0.2, 0.5, 0.9]), np.array([0.8, 0.7]), np.array([0.75, 0.6])
    alpha, beta = 0.15, 0.8
    slope, intercept = (p0 + p1 - 1), 1 - p1  # eq. 6: P(b = 0) = slope s_0 + intercept
    slope2 = slope / beta
    intercept2 = intercept - alpha * slope2
    q0, q1 = slope2 + intercept2, 1 - intercept2

    def parts(s, a, b):
        matrices = np.array([[[x, 1 - x], [1 - z, z]] for x, z in zip(a, b, strict=True)])
        return np.column_stack([s, 1 - s]), matrices

    y = np.random.default_rng(0).dirichlet(np.ones(2), size=(3, 2))
    one, other = parts(s0, p0, p1), parts(alpha + beta * s0, q0, q1)
    assert ((other[1] >= 0) & (other[1] <= 1)).all()
    loss = [float(networks.cross_entropy(*as_tensors(*x, y), "skill")) for x in (one, other)]
    assert loss[0] == pytest.approx(loss[1], rel=1e-12)
    said = np.array([[0, 1]] * 3)
    assert np.abs(panel.posterior(*one, said) - panel.posterior(*other, said)).max() > 0.05


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


def test_contexts_that_tell_nothing_are_said_to():
    _, said, _ = sampled(300)
    found = panel.aggregate(said, "skill", context=np.ones((300, 3)), training=QUICK)
    assert "the contexts tell nothing" in found.message


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
        ("four", "needs the context of every sample"),
        (["a", "b"], "4 texts, or vectors"),
        (["a", " ", "", "d"], r"no text in samples 1, 2"),
        (["a", "b", None, "d"], "no text in samples 2"),
        (np.ones(4), "samples x features"),
        (np.array([[1.0], [2.0], [np.nan], [0.0]]), "finite numbers"),
        ([[1.0], [2.0], [np.inf], [0.0]], "finite numbers"),
    ],
)
def test_bad_contexts_are_refused(context, message):
    with pytest.raises(panel.PanelError, match=message):
        panel.aggregate(np.eye(4), "skill", context=context, training=QUICK)


def test_bad_settings_are_refused():
    with pytest.raises(panel.PanelError, match="need a labelled development set"):
        panel.Training(regulariser=(0.0, 0.1))
    with pytest.raises(panel.PanelError, match="between 1/2 and 1"):
        panel.Training(initial_skill=0.4)


def test_methods_without_context_do_not_import_torch():
    code = (
        "import sys, numpy as np; from poe import panel; "
        "[panel.aggregate(np.eye(3), m) for m in ('average', 'majority', 'dawid-skene')]; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Transformers encoders, on tiny random models -----------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Two random models with tokenizers, saved where from_pretrained finds them."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<s>", "<pad>", "</s>", "<unk>", "good", "bad", *(f"w{i}" for i in range(50))]
    vocabulary = {word: i for i, word in enumerate(words)}
    model = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    model.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path_factory.mktemp("models")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        gpt = transformers.GPT2Model(
            transformers.GPT2Config(vocab_size=56, n_embd=32, n_layer=1, n_head=2, n_positions=32)
        )
        roberta = transformers.RobertaModel(
            transformers.RobertaConfig(
                vocab_size=56, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                intermediate_size=32, max_position_embeddings=40, pad_token_id=1,
            )
        )  # fmt: skip
    common = {"tokenizer_object": model, "unk_token": "<unk>", "eos_token": "</s>"}
    for name, body, more in (
        ("gpt", gpt, {}),
        ("roberta", roberta, {"cls_token": "<s>", "pad_token": "<pad>"}),
    ):
        body.save_pretrained(folder / name)
        wrapped = transformers.PreTrainedTokenizerFast(**common, **more)
        wrapped.save_pretrained(folder / name)
    return folder


def opinions(truth):
    """Texts whose first word is the truth."""
    rng = np.random.default_rng(0)
    return [
        f"<s> {'good' if t else 'bad'} "
        + " ".join(f"w{i}" for i in rng.integers(50, size=1 + n % 7))
        for n, t in enumerate(truth)
    ]


@pytest.mark.parametrize(("name", "pool"), [("gpt", "last"), ("roberta", "first")])
def test_a_transformers_encoder_is_trained_whole(tiny, name, pool):
    truth, said, _ = sampled(200)
    training = panel.Training(epochs=4, batch=16, learning_rate=5e-3)
    found = panel.aggregate(
        said, "skill", context=opinions(truth), encoder=str(tiny / name), training=training
    )
    assert f"{pool} hidden state" in found.message
    assert (np.argmax(found.context, axis=1) == truth).mean() > 0.9


def test_padding_does_not_change_the_hidden_state(tiny):
    for name in ("gpt", "roberta"):
        texts = ["<s> good w1", "<s> bad w2 w3 w4 w5 w6 w7"]
        encoder = panel.Transformer(str(tiny / name)).on(texts)
        body = encoder.make().eval()
        with torch.no_grad():
            together = body(encoder.batch(torch.tensor([0, 1])))
            alone = body(encoder.batch(torch.tensor([0])))
        torch.testing.assert_close(together[:1], alone, atol=1e-5, rtol=1e-5)


def test_low_rank_adapters_are_trained_in_the_place_of_the_model(tiny):
    pytest.importorskip("peft")
    truth, said, _ = sampled(200)
    texts = opinions(truth)
    for name in ("gpt", "roberta"):
        encoder = panel.Transformer(str(tiny / name), lora=4).on(texts)
        body = encoder.make()
        trained = {name for name, p in body.named_parameters() if p.requires_grad}
        assert trained
        assert all("lora_" in name for name in trained)
        # Adapters start at zero, so nothing is changed before the first step.
        whole, rows = panel.Transformer(str(tiny / name)).on(texts).make(), torch.tensor([0, 1])
        with torch.no_grad():
            torch.testing.assert_close(
                body.eval()(encoder.batch(rows)), whole.eval()(encoder.batch(rows))
            )
    found = panel.aggregate(
        said,
        "skill",
        context=texts,
        encoder=panel.Transformer(str(tiny / "gpt"), lora=8),
        training=panel.Training(epochs=6, batch=16, learning_rate=1e-2),
    )
    assert (np.argmax(found.context, axis=1) == truth).mean() > 0.9


def test_encoders_that_cannot_be_had_say_so(tiny):
    with pytest.raises(JudgeError, match="cannot be loaded"):
        panel.Transformer(str(tiny / "nowhere")).on(["a"])
    with pytest.raises(panel.PanelError, match="reads texts"):
        panel.aggregate(np.eye(3), "skill", context=np.eye(3), encoder="gpt2")
