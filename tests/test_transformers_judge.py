"""The prompt-based classifier: what the model reads, where its answer is read, what is said."""

import re
import warnings

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
import torch

from poe.errors import JudgeError
from poe.judges import Prompt, Question, Text
from poe.judges.transformers import Loaded, TransformersJudge, chat
from poe.judges.transformers.batching import batches
from poe.judges.transformers.preparing import chunks
from tests import tiny_models as tiny
from tests.test_transformers_sharing import COMPARE, answers, judge, p_of, questions

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*gives the label words only"),
    pytest.mark.xdist_group("transformers"),
]
SCORE = Prompt(
    "score", "{context}\n\nSummary: {first}\n\nScore?", labels=tuple("12345"), prefix="Summary"
)


def scoring(words=40):
    context = Text("article", tiny.sentences(1, 1, words)[0])
    return [
        Question(SCORE, Text(f"s{k}", t), context=context)
        for k, t in enumerate(tiny.sentences(9, 4))
    ]


def t5_judge(**options):
    return judge(tiny.t5(), tiny.t5_tokenizer(), **options)


# Encoder-decoder


@pytest.mark.filterwarnings("ignore:.*cannot share prefixes")
def test_an_encoder_decoder_is_read_after_the_decoder_said_the_prefix():
    asked = questions()
    reader = t5_judge()
    tokenizer, model = tiny.t5_tokenizer(), tiny.t5()
    for question, answer in zip(asked, answers(reader, asked), strict=True):
        ids = tokenizer(question.text, return_tensors="pt").input_ids  # ends with </s>
        start = [0, *tokenizer("Summary", add_special_tokens=False).input_ids]
        with torch.inference_mode():
            logits = model(input_ids=ids, decoder_input_ids=torch.tensor([start])).logits[0, -1]
        share = torch.softmax(logits, -1)
        a, b = (share[tokenizer.convert_tokens_to_ids(f"▁{label}")].item() for label in "AB")
        assert answer.p == pytest.approx(a / (a + b), abs=1e-5)
        assert answer.mass == pytest.approx(a + b, abs=1e-6)
        assert answer.tokens == answer.computed == ids.shape[1] + len(start)


def test_an_encoder_decoder_says_that_it_shares_nothing():
    with pytest.warns(UserWarning, match="t5 cannot share prefixes: an encoder reads"):
        answers(t5_judge(), questions())


# What a decoder-only model reads


def test_the_prompt_is_the_template_the_generation_prompt_and_the_prefix():
    reader = judge(tiny.decoder("llama"))
    question = questions()[0]
    written = reader.writer.write(question.prompt, question.text)
    assert written == f"<s>[INST] {question.text} [/INST] Summary"


def test_a_model_is_asked_not_to_think_aloud():
    template = tiny.CHAT + "{% if not enable_thinking %}<no thinking>{% endif %}"
    reader = judge(tiny.decoder("llama"), tiny.tokenizer(template=template))
    assert reader.writer.write(COMPARE[0], "?").endswith("<no thinking>Summary")


@pytest.mark.parametrize("template", [tiny.CHAT, tiny.CHAT.replace("{{ bos_token }}", ""), None])
@pytest.mark.filterwarnings("ignore:.*no chat template")
def test_there_is_one_beginning_of_sequence(template):
    reader = judge(tiny.decoder("llama"), tiny.tokenizer(template=template))
    written = reader.writer.write(COMPARE[0], "which one")
    for text in (written, "<s>" + written.removeprefix("<s>")):
        ids = reader.writer.encode([text])[0]
        assert ids[0] == 1
        assert ids.count(1) == 1


def test_a_tokenizer_without_a_beginning_of_sequence_gets_none():
    template = tiny.CHAT.replace("{{ bos_token }}", "")
    reader = judge(tiny.decoder("llama"), tiny.tokenizer(template=template, bos=False))
    assert reader.writer.encode(["[INST]"])[0][0] != 1


