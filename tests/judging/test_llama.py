"""The judge on llama.cpp: before an engine made up here, and with a real one where it is there."""

import gc
import hashlib
import json
import struct
import sys
import weakref

import httpx
import numpy as np
import pytest

from judging import judges, prompts
from judging.datasets.models import place
from judging.errors import JudgeError
from judging.judges import Prompt, Question, Text, llama
from judging.judges.gguf import ARRAY, STRING
from judging.judges.llama import LlamaJudge
from judging.judges.spending import SpendingLimitError
from tests.judging.test_gguf import array, gguf, number, text

# What an engine says that is made up here has little probability on A and B.
pytestmark = pytest.mark.filterwarnings("ignore:.*of the probability on average")
PROMPT = prompts.load("topicalchat", "coherency", decoder_only=True)
START, END = 256, 257  # after a token for every byte
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def words():
    return [f"<{k}>" for k in range(256)] + ["<|im_start|>", "<|im_end|>"]


@pytest.fixture
def weights(tmp_path):
    """A file whose head is a model's: a token for every byte, two of control, a template."""
    kinds = [number(5, 3 if k > 255 else 1) for k in range(258)]
    return gguf(
        tmp_path / "bytes.gguf",
        {
            "general.architecture": (STRING, text("tiny")),
            "tiny.context_length": (4, number(4, 4000)),
            "tokenizer.ggml.tokens": (ARRAY, array(STRING, [text(word) for word in words()])),
            "tokenizer.ggml.token_type": (ARRAY, array(5, kinds)),
            "tokenizer.ggml.eos_token_id": (4, number(4, END)),
            "tokenizer.chat_template": (STRING, text(CHAT)),
        },
    )


def tokens(text):
    """Bytes, and the control tokens."""
    out, left = [], text
    while left:
        for k, word in ((START, "<|im_start|>"), (END, "<|im_end|>")):
            if left.startswith(word):
                out.append(k)
                left = left[len(word) :]
                break
        else:
            out += left[0].encode()
            left = left[1:]
    return out


def log_p(ids):
    """All log-probabilities after some tokens: by a digest, so that another prompt would show."""
    seed = hashlib.sha256(struct.pack(f"<{len(ids)}I", *ids)).digest()
    logits = np.random.default_rng(list(seed)).normal(size=258)
    return logits - np.log(np.exp(logits).sum())


def shared(ids, last):
    """How many first tokens are those of the last prompt; the last one is computed again."""
    pairs = zip(ids, last, strict=False)
    same = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(ids), len(last)))
    return min(same, len(ids) - 1)


class Engine:
    """Answers as llama.cpp's server does, and keeps the last prompt as its cache does."""

    listening_address = "http://engine"

    def __init__(self):
        self.asked, self.last, self.error = [], [], None

    def handle_completions(self, asked):
        if self.error:
            return {"error": self.error}
        ids, count = asked["prompt"], asked["n_probs"]
        same = shared(ids, self.last)
        self.asked.append(asked)
        self.last = ids
        every = log_p(ids)
        top = [{"id": int(k), "logprob": every[k]} for k in np.argsort(-every)[:count]]
        reply = {
            "choices": [{"logprobs": {"content": [{"top_logprobs": top}]}}],
            "timings": {"prompt_n": len(ids) - same},
        }
        return json.dumps(reply) if len(self.asked) % 2 else reply  # older ones give a text

    def tokenize(self, request):
        assert request.url.path == "/tokenize"
        return httpx.Response(200, json={"tokens": tokens(json.loads(request.content)["content"])})


@pytest.fixture
def engine(monkeypatch):
    """The engine that every judge of a test has."""
    found, client = Engine(), httpx.Client

    def connect(**options):
        options.pop("trust_env")
        return client(transport=httpx.MockTransport(found.tokenize), **options)

    monkeypatch.setattr(httpx, "Client", connect)
    monkeypatch.setattr("judging.errors.find_spec", lambda name: name)
    monkeypatch.setattr(LlamaJudge, "engine", found)
    return found


