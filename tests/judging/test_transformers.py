"""The prompt-based classifier: how a model is loaded, what it reads, where its answer is read."""

import copy
import json
import re
import warnings

import numpy as np
import pytest
import torch
import transformers

from judging.errors import JudgeError
from judging.judges import Prompt, Question, Text
from judging.judges.spending import SpendingLimitError
from judging.judges.transformers import Loaded, TransformersJudge, find, load
from judging.judges.transformers.engine import stretch
from judging.judges.writer import ChatWriter
from tests import tiny_models as tiny
from tests.tiny_models import COMPARE, answers, judge, questions

pytestmark = [
    pytest.mark.needs("torch"),
    pytest.mark.filterwarnings("ignore:.*gives the label words only"),
    pytest.mark.filterwarnings("ignore:.*cannot share prefixes"),
    pytest.mark.xdist_group("transformers"),
]
SCORE = Prompt(
    "score", "{context}\n\nSummary: {first}\n\nScore?", labels=tuple("12345"), prefix="Summary"
)
LLAMA = tiny.decoder("llama")


def t5_judge(**options):
    return judge(tiny.t5(), tiny.t5_tokenizer(), **options)


def two(prompt):
    return Question(prompt, Text("a", "one"), Text("b", "two"))


# What a model reads ----------------------------------------------------------------------------


def test_an_encoder_decoder_is_read_after_the_decoder_said_the_prefix():
    asked, tokenizer, t5 = questions(), tiny.t5_tokenizer(), tiny.t5()
    with pytest.warns(UserWarning, match="t5 cannot share prefixes: an encoder reads"):
        found = answers(t5_judge(), asked)
    for question, answer in zip(asked, found, strict=True):
        ids = tokenizer(question.text, return_tensors="pt").input_ids  # ends with </s>
        start = [0, *tokenizer("Summary", add_special_tokens=False).input_ids]
        with torch.inference_mode():
            logits = t5(input_ids=ids, decoder_input_ids=torch.tensor([start])).logits[0, -1]
        share = torch.softmax(logits, -1)
        a, b = (share[tokenizer.convert_tokens_to_ids(f"▁{label}")].item() for label in "AB")
        assert answer.p == pytest.approx(a / (a + b), abs=1e-5)
        assert answer.mass == pytest.approx(a + b, abs=1e-6)
        assert answer.tokens == answer.computed == ids.shape[1] + len(start)


def test_the_prompt_is_the_template_the_generation_prompt_and_the_prefix():
    write = judge(LLAMA).writer.write
    assert write(COMPARE[0], "Which?") == "<s>[INST] Which? [/INST] Summary"
    assert write(Prompt("x", "{first}{second}"), "Which?") == "<s>[INST] Which? [/INST]"
    quiet = tiny.CHAT + "{% if not enable_thinking %}<no thinking>{% endif %}"
    written = judge(LLAMA, tiny.tokenizer(template=quiet)).writer.write(COMPARE[0], "?")
    assert written.endswith("<no thinking>Summary")  # it is asked not to think aloud
    with pytest.warns(UserWarning, match="no chat template"):
        plain = judge(LLAMA, tiny.tokenizer(template=None))
    assert plain.writer.write(COMPARE[0], "Which?") == "Which?\nSummary"
    assert plain.specification["template"] == "none: plain text"


@pytest.mark.filterwarnings("ignore:.*no chat template")
def test_there_is_one_beginning_of_sequence_where_the_model_has_one():
    without = tiny.CHAT.replace("{{ bos_token }}", "")
    for template in (tiny.CHAT, without, None):
        writer = judge(LLAMA, tiny.tokenizer(template=template)).writer
        written = writer.write(COMPARE[0], "which one")
        for text in (written, "<s>" + written.removeprefix("<s>")):
            ids = writer.encode([text])[0]
            assert ids[0] == 1
            assert ids.count(1) == 1
    writer = judge(LLAMA, tiny.tokenizer(template=without, bos=False)).writer
    assert writer.encode(["[INST]"])[0][0] != 1


def test_system_messages_go_to_their_place_or_are_merged():
    prompt = Prompt("x", "{first}{second}", prefix="Summary", system="Be fair.")
    place = judge(LLAMA).writer
    assert place.write(prompt, "Which?") == "<s>[SYS] Be fair. [/SYS][INST] Which? [/INST] Summary"
    without = tiny.tokenizer(template=tiny.CHAT_WITHOUT_SYSTEM)
    merged = judge(LLAMA, without).writer
    assert merged.write(prompt, "Which?") == "<s>[INST] Be fair.\n\nWhich? [/INST] Summary"
    assert t5_judge().writer.write(prompt, "Which?") == "Be fair.\n\nWhich?"


