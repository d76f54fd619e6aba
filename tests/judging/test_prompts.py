"""Prompts as data: word for word where they were printed, complete, and usable by a judge."""

import re

import pytest

from judging import datasets, prompts
from judging.errors import JudgeError
from judging.practice.cli import main

# poe_v2, Table 4, as the paper prints it.
TABLE_4 = {
    "summeval/coherence": r"Article: <context>\n\nSummary A: <A> \n\nSummary B: <B> \n\n"
    "Which Summary is more coherent, Summary A or Summary B?",
    "summeval/consistency": r"Article: <context> \n\nSummary A: <A> \n\nSummary B: <B> \n\n"
    "Which Summary is more consistent to the article, Summary A or Summary B?",
    "topicalchat/continuity": r"Dialogue: <context> \n\nResponse A: <A> \n\nResponse B: <B> \n\n"
    "Which Response continues the dialogue better, Response A or Response B?",
    "topicalchat/naturalness": r"Dialogue: <context> \n\nResponse A: <A> \n\nResponse B: <B> \n\n"
    "Which Response appears more natural, Response A or Response B?",
    "hanna/surprise": r"Story A: \n<A> \n\nStory B: \n<B> \n\n"
    "Which story is more surprising, Story A or Story B?",
    "hanna/complexity": r"Story A: \n<A> \n\nStory B: \n<B> \n\n"
    "Which story is more complex, Story A or Story B?",
    "cmcqrd/difficulty": r"Question A: \n<A> \n\nQuestion B: \n<B> \n\n"
    "Which reading comprehension question is more difficult to answer, "
    "Question A or Question B?",
}
# The words of the authors' code for attributes that Table 4 leaves out.
SIBLINGS = {
    "summeval/fluency": "Which Summary is more fluent, Summary A or Summary B?",
    "summeval/relevance": "Which Summary is more relevant to the information of the article, "
    "Summary A or Summary B?",
    "topicalchat/coherency": "Which Response is more coherent, Response A or Response B?",
    "topicalchat/engagingness": "Which Response is more engaging, Response A or Response B?",
    "hanna/coherence": "Which story is more coherent, Story A or Story B?",
}


def as_template(printed):
    """The paper's notation in ours, without the spaces it sets before line breaks."""
    for theirs, ours in (("<context>", "{context}"), ("<A>", "{first}"), ("<B>", "{second}")):
        printed = printed.replace(theirs, ours)
    return re.sub(r" +\n", "\n", printed.replace("\\n", "\n"))


def everything():
    return [prompts.listing(*name.split("/")) for name in prompts.names()]


def test_the_papers_words_are_word_for_word_and_nothing_else_is_called_theirs():
    for name, text in TABLE_4.items():
        found = prompts.load(*name.split("/"))
        assert found.template == as_template(text)
        assert found.labels == ("A", "B")
    given = {status: {} for status in prompts.STATUS}
    for found in everything():
        given[found.status][found.prompt.name] = found.prompt.template
    assert given["printed"].keys() == TABLE_4.keys()
    siblings = {name: text for name, text in given["sibling"].items() if name.count("/") == 1}
    assert {name: text.split("\n\n")[-1] for name, text in siblings.items()} == SIBLINGS


def test_every_prompt_is_well_formed_and_says_where_it_comes_from():
    digests = {found.prompt.digest for found in everything()}
    assert len(digests) == len(prompts.names())
    for found in everything():
        prompt = found.prompt
        assert found.source
        assert "<" not in prompt.template
        assert prompt.template == prompt.template.strip()
        shared = "{context}" in prompt.template
        assert shared == datasets.info(found.dataset).shared_context, prompt.name
        if prompt.comparative:
            ours = {"numbers": ("1", "2"), "words": ("first", "second")}
            first, second = ours.get(found.template, ("A", "B"))
            assert prompt.labels == (first, second)
            assert first.lower() in prompt.template.split("{first}")[0].lower()
            assert prompt.template.endswith(f"{second}?")
        else:
            assert [int(label) for label in prompt.labels] in ([*range(1, 11)], [*range(1, 6)])
        if found.template == "g-eval":  # scores of one to five are our own words
            assert (found.status, len(prompt.labels), prompt.prefix) == ("own", 5, "Score:")