def pairs(contexts=2, n=4, extra=""):
    """All ordered pairs of some texts in each context, in no useful order."""
    found = []
    for c in range(contexts):
        said = [f"Answer {k * 7}, of {c} {'and more ' * 9}{extra}" for k in range(n)]
        texts = [Text(f"{c}-{k}", one) for k, one in enumerate(said)]
        context = Text(f"context-{c}", f"What is {c}? {'It matters. ' * 20}")
        found += [Question(PROMPT, a, b, context) for a in texts for b in texts if a is not b]
    return [found[k] for k in np.random.default_rng(0).permutation(len(found))]


def test_answers_are_the_labels_probabilities_after_the_written_prompt(weights, engine):
    judge, asked = judges.open(f"gguf:{weights}"), pairs()
    found = dict(judge.answer(asked))
    assert sorted(found) == list(range(len(asked)))
    for k, question in enumerate(asked):
        # The space is a token of its own here, and so read before the label.
        turn = f"<|im_start|>user\n{question.text}<|im_end|>\n"
        written = f"{turn}<|im_start|>assistant\nResponse "
        expected = log_p(tokens(written))[[ord("A"), ord("B")]]
        np.testing.assert_allclose(found[k].log_p, expected)
        assert found[k].tokens == len(tokens(written))


def test_prompts_that_begin_alike_are_asked_one_after_the_other(weights, engine):
    asked = pairs()
    found = dict(LlamaJudge(weights).answer(asked))
    sent = sum(answer.tokens for answer in found.values())
    computed = sum(answer.computed for answer in found.values())
    judge, each = LlamaJudge(weights), dict.fromkeys(range(len(asked)), 0)
    last: list[int] = []
    for k, question in enumerate(asked):  # in the order given
        ids = tokens(judge.writer.write(PROMPT, question.text))
        each[k] = len(ids) - shared(ids, last)
        last = ids
    assert computed < 0.75 * sum(each.values()) < 0.75 * sent


def test_several_prompts_at_once_compute_no_more_than_one_prompt_after_another(weights, engine):
    begins = ("How clear is the reply?", "Is the reply about it?", "How warm is the reply?")
    marks = [
        Prompt(begin, begin + " Talk: {context} Reply: {first} Mark:", labels=("1", "2"))
        for begin in begins
    ]
    ways = [Prompt(f"way {k}", PROMPT.template + f" ({k})") for k in range(3)]
    shown = pairs()
    for several, second in ((marks, False), (ways, True)):
        asked = [
            Question(prompt, q.first, q.second if second else None, q.context)
            for q in shown
            for prompt in several
        ]
        apart = 0.0
        for prompt in several:
            own = [question for question in asked if question.prompt == prompt]
            apart += sum(answer.computed for _, answer in LlamaJudge(weights).answer(own))
        together = sum(answer.computed for _, answer in LlamaJudge(weights).answer(asked))
        # Prompts that begin alike share what they say first; others lose nothing.
        assert together < 0.7 * apart if second else together == pytest.approx(apart, rel=0.01)


def test_a_label_that_is_unlikely_is_looked_for_among_all_tokens(weights, engine, monkeypatch):
    monkeypatch.setattr(llama, "LIKELY", 1)
    asked = pairs(contexts=1, n=3)
    found = dict(LlamaJudge(weights).answer(asked))
    assert {one["n_probs"] for one in engine.asked} == {1, 258}
    assert all(np.isfinite(answer.log_p).all() for answer in found.values())


def test_the_specification_is_the_file_and_how_prompts_are_written(weights, engine):
    """Stored answers are kept by it: the same words for ever."""
    assert dict(LlamaJudge(weights, threads=1).specification) == {
        "kind": "llama.cpp",
        "model": "bytes.gguf",
        "revision": f"sha256:{hashlib.sha256(weights.read_bytes()).hexdigest()}",
        "template": hashlib.sha256(CHAT.encode()).hexdigest(),
    }


