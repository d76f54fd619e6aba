"""Prompts as data: word for word where they were printed, complete, and usable by a judge."""

import re

import pytest

from poe import datasets
from poe.cli import main
from poe.errors import JudgeError
from poe.judges import Question, Text, prompts

# poe_v2, Table 4, as the paper prints it: dataset, attribute, prompt.
TABLE_4 = [
    (
        "summeval",
        "coherence",
        r"Article: <context>\n\nSummary A: <A> \n\nSummary B: <B> \n\n"
        "Which Summary is more coherent, Summary A or Summary B?",
    ),
    (
        "summeval",
        "consistency",
        r"Article: <context> \n\nSummary A: <A> \n\nSummary B: <B> \n\n"
        "Which Summary is more consistent to the article, Summary A or Summary B?",
    ),
    (
        "topicalchat",
        "continuity",
        r"Dialogue: <context> \n\nResponse A: <A> \n\nResponse B: <B> \n\n"
        "Which Response continues the dialogue better, Response A or Response B?",
    ),
    (
        "topicalchat",
        "naturalness",
        r"Dialogue: <context> \n\nResponse A: <A> \n\nResponse B: <B> \n\n"
        "Which Response appears more natural, Response A or Response B?",
    ),
    (
        "hanna",
        "surprise",
        r"Story A: \n<A> \n\nStory B: \n<B> \n\n"
        "Which story is more surprising, Story A or Story B?",
    ),
    (
        "hanna",
        "complexity",
        r"Story A: \n<A> \n\nStory B: \n<B> \n\n"
        "Which story is more complex, Story A or Story B?",
    ),
    (
        "cmcqrd",
        "difficulty",
        r"Question A: \n<A> \n\nQuestion B: \n<B> \n\n"
        "Which reading comprehension question is more difficult to answer, "
        "Question A or Question B?",
    ),
]


def as_template(printed):
    """The paper's notation in ours, without the spaces it sets before line breaks."""
    for theirs, ours in (("<context>", "{context}"), ("<A>", "{first}"), ("<B>", "{second}")):
        printed = printed.replace(theirs, ours)
    return re.sub(r" +\n", "\n", printed.replace("\\n", "\n"))


def everything():
    return [prompts.listing(*name.split("/")) for name in prompts.names()]


@pytest.mark.parametrize(("dataset", "attribute", "printed"), TABLE_4)
def test_printed_prompts_are_word_for_word(dataset, attribute, printed):
    found = prompts.listing(dataset, attribute)
    assert found.status == "printed"
    assert found.prompt.template == as_template(printed)
    assert found.prompt.labels == ("A", "B")


def test_nothing_else_is_called_printed():
    printed = {(p.dataset, p.attribute, p.template) for p in everything() if p.status == "printed"}
    assert printed == {(dataset, attribute, "poe") for dataset, attribute, _ in TABLE_4}


def test_every_prompt_is_well_formed_and_says_where_it_comes_from():
    for found in everything():
        prompt = found.prompt
        assert found.status in prompts.STATUS
        assert found.source
        assert "<" not in prompt.template
        assert prompt.name == found.name
        assert prompt.template == prompt.template.strip()
        shared = "{context}" in prompt.template
        assert shared == datasets.info(found.dataset).shared_context, found.name
        if prompt.comparative:
            assert prompt.labels == ("A", "B")
            assert re.search(rf"{prompt.prefix} A:\s", prompt.template)
            assert prompt.template.endswith("B?")
        else:
            assert [int(label) for label in prompt.labels] in ([*range(1, 11)], [*range(1, 6)])


def test_every_attribute_of_every_dataset_has_a_comparison_and_a_score():
    for name in datasets.names():
        known = tuple(a.name for a in datasets.info(name).attributes)
        assert sorted(prompts.attributes(name)) == sorted(known)
        for attribute in known:
            kinds = {
                prompts.load(name, attribute, t).comparative
                for t in prompts.templates(name, attribute)
            }
            assert kinds == {True, False}, (name, attribute)


def test_the_papers_four_datasets_have_table_4s_template():
    for name in ("summeval", "topicalchat", "hanna", "cmcqrd"):
        for attribute in prompts.attributes(name):
            assert "poe" in prompts.templates(name, attribute)
    assert "poe" not in prompts.templates("webnlg", "fluency")