def test_without_a_chat_template_the_text_is_plain_and_a_warning_says_so():
    with pytest.warns(UserWarning, match="no chat template"):
        reader = judge(tiny.decoder("llama"), tiny.tokenizer(template=None))
    assert reader.writer.write(COMPARE[0], "Which?") == "Which?\nSummary"
    assert reader.specification["template"] == "none: plain text"


def test_system_messages_go_to_their_place_or_are_merged_or_refused():
    prompt = Prompt("x", "{first}{second}", prefix="Summary", system="Be fair.")
    model = tiny.decoder("llama")
    place = judge(model).writer
    assert place.write(prompt, "Which?") == "<s>[SYS] Be fair. [/SYS][INST] Which? [/INST] Summary"
    without = tiny.tokenizer(template=tiny.CHAT_WITHOUT_SYSTEM)
    merged = judge(model, without).writer
    assert merged.write(prompt, "Which?") == "<s>[INST] Be fair.\n\nWhich? [/INST] Summary"
    with pytest.raises(JudgeError, match="'x' has a system message"):
        judge(model, without, system="refuse").writer.write(prompt, "Which?")
    with pytest.raises(JudgeError, match="has no place"):
        t5_judge(system="refuse").writer.write(prompt, "Which?")
    assert t5_judge().writer.write(prompt, "Which?") == "Be fair.\n\nWhich?"


def test_control_tokens_in_a_text_are_read_as_text_and_counted():
    asked = questions(contexts=1)
    broken = Text("bad", "it ends here</s> or <s> there")
    asked[0] = Question(asked[0].prompt, broken, asked[0].second, asked[0].context)
    reader = judge(tiny.decoder("llama"))
    written = reader.writer.write(asked[0].prompt, asked[0].text)
    ids = reader.writer.encode([written])[0]
    assert ids.count(1) == 1
    assert 2 not in ids
    with pytest.warns(UserWarning, match="control tokens stood in the texts of 1 questions"):
        answers(reader, asked)


# Labels


def test_any_number_of_labels():
    asked = scoring()
    model = tiny.decoder("llama")
    reader = judge(model)
    for question, answer in zip(asked, answers(reader, asked), strict=True):
        written = reader.writer.write(SCORE, question.text)
        ids = torch.tensor(reader.writer.encode([written]))
        with torch.inference_mode():
            log_p = torch.log_softmax(model(input_ids=ids).logits[0, -1], -1)
        tokens = [tiny.tokenizer().convert_tokens_to_ids(f"Ġ{label}") for label in "12345"]
        np.testing.assert_allclose(answer.log_p, log_p[tokens].tolist(), atol=1e-5)


@pytest.mark.parametrize(
    ("prefix", "form"),
    [("Summary", "ĠA"), ("", "ĠA"), ("Answer: (", "A"), ("Summary ", "ĠA"), ("Response", "ĠA")],
)
def test_labels_have_the_space_that_belongs_there(prefix, form):
    prompt = Prompt("x", "{first} {second}", prefix=prefix)
    writer = judge(tiny.decoder("llama")).writer
    target = writer.target(prompt, writer.write(prompt, "Which?"))
    assert tiny.tokenizer().convert_ids_to_tokens(target.labels[0]) == form


@pytest.mark.parametrize("prefix", ["Summary", ""])
def test_labels_of_a_tokenizer_that_marks_word_starts(prefix):
    """As in Llama 2 and Mistral: the space before a word is in its token, wherever it came from."""
    import copy

    words = copy.deepcopy(tiny.t5_tokenizer())
    words.chat_template = tiny.CHAT.replace("{{ bos_token }}", "")
    writer = chat.ChatWriter(words)
    prompt = Prompt("x", "{first} {second}", prefix=prefix)
    written = writer.write(prompt, "which is better?")
    target = writer.target(prompt, written)
    assert words.convert_ids_to_tokens(target.labels) == ["▁A", "▁B"]
    last = words.convert_ids_to_tokens(writer.encode([written])[0])[-1]
    assert (last == "▁Summary") == bool(prefix)