def test_control_tokens_in_a_text_are_read_as_text_and_counted():
    asked = questions(contexts=1)
    broken = Text("bad", "it ends here</s> or <s> there")
    asked[0] = Question(asked[0].prompt, broken, asked[0].second, asked[0].context)
    reader = judge(LLAMA)
    ids = reader.writer.encode([reader.writer.write(asked[0].prompt, asked[0].text)])[0]
    assert ids.count(1) == 1
    assert 2 not in ids
    with pytest.warns(UserWarning, match="control tokens stood in the texts of 1 questions"):
        answers(reader, asked)


# Label words -----------------------------------------------------------------------------------


def test_any_number_of_labels():
    context = Text("article", tiny.sentences(1, 1, 40)[0])
    texts = tiny.sentences(9, 4)
    asked = [Question(SCORE, Text(f"s{k}", t), context=context) for k, t in enumerate(texts)]
    reader = judge(LLAMA)
    for question, answer in zip(asked, answers(reader, asked), strict=True):
        ids = torch.tensor(reader.writer.encode([reader.writer.write(SCORE, question.text)]))
        with torch.inference_mode():
            log_p = torch.log_softmax(LLAMA(input_ids=ids).logits[0, -1], -1)
        tokens = [tiny.tokenizer().convert_tokens_to_ids(f"Ġ{label}") for label in "12345"]
        np.testing.assert_allclose(answer.log_p, log_p[tokens].tolist(), atol=1e-5)


def test_labels_have_the_space_that_belongs_there():
    def label(writer, prefix):
        prompt = Prompt("x", "{first} {second}", prefix=prefix)
        written = writer.write(prompt, "which is better?")
        tokens = writer.tokenizer.convert_ids_to_tokens
        target = writer.target(prompt, written)
        return tokens(target.labels)[0], tokens(writer.encode([written])[0])[-1]

    writer = judge(LLAMA).writer
    for prefix in ("Summary", "", "Summary ", "Response"):
        assert label(writer, prefix)[0] == "ĠA"
    assert label(writer, "Answer: (")[0] == "A"
    # As in Llama 2 and Mistral: the space before a word is in its token, wherever it came from.
    words = copy.deepcopy(tiny.t5_tokenizer())
    words.chat_template = tiny.CHAT.replace("{{ bos_token }}", "")
    assert label(ChatWriter(words), "Summary") == ("▁A", "▁Summary")
    # A template that ends in a line break needs no space.
    template = "{% for m in messages %}{{ m.role }}\n{{ m.content }}\n{% endfor %}"
    template += "{% if add_generation_prompt %}assistant\n{% endif %}"
    assert label(judge(LLAMA, tiny.tokenizer(template=template)).writer, "")[0] == "A"


def test_labels_that_are_not_one_token_each_are_refused():
    several = Prompt("x", "{first} {second}", labels=("A", "Zebra"), prefix="Summary")
    unknown = Prompt("x", "{first} {second}", labels=("☃", "☂"))  # letters that T5 never saw
    for reader, prompt in (
        (judge(LLAMA), several),
        (t5_judge(), several),
        (t5_judge(), unknown),
    ):
        with pytest.raises(JudgeError, match=r"single token|same token"):
            answers(reader, [two(prompt)])


@pytest.mark.filterwarnings("default:.*gives the label words only")
def test_little_mass_is_said_once_a_prompt():
    reader = judge(LLAMA)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = [*answers(reader, questions()), *answers(reader, questions())]
    said = [str(w.message) for w in said if "gives the label words only" in str(w.message)]
    assert len(said) == len(set(said)) == len(COMPARE)
    assert "'more coherent'" in said[0]
    assert all(0 < a.mass < 0.5 for a in found)


@pytest.mark.parametrize("name", ["llama", "gpt2", "t5"])
def test_in_half_precision_the_last_layer_multiplies_in_float32(name):
    model, words = (copy.deepcopy(part) for part in tiny.made(name))
    model.bfloat16()
    head, seen = model.get_output_embeddings(), []
    with torch.no_grad():
        head.weight *= 20.0  # logits of about 20, which bfloat16 rounds to eighths
    head.register_forward_pre_hook(lambda _, given: seen.append(given[0][..., -1, :].double()))
    loaded = Loaded(model, words, name, "here", torch.device("cpu"), "bfloat16")
    reader = TransformersJudge(loaded, share_prefixes=False, batch_tokens=1)  # one at a time
    asked = questions(contexts=1)
    found = {k: answer.log_p for k, answer in reader.answer(asked)}
    exact, rounded = [], []
    weights = head.weight.detach().double()
    for k, hidden in zip(found, seen, strict=True):
        (one,) = reader.prepare([asked[k]])
        logits = hidden @ weights.T
        for off, some in ((exact, logits), (rounded, logits.bfloat16().double())):
            log_p = some.log_softmax(-1).flatten()[list(one.target.labels)]
            off.append(np.abs(log_p.numpy() - found[k]).max())
    assert max(exact) < 1e-3
    assert max(rounded) > 0.02  # what it was before