def test_every_attribute_of_every_dataset_has_a_comparison_and_a_score():
    for name in datasets.names():
        known = tuple(a.name for a in datasets.info(name).attributes)
        papers = name in ("summeval", "topicalchat", "hanna", "cmcqrd", "ladder")
        assert all(("poe" in prompts.templates(name, a)) == papers for a in known)
        assert sorted(prompts.attributes(name)) == sorted(known)
        for attribute in known:
            kinds = {
                prompts.load(name, attribute, t).comparative
                for t in prompts.templates(name, attribute)
            }
            assert kinds == {True, False}, (name, attribute)


def test_both_comparisons_of_the_other_paper():
    one, two = (prompts.load("summeval", "consistency", f"comparative-{k}") for k in (1, 2))
    assert one.template.endswith("Which Summary is more consistent, Summary A or Summary B?")
    assert "more consistent relative to the passage" in two.template


def test_the_ending_for_decoder_only_models():
    for template, ending in (("comparative-1", "\n\nAnswer:"), ("scoring-2", "\n\nScore:")):
        plain = prompts.load("summeval", "fluency", template)
        ended = prompts.load("summeval", "fluency", template, decoder_only=True)
        assert ended.template == plain.template + ending
        assert ended.labels == plain.labels
        assert ended.digest != plain.digest
    plain = prompts.load("summeval", "fluency")  # Table 4's template has no such ending
    assert prompts.load("summeval", "fluency", decoder_only=True) == plain


def test_a_prompt_that_is_not_there():
    for arguments, message in (
        (("sumeval", "coherence"), "did you mean 'summeval'"),
        (("summeval", "coherent"), "did you mean 'coherence'"),
        (("webnlg", "fluency", "poe"), "'comparative-1'"),
    ):
        with pytest.raises(JudgeError, match=message):
            prompts.load(*arguments)
    assert prompts.load("webnlg", "fluency").name == "webnlg/fluency/comparative-1"


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


def test_how_the_question_reads():
    made = prompts.for_attribute("more persuasive?", thing="essay")
    assert made.template == (
        "Essay A: {first}\n\nEssay B: {second}\n\n"
        "Which essay is more persuasive, Essay A or Essay B?"
    )
    assert (made.labels, made.name) == (("A", "B"), "own/more persuasive")
    for words, said in {
        "better argued": "Which text is better argued,",
        "less  formal": "Which text is less formal,",
        "is kinder": "Which text is kinder,",
        "has more facts": "Which text has more facts,",
    }.items():
        assert said in prompts.for_attribute(words).template
    assert "is more honest," in prompts.for_attribute("more honest").template
    for words in ("persuasive", "?", "more {first}", "funniest", "more funniest", "more funnier"):
        with pytest.raises(JudgeError, match="attribute"):
            prompts.for_attribute(words)


@pytest.mark.usefixtures("placeholder_texts")
def test_the_command_lists_every_prompt_and_fills_one(capsys, monkeypatch):
    monkeypatch.setattr("judging.datasets.questions.SHOWN", 20)
    assert main(["prompts"]) == 0
    said = capsys.readouterr().out
    assert all(part in said for name in prompts.names() for part in name.split("/"))
    assert main(["prompts", "summeval", "coherence", "--show", "2"]) == 0
    said = capsys.readouterr().out
    assert "printed in the paper" in said
    assert said.count("Summary A: Placeholder") == said.count("Summary B: Placeholder") == 2
    assert "more characters]" in said
    assert main(["prompts", "topicalchat", "naturalness", "--template", "g-eval"]) == 0
    assert "written for this project" in capsys.readouterr().out