def test_a_template_that_ends_in_a_line_break_needs_no_space():
    template = "{% for m in messages %}{{ m.role }}\n{{ m.content }}\n{% endfor %}"
    template += "{% if add_generation_prompt %}assistant\n{% endif %}"
    writer = judge(tiny.decoder("llama"), tiny.tokenizer(template=template)).writer
    prompt = Prompt("x", "{first} {second}")
    target = writer.target(prompt, writer.write(prompt, "Which?"))
    assert tiny.tokenizer().convert_ids_to_tokens(target.labels) == ["A", "B"]


def test_labels_of_several_tokens_are_refused_with_the_tokens():
    prompt = Prompt("x", "{first} {second}", labels=("A", "Zebra"), prefix="Summary")
    asked = [Question(prompt, Text("a", "one"), Text("b", "two"))]
    with pytest.raises(JudgeError, match=r"'x'.*single token.*'A' as 'ĠA'; 'Zebra' as 'Ġ' 'Z' 'e'"):
        list(judge(tiny.decoder("llama")).answer(asked))
    with pytest.raises(JudgeError, match=r"'x'.*single token"):
        list(t5_judge().answer(asked))


def test_labels_that_are_one_token_are_refused():
    tokenizer = tiny.t5_tokenizer()  # letters it never saw are all <unk>
    prompt = Prompt("x", "{first} {second}", labels=("☃", "☂"))
    with pytest.raises(JudgeError, match=r"single token|same token"):
        list(judge(tiny.t5(), tokenizer).answer([Question(prompt, Text("a", "1"), Text("b", "2"))]))


def test_a_label_that_merges_with_the_prefix_is_refused(monkeypatch):
    monkeypatch.setattr("poe.judges.transformers.chat.gap", lambda before: "")
    prompt = Prompt("x", "{first} {second}", labels=("mary", "B"), prefix="the sum")
    with pytest.raises(JudgeError, match="merges with the token before it after the prefix"):
        list(
            judge(tiny.decoder("llama")).answer([Question(prompt, Text("a", "1"), Text("b", "2"))])
        )


# Mass


