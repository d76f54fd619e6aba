"""Which panel each figure's target shows, against the captions as they are printed."""

import json
import re

import pytest

from poe.cli import main
from reproduction import comparative_curves, curves, figures, making, sweep
from reproduction.making import Request
from reproduction.targets import TARGETS
from reproduction.targets.names import CAPTIONED, CHOSEN

# The captions of poe_v2 (its Llama-7B and Llama-13B are Llama-2's), and of comparative_assessment.
CAPTIONS = {
    "figure1a": "Llama2-13B, SummEval REL",
    "figure1b": "FlanT5-11B, TopicalChat ENG",
    "figure1c": "FlanT5-3B, SummEval COH",
    "figure2": "Mistral-7B, HANNA COH",
    "figure3": "Llama2-13B, CMCQRD DIF",
    "figure4": "Mistral-7B, HANNA COH",
    "figure5a": "FlanT5-3B, SummEval CON",
    "figure5b": "Mistral-7B, SummEval COH",
    "figure5c": "Llama2-13B, SummEval FLU",
    "figure5d": "FlanT5-11B, TopicalChat COH",
    "figure5e": "Llama2-7B, TopicalChat CNT",
    "figure5f": "Llama2-13B, TopicalChat NAT",
    "figure6a": "Llama2-7B, HANNA SUR",
    "figure6b": "Llama2-7B, CMCQRD DIF",
    "figure6c": "Llama2-13B, HANNA COH",
    "figure6d": "Llama2-13B, HANNA SUR",
    "figure6e": "Mistral-7B, HANNA COH",
    "figure6f": "Mistral-7B, HANNA CMP",
    "figure7a": "Llama2-7B, HANNA COH",
    "figure7b": "Mistral-7B, HANNA COH",
    "figure8a": "Llama2-7B, HANNA COH",
    "figure8b": "Mistral-7B, CMCQRD DIF",
    "figure8c": "Llama2-13B, HANNA CMP",
    "comparative-figure4": "FlanT5-3B, SummEval COH",
}
SHORT = {
    "coherence": "COH",
    "coherency": "COH",
    "consistency": "CON",
    "fluency": "FLU",
    "relevance": "REL",
    "continuity": "CNT",
    "engagingness": "ENG",
    "naturalness": "NAT",
    "complexity": "CMP",
    "surprise": "SUR",
    "difficulty": "DIF",
}
PANELS = {
    **figures.SMALL,
    "figure1c": figures.SELECTED,
    **figures.LARGE,
    **figures.BOTH_DESIGNS,
    **figures.DEBIASED,
    **{f"comparative-{name}": of for name, of in comparative_curves.PANELS.items()},
}


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_captioned_panel_is_that_of_its_caption(name):
    judge, dataset, attribute = PANELS[name]
    printed_judge, place = CAPTIONS[name].split(", ")
    printed_dataset, printed_attribute = place.split()
    assert (judge, dataset) == (printed_judge, printed_dataset.lower())
    assert SHORT[attribute] == printed_attribute
    assert f"{judge}, {dataset} {attribute} ({CAPTIONED})" in TARGETS[name].what


def test_figures_9_and_10_analyse_the_captioned_judges():
    assert figures.ANALYSED == {
        "a": ("FlanT5-3B", "summeval", "coherence"),
        "b": ("Llama2-13B", "topicalchat", "continuity"),
    }
    for name in ("figure9", "figure10"):
        assert TARGETS[name].what.count(CAPTIONED) == 2


def test_every_panel_says_whether_it_is_the_papers_or_ours():
    found = [
        name
        for name in TARGETS
        if re.fullmatch(r"(v1-|comparative-)?figure\d+[a-z]?", name)
        and CHOSEN in TARGETS[name].what
    ]
    assert found == ["v1-figure3a", "v1-figure3b"] + [f"comparative-figure5{x}" for x in "abcd"]
    assert set(PANELS) - set(CAPTIONS) == {f"comparative-figure5{x}" for x in "abcd"}
    assert "captioned as symmetric against non-symmetric" in TARGETS["figure7b"].what


def test_the_mark_is_kept_beside_the_result(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "BLOCK", 2)
    monkeypatch.setitem(curves.CALLS, "topicalchat", (18,))
    request = Request(draws=2, labels="stand-in", out=tmp_path)
    for name, mark in (("figure5d", CAPTIONED), ("v1-figure3b", CHOSEN)):
        path = making.make(TARGETS[name], request).path
        assert mark in json.loads(path.with_suffix(".json").read_text())["what"]


def test_other_names_of_the_same_run_are_listed(capsys):
    assert main(["reproduce", "list"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"v1-figure4 +the same as figure1c", out)