def test_digests_tell_all_prompts_apart():
    digests = [found.prompt.digest for found in everything()]
    assert len(set(digests)) == len(digests)


# The words of the authors' code for attributes that Table 4 leaves out.
SIBLINGS = {
    ("summeval", "fluency"): "Which Summary is more fluent, Summary A or Summary B?",
    (
        "summeval",
        "relevance",
    ): "Which Summary is more relevant to the information of the article, Summary A or Summary B?",
    ("topicalchat", "coherency"): "Which Response is more coherent, Response A or Response B?",
    ("topicalchat", "engagingness"): "Which Response is more engaging, Response A or Response B?",
    ("hanna", "coherence"): "Which story is more coherent, Story A or Story B?",
}


def test_the_siblings_of_table_4():
    there = {
        (p.dataset, p.attribute): p.prompt.template.split("\n\n")[-1]
        for p in everything()
        if p.template == "poe" and p.status == "sibling"
    }
    assert there == SIBLINGS


def test_siblings_differ_in_the_question_alone():
    coherence, fluency = (prompts.load("summeval", a).template for a in ("coherence", "fluency"))
    assert fluency == coherence.replace("more coherent", "more fluent")


def test_both_comparisons_of_the_other_paper():
    one = prompts.load("summeval", "consistency", "comparative-1")
    two = prompts.load("summeval", "consistency", "comparative-2")
    assert one.template.startswith("{context}\n\nSummary A: {first}")
    assert one.template.endswith("Which Summary is more consistent, Summary A or Summary B?")
    assert two.template.startswith("Passage:\n{context}")
    assert "more consistent relative to the passage" in two.template
    response = prompts.load("topicalchat", "engagingness", "comparative-2").template
    assert "summary" not in response.lower()
    assert "passage" not in response.lower()


@pytest.mark.parametrize(
    ("template", "ending"), [("comparative-1", "\n\nAnswer:"), ("scoring-2", "\n\nScore:")]
)
def test_the_ending_for_decoder_only_models(template, ending):
    plain = prompts.load("summeval", "fluency", template)
    ended = prompts.load("summeval", "fluency", template, decoder_only=True)
    assert ended.template == plain.template + ending
    assert ended.labels == plain.labels
    assert ended.digest != plain.digest
    # Table 4's template has no such ending.
    assert prompts.load("summeval", "fluency", decoder_only=True) == prompts.load(
        "summeval", "fluency"
    )


def test_scores_of_one_to_five_are_our_own_words():
    for found in everything():
        if found.template == "g-eval":
            assert found.status == "own"
            assert found.prompt.labels == ("1", "2", "3", "4", "5")
            assert found.prompt.prefix == "Score:"


def test_a_prompt_makes_a_question():
    prompt = prompts.load("summeval", "coherence")
    question = Question(
        prompt, Text("one", "First."), Text("two", "Second."), context=Text("c", "Article's text.")
    )
    assert question.text == (
        "Article: Article's text.\n\nSummary A: First.\n\nSummary B: Second.\n\n"
        "Which Summary is more coherent, Summary A or Summary B?"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sumeval", "coherence"), "did you mean 'summeval'"),
        (("summeval", "coherent"), "did you mean 'coherence'.*'fluency'.*for_attribute"),
        (("summeval", "coherence", "poems"), "did you mean 'poe'"),
        (("webnlg", "fluency", "poe"), "no template for webnlg/fluency 'poe'.*'comparative-1'"),
        (("webnlg", "semantics", "comparative-1"), "there are 'semantics-1'"),
    ],
)
def test_a_prompt_that_is_not_there(arguments, message):
    with pytest.raises(JudgeError, match=message):
        prompts.load(*arguments)
    with pytest.raises(JudgeError, match="no dataset with prompts 'x'"):
        prompts.names("x")


# A user's own attribute.