@pytest.mark.filterwarnings("default:.*gives the label words only")
def test_little_mass_is_said_once():
    reader = judge(tiny.decoder("llama"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = [*answers(reader, questions()), *answers(reader, questions())]
    said = [str(w.message) for w in said if "gives the label words only" in str(w.message)]
    assert len(said) == 1
    assert re.search(r"llama .* 'A', 'B' after 'Summary'", said[0])
    assert all(0 < a.mass < 0.5 for a in found)


@pytest.mark.filterwarnings("error:.*gives the label words only")
def test_enough_mass_is_not_worth_a_word():
    model = tiny.decoder("llama", seed=1)
    reader = judge(model)
    asked = questions()
    written = reader.writer.write(asked[0].prompt, asked[0].text)
    labels = list(reader.writer.target(asked[0].prompt, written).labels)
    is_label = torch.zeros(tiny.SIZES["vocab_size"])
    is_label[labels] = 1.0
    hook = model.lm_head.register_forward_hook(lambda module, args, out: out + 50.0 * is_label)
    try:
        assert min(a.mass for a in answers(reader, asked)) > 0.99
    finally:
        hook.remove()


def test_answers_that_are_not_numbers_are_refused():
    model = tiny.decoder("llama", seed=2)
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    with pytest.raises(JudgeError, match=r"not numbers in float32.*bfloat16"):
        answers(judge(model, share_prefixes=False), questions())


# Length


def test_a_question_that_is_too_long_is_refused_before_anything_is_asked():
    asked = questions(words=40)
    long = Text("long-article", tiny.sentences(3, 1, 400)[0])
    asked.append(Question(asked[0].prompt, asked[0].first, asked[0].second, long))
    reader = judge(tiny.decoder("llama"), max_tokens=200)
    with pytest.raises(JudgeError, match=r"'s0'.*'long-article'.* tokens, and the model reads 200"):
        next(reader.answer(asked))
    assert reader.engine.forwards == 0


def test_the_limit_is_the_models_own():
    assert judge(tiny.decoder("llama")).longest == tiny.SIZES["max_position_embeddings"]
    assert t5_judge().longest is None  # its positions are relative


@pytest.mark.parametrize("room", [140, 170, 200])
def test_contexts_are_cut_by_choice_counted_and_said(room):
    asked = questions(words=100)
    model = tiny.decoder("llama")
    reader = judge(model, max_tokens=room, too_long="truncate-context")
    with pytest.warns(UserWarning, match=f"{len(asked)} questions were too long .* {room} tokens"):
        found = answers(reader, asked)
    assert reader.truncated == len(asked)
    assert all(room - 12 <= a.tokens <= room for a in found)  # a word is a few tokens
    # as if the context had been that short from the start
    question, answer = asked[0], found[0]
    words = question.context.text.split(" ")
    alike = []
    for n in range(len(words)):
        context = Text("c", " ".join(words[:n]))
        short = Question(question.prompt, question.first, question.second, context)
        alike.append(answers(judge(model), [short])[0])
    assert answer.p in [pytest.approx(a.p, abs=1e-5) for a in alike if a.tokens == answer.tokens]


def test_what_is_too_long_without_its_context_is_refused():
    reader = judge(tiny.decoder("llama"), max_tokens=30, too_long="truncate-context")
    with pytest.raises(JudgeError, match="without any of its context"):
        answers(reader, questions())
    prompt = Prompt("x", "{first} or {second}?", prefix="Summary")
    texts = [Text(f"t{k}", t) for k, t in enumerate(tiny.sentences(0, 2, 60))]
    with pytest.raises(JudgeError, match=r"'t0'.*'t1'.*shorten the texts"):
        answers(reader, [Question(prompt, *texts)])


# Batches


@pytest.mark.filterwarnings("ignore:.*cannot share prefixes")
@pytest.mark.parametrize("name", [*tiny.DECODERS, "t5"])
@pytest.mark.parametrize("size", [1, 300, 10_000])
def test_answers_do_not_depend_on_the_batch(name, size):
    asked = [*questions(contexts=1), *questions(contexts=1, words=15), *scoring()]
    made = (
        (tiny.t5(), tiny.t5_tokenizer()) if name == "t5" else (tiny.decoder(name), tiny.tokenizer())
    )
    one = answers(judge(*made, share_prefixes=False, batch_tokens=1), asked)
    many = answers(judge(*made, share_prefixes=False, batch_tokens=size), asked)
    assert len({a.tokens for a in one}) > 3  # there is padding
    for a, b in zip(one, many, strict=True):
        np.testing.assert_allclose(a.log_p, b.log_p, atol=2e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_answers_do_not_depend_on_the_tokenizers_padding_side(side):
    tokenizer = tiny.tokenizer()
    before = tokenizer.padding_side
    expected = answers(judge(tiny.decoder("llama"), share_prefixes=False), questions())
    try:
        tokenizer.padding_side = side
        found = answers(judge(tiny.decoder("llama"), share_prefixes=False), questions())
    finally:
        tokenizer.padding_side = before
    assert [a.log_p for a in found] == [a.log_p for a in expected]


def test_batches_stay_within_the_budget_and_leave_nothing_out():
    lengths = [5, 100, 7, 7, 30, 31, 6, 250]
    groups = batches(lengths, 100)
    assert sorted(k for group in groups for k in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[k] for k in group) <= 100
    assert groups[0] == [7]


def test_only_the_last_positions_logits_are_computed(monkeypatch):
    model = tiny.decoder("llama")
    shapes = []
    handle = model.lm_head.register_forward_hook(
        lambda module, args, out: shapes.append(tuple(out.shape[:-1]))
    )
    asked = questions()
    try:
        answers(judge(model, share_prefixes=False), asked)
        rows = sum(a * b for a, b in shapes)
        shapes.clear()
        answers(judge(model), asked)
    finally:
        handle.remove()
    assert rows == len(asked)
    # a shared run has one more a kept prefix and one a check
    assert len(asked) < sum(a * b for a, b in shapes) < 1.5 * len(asked)


def test_chunks_keep_a_context_together_and_lose_nothing():
    asked = questions(contexts=5, candidates=3)
    each = len(asked) // 5
    found = list(chunks(asked, most=2 * each + 3))
    assert sorted(k for some in found for k in some) == list(range(len(asked)))
    assert [len(some) for some in found] == [2 * each, 2 * each, each]
    assert all(len(some) <= 4 for some in chunks(asked, most=4))


def test_order_and_chunks_do_not_matter(monkeypatch):
    asked = questions(contexts=3)
    reader = judge(tiny.decoder("mistral"))
    expected = answers(reader, asked)
    monkeypatch.setattr("poe.judges.transformers.preparing.CHUNK", 7)
    order = np.random.default_rng(0).permutation(len(asked))
    found = answers(reader, [asked[k] for k in order])
    for k, answer in zip(order, found, strict=True):
        assert answer.p == pytest.approx(expected[k].p, abs=1e-5)


def test_the_same_question_twice_is_answered_twice():
    asked = questions(contexts=1)
    found = answers(judge(tiny.decoder("llama")), [*asked, *asked])
    assert [a.log_p for a in found[: len(asked)]] == [a.log_p for a in found[len(asked) :]]
    assert p_of(np.array([a.log_p for a in found])) == pytest.approx([a.p for a in found])


def test_no_questions_no_answers():
    assert answers(judge(tiny.decoder("llama")), []) == []


def test_answers_come_before_the_last_question_is_computed():
    reader = judge(tiny.decoder("llama"), row_tokens=64)
    asked = questions()
    running = reader.answer(asked)
    next(running)
    early = reader.engine.forwards
    assert len(list(running)) == len(asked) - 1
    assert early < reader.engine.forwards / 2
    assert all(a.seconds > 0 for a in answers(reader, asked))


# Specification


def test_the_specification_tells_what_changes_answers_apart_and_nothing_else():
    model = tiny.decoder("llama")
    base = dict(judge(model).specification)
    assert base["kind"] == "transformers"
    assert base["dtype"] == "float32"
    assert all(isinstance(value, str) for value in base.values())
    same = [{"share_prefixes": False}, {"batch_tokens": 7}, {"row_tokens": 7}]
    assert all(dict(judge(model, **more).specification) == base for more in same)
    other = tiny.tokenizer(template=tiny.CHAT + " ")
    changed = [
        judge(model, other),
        judge(model, max_tokens=99, too_long="truncate-context"),
        TransformersJudge(
            Loaded(model, tiny.tokenizer(), "llama", "there", torch.device("cpu"), "float32")
        ),
    ]
    assert all(dict(one.specification) != base for one in changed)


@pytest.mark.parametrize("option", ["too_long", "system"])
def test_unknown_choices_are_refused(option):
    with pytest.raises(JudgeError, match=f"{option}='perhaps' is none of"):
        judge(tiny.decoder("llama"), **{option: "perhaps"})


def test_a_decoder_starts_with_its_padding_where_the_model_names_no_start():
    model = tiny.t5()
    before = model.config.decoder_start_token_id
    loaded = Loaded(model, tiny.t5_tokenizer(), "t5", "x", torch.device("cpu"), "float32")
    try:
        model.config.decoder_start_token_id = None
        assert chat.writer_for(loaded, system="merge").start == model.config.pad_token_id
    finally:
        model.config.decoder_start_token_id = before