def test_answers_that_are_not_numbers_are_refused():
    llama = tiny.decoder("llama", seed=2)
    with torch.no_grad():
        llama.lm_head.weight.fill_(float("nan"))
    with pytest.raises(JudgeError, match=r"NaN in float32.*bfloat16"):
        answers(judge(llama, share_prefixes=False), questions())


# Length and limits -----------------------------------------------------------------------------


def test_a_question_that_is_too_long_is_refused_before_anything_is_asked():
    """And the others are answered."""
    asked = questions(words=40)
    long = Text("long-article", tiny.sentences(3, 1, 400)[0])
    asked.append(Question(asked[0].prompt, asked[0].first, asked[0].second, long))
    reader = judge(LLAMA, max_tokens=200)
    coming = reader.answer(asked)
    position, refused = next(coming)
    assert position == len(asked) - 1
    assert re.fullmatch(r"\d+ tokens, and the model reads 200; shorten .*", refused.refused)
    assert reader.engine.forwards == 0
    assert sorted(k for k, answer in coming if not answer.refused) == list(range(len(asked) - 1))
    assert reader.count_tokens(asked[-1:])[0] > 200
    assert judge(LLAMA).longest == tiny.SIZES["max_position_embeddings"]
    assert t5_judge().longest is None  # its positions are relative


@pytest.mark.parametrize("share", [True, False])
def test_limits_on_calls_and_tokens_are_never_exceeded(share):
    asked = questions()
    each = judge(LLAMA).count_tokens(asked)
    for limit, most in (
        ({"limit_calls": 7}, 7),
        ({"limit_tokens": 1000}, 1000),
        ({"limit_tokens": 5}, 5),
    ):
        reader, found = judge(LLAMA, share_prefixes=share, **limit), []
        with pytest.raises(SpendingLimitError, match=f"limit of {most:,}.*what was answered is"):
            found.extend(reader.answer(asked))
        assert reader.spending.calls == len(found)
        assert reader.spending.tokens == sum(each[k] for k, _ in found)
        spent = reader.spending.calls if "limit_calls" in limit else reader.spending.tokens
        assert spent <= most < spent + max(each)
    reader = judge(LLAMA, limit_calls=len(asked))
    running = reader.answer(asked)
    next(running)
    running.close()  # what was not answered is not counted
    assert reader.spending.calls == 1
    assert len(answers(reader, asked[1:])) == len(asked) - 1


# Batches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma3", "gpt2", "t5"])
def test_answers_depend_on_neither_batch_nor_padding_side(name):
    context = Text("article", tiny.sentences(1, 1, 15)[0])
    score = Question(SCORE, Text("s", "A summary."), context=context)
    asked = [*questions(contexts=1), *questions(contexts=1, words=15), score]
    language, tokenizer = tiny.made(name)
    one = answers(judge(language, tokenizer, share_prefixes=False, batch_tokens=1), asked)
    assert len({a.tokens for a in one}) > 3  # there is padding
    before = tokenizer.padding_side
    for size, side in ((300, "left"), (10_000, "right")):
        tokenizer.padding_side = side
        many = answers(judge(language, tokenizer, share_prefixes=False, batch_tokens=size), asked)
        tokenizer.padding_side = before
        for a, b in zip(one, many, strict=True):
            np.testing.assert_allclose(a.log_p, b.log_p, atol=2e-5)


def test_order_does_not_matter(monkeypatch):
    asked = [*questions(contexts=3), *questions(contexts=1)]  # some of them twice
    reader = judge(tiny.decoder("mistral"))
    expected = answers(reader, asked)
    monkeypatch.setattr("judging.judges.transformers.judge.CHUNK", 7)
    order = np.random.default_rng(0).permutation(len(asked))
    for k, answer in zip(order, answers(reader, [asked[k] for k in order]), strict=True):
        assert answer.p == pytest.approx(expected[k].p, abs=1e-5)
    assert answers(reader, []) == []


def test_answers_come_before_the_last_question_is_computed():
    reader = judge(LLAMA, row_tokens=64)
    asked = questions()
    running = reader.answer(asked)
    next(running)
    early = reader.engine.forwards
    rest = list(running)
    assert len(rest) == len(asked) - 1
    assert early < reader.engine.forwards / 2
    assert all(answer.seconds > 0 for _, answer in rest)