def test_an_attribute_of_ones_own_reproduces_table_4():
    for dataset, attribute, own in (
        ("summeval", "coherence", ("more coherent", "Summary", "Article")),
        ("summeval", "consistency", ("more consistent to the article", "Summary", "Article")),
        ("topicalchat", "continuity", ("continues the dialogue better", "Response", "Dialogue")),
        ("topicalchat", "naturalness", ("appears more natural", "Response", "Dialogue")),
    ):
        words, thing, context = own
        made = prompts.for_attribute(words, thing=thing, context=context)
        assert made.template == prompts.load(dataset, attribute).template
        assert made.prefix == prompts.load(dataset, attribute).prefix


def test_an_attribute_of_ones_own_without_a_context():
    made = prompts.for_attribute("more persuasive?", thing="essay")
    assert made.template == (
        "Essay A: {first}\n\nEssay B: {second}\n\n"
        "Which essay is more persuasive, Essay A or Essay B?"
    )
    assert made.labels == ("A", "B")
    assert made.name == "own/more persuasive"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("clearer", "Which text is clearer,"),
        ("better argued", "Which text is better argued,"),
        ("less  formal", "Which text is less formal,"),
        ("is kinder", "Which text is kinder,"),
        ("has more facts", "Which text has more facts,"),
    ],
)
def test_how_the_question_reads(words, said):
    assert said in prompts.for_attribute(words).template


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attribute": "persuasive"}, "does not compare.*'more persuasive'"),
        ({"attribute": "  "}, "attribute of a prompt is empty"),
        ({"attribute": "?"}, "is empty"),
        ({"attribute": "more {first}"}, "has braces"),
        ({"attribute": "clearer", "thing": ""}, "thing of a prompt is empty"),
        ({"attribute": "clearer", "thing": "a}b"}, "has braces"),
        ({"attribute": "clearer", "context": " "}, "context of a prompt is empty"),
    ],
)
def test_an_attribute_that_cannot_be_asked_for(options, message):
    with pytest.raises(JudgeError, match=message):
        prompts.for_attribute(**options)


# The preview.


@pytest.fixture
def nothing_at_hand(monkeypatch, tmp_path):
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("POE_DATA_DIR", raising=False)


def shown(capsys, *arguments):
    assert main(["prompts", *arguments]) == 0
    return capsys.readouterr().out


def test_the_list_names_every_prompt(capsys):
    out = shown(capsys)
    for name in prompts.names():
        for part in name.split("/"):
            assert part in out
    only = shown(capsys, "hanna")
    assert "surprise" in only
    assert "summeval" not in only


def test_the_preview_says_that_the_texts_are_stand_ins(nothing_at_hand, capsys):
    out = shown(capsys, "summeval", "coherence", "--show", "3")
    assert out.count("Which Summary is more coherent, Summary A or Summary B?") == 3
    assert "stand-in" in out
    assert "printed in the paper" in out
    assert "context 0 of summeval" in out
    assert "context 2 of summeval" in out
    assert "context 3 of summeval" not in out


def test_the_preview_of_a_dataset_without_contexts(nothing_at_hand, capsys):
    out = shown(capsys, "hanna", "surprise", "--show", "2")
    assert out.count("Which story is more surprising") == 2
    assert "candidate 0 " in out
    assert "candidate 3 " in out


def test_the_preview_of_a_scoring_prompt(nothing_at_hand, capsys):
    out = shown(capsys, "topicalchat", "naturalness", "--template", "g-eval", "--show", "1")
    assert "1, 2, 3, 4, 5" in out
    assert "written for this project" in out


def test_long_texts_are_cut_unless_asked_for(nothing_at_hand, capsys):
    short = shown(capsys, "summeval", "coherence", "--show", "1", "--cut", "20")
    assert "more characters]" in short
    whole = shown(capsys, "summeval", "coherence", "--show", "1", "--cut", "0")
    assert "more characters]" not in whole
    assert len(whole) > len(short)


def test_mistakes_at_the_command_line(nothing_at_hand, capsys):
    assert main(["prompts", "sumeval"]) == 1
    assert "did you mean 'summeval'" in capsys.readouterr().err
    assert main(["prompts", "webnlg", "fluency"]) == 0
    assert "comparative-1" in capsys.readouterr().out
    assert main(["prompts", "summeval", "coherence", "--template", "x"]) == 1
    assert "poe: no template" in capsys.readouterr().err