def test_nothing_is_loaded_before_a_question_is_asked(weights, monkeypatch):
    monkeypatch.setattr("judging.errors.find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    judge = judges.open(f"gguf:{weights}")
    assert judge.specification["kind"] == "llama.cpp"
    with pytest.raises(ImportError):
        _ = judge.engine


def test_its_memory_is_given_back_with_the_judge(weights, engine):
    """Without the garbage collector: weights take gigabytes."""
    judge = LlamaJudge(weights)
    assert len(list(judge.answer(pairs()[:2]))) == 2
    left = weakref.ref(judge)
    gc.disable()
    try:
        del judge
        assert left() is None
    finally:
        gc.enable()


def test_limits_are_kept_and_what_failed_does_not_count(weights, engine):
    judge = LlamaJudge(weights, limit_calls=3)
    found = []
    with pytest.raises(SpendingLimitError, match=r"limit of 3 calls .* is kept"):
        found.extend(judge.answer(pairs()))
    assert len(found) == judge.spending.calls == 3
    other = LlamaJudge(weights)
    engine.error = "no slot"
    with pytest.raises(JudgeError, match=r"llama\.cpp did not answer: no slot"):
        list(other.answer(pairs()))
    assert (other.spending.calls, other.spending.tokens) == (0, 0)


def test_long_questions_are_refused_before_the_first_answer(weights, engine):
    asked = [*pairs(contexts=1, n=3), *pairs(contexts=1, n=2, extra="and so on " * 400)]
    coming = LlamaJudge(weights).answer(asked)
    for k in (6, 7):
        position, answer = next(coming)
        assert position == k
        assert "and the model reads 3999; shorten the texts, or raise" in answer.refused
    assert engine.asked == []
    assert sorted(position for position, _ in coming) == list(range(6))
    assert max(LlamaJudge(weights).count_tokens(asked)) > 4000


def test_control_tokens_in_texts_are_read_as_text(weights, engine):
    asked = pairs(contexts=1, n=2, extra="<|im_end|>")
    with pytest.warns(UserWarning, match="control tokens stood in the texts of 2 questions"):
        list(LlamaJudge(weights).answer(asked))
    assert all(one["prompt"].count(END) == 1 for one in engine.asked)


def test_what_is_missing_is_said(tmp_path, weights, monkeypatch):
    monkeypatch.setattr("judging.errors.find_spec", lambda name: None)
    with pytest.raises(JudgeError, match=r"needs xllamacpp: pip install '\.\[llama\]'"):
        judges.open(f"gguf:{weights}")
    monkeypatch.setattr("judging.errors.find_spec", lambda name: name)
    with pytest.raises(JudgeError, match=r"there is no file nowhere\.gguf"):
        judges.open("gguf:nowhere.gguf")
    other = gguf(tmp_path / "adapter.gguf", {"general.type": (STRING, text("adapter"))})
    with pytest.raises(JudgeError, match="it holds no language model"):
        judges.open(f"gguf:{other}")
    with pytest.raises(JudgeError, match="has no option 'dtype'; it has context, threads"):
        judges.open(f"gguf:{weights}", dtype="float32")


# A real model --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real():
    """A judge on llama.cpp with real weights."""
    return LlamaJudge(place("qwen"))


@pytest.mark.needs("qwen")
def test_a_real_model_prefers_sense_to_noise_in_both_orders(real):
    context = Text("c", "A: Do you like dogs?\nB: Yes, I have two of them. And you?")
    good = Text("good", "I like them too. We had a dog when I was a child.")
    bad = Text("bad", "Table seventeen the of of purple, under under.")
    asked = [Question(PROMPT, a, b, context) for a, b in ((good, bad), (bad, good))]
    (_, one), (_, other) = sorted(real.answer(asked))
    assert one.mass > 0.5 < other.mass
    assert one.tokens == other.tokens
    assert min(one.computed, other.computed) < one.tokens, "the second shares the beginning"
    assert one.p > 0.5 > other.p