def test_prompts_whose_positions_would_be_stretched_go_alone():
    rope = {
        "rope_type": "longrope",
        "short_factor": [1.0] * 4,  # heads of 8 dimensions have four frequencies
        "long_factor": [4.0] * 4,
        "rope_theta": 10_000.0,
        "original_max_position_embeddings": 100,
    }
    sizes = {**tiny.SIZES, "original_max_position_embeddings": 100}
    config = transformers.Phi3Config(**sizes, rope_parameters=rope)
    assert stretch(config) == 100
    assert stretch(LLAMA.config) is None
    torch.manual_seed(0)
    phi = transformers.AutoModelForCausalLM.from_config(config).eval()
    asked = [*questions(contexts=1, words=70), *questions(contexts=1, words=10)]
    one = answers(judge(phi, share_prefixes=False, batch_tokens=1), asked)
    both = answers(judge(phi), asked)
    assert min(a.tokens for a in one) < 100 < max(a.tokens for a in one)
    assert [a.p for a in both] == pytest.approx([a.p for a in one], abs=1e-5)


# Loading ---------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_a_folder_is_loaded_and_answers_as_the_model_it_was_saved_from(tmp_path, name):
    folder = tiny.save(tmp_path / "model", name)
    reader = TransformersJudge(str(folder), device="cpu")
    loaded = reader.loaded
    assert loaded.dtype == "float32"
    assert reader.checkpoint.encoder_decoder == (name == "t5")
    assert loaded.name == "model"  # not where it happens to be
    assert loaded.revision.startswith("sha256:")
    expected = [a.p for a in answers(judge(*tiny.made(name)), questions())]
    assert [a.p for a in answers(reader, questions())] == pytest.approx(expected, abs=1e-6)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "note": 1}))
    assert load.found_revision(str(folder), None) != loaded.revision


def test_a_model_of_the_hub_has_its_commit_as_revision(tmp_path, monkeypatch):
    """The layout of the hub's own cache, so that no network is needed."""
    import huggingface_hub.constants
    import transformers.utils.hub

    commit = "0123456789abcdef0123456789abcdef01234567"
    base = tmp_path / "models--nobody--tiny"
    tiny.save(base / "snapshots" / commit)
    (base / "refs").mkdir()
    (base / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(transformers.utils.hub.constants, "HF_HUB_CACHE", str(tmp_path))
    for revision in (None, commit):
        assert find("nobody/tiny", device="cpu", revision=revision).revision == commit


def test_the_precision_suits_the_device_and_the_model():
    for on_cpu, bfloat16, kind, found in (
        (True, False, "t5", "float32"),
        (False, True, "t5", "bfloat16"),
        (False, False, "llama", "float16"),
        (False, False, "t5", "float32"),
    ):
        chosen = load.choose_dtype("auto", on_cpu=on_cpu, bfloat16=bfloat16, model=kind)
        assert chosen == found
    with pytest.raises(JudgeError, match=r"t5 overflow in float16"):
        load.choose_dtype("float16", on_cpu=False, bfloat16=True, model="t5")


def test_what_is_not_there_is_named_with_the_way_out(tmp_path, monkeypatch):
    with pytest.raises(JudgeError, match="'nobody/nothing' is not on this machine"):
        find("nobody/nothing")
    with pytest.raises(JudgeError, match="no model '/no/such/folder'"):
        find("/no/such/folder")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(JudgeError, match="holds no model"):
        find(str(tmp_path))
    monkeypatch.setattr("judging.errors.find_spec", lambda name: None)
    with pytest.raises(JudgeError, match=r"torch and transformers.*\[judge\].*in a clone"):
        TransformersJudge("nobody/nothing")


# Specification ---------------------------------------------------------------------------------


def test_the_specification_tells_what_changes_answers_apart_and_nothing_else():
    """Its fields are those of the stores that exist."""
    base = dict(judge(LLAMA).specification)
    assert base == {
        "kind": "transformers",
        "model": "llama",
        "revision": "here",
        "dtype": "float32",
        "template": "d9aff0bc9b1155659d79a1fc9e87753d7bfd9ce348d5b56d49393b3b9dead254",
        "system message": "a place of its own",
        "too long": "refused",
    }
    same = [{"share_prefixes": False}, {"batch_tokens": 7}, {"row_tokens": 7}, {"limit_calls": 9}]
    assert all(dict(judge(LLAMA, **more).specification) == base for more in same)
    there = Loaded(LLAMA, tiny.tokenizer(), "llama", "there", torch.device("cpu"), "float32")
    for other in (
        judge(LLAMA, tiny.tokenizer(template=tiny.CHAT + " ")),
        TransformersJudge(there),
    ):
        assert dict(other.specification) != base
