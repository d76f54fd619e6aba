"""Qwen2.5-Coder-1.5B, which can judge: what is said of it, and that it still says the same."""

import re

import numpy as np
import pytest

from judging import datasets, judges, kinds
from judging.question import Question
from reproduction import ask_model, run


def test_what_a_report_says_of_it_is_what_was_measured():
    """The two numbers of the caution, against means over the attributes of TopicalChat."""
    table = run.read("measured-qwen-wording")
    mean = table[(table["dataset"] == "topicalchat") & (table["attribute"] == "mean")]
    value = mean[mean["template"] == "poe"].set_index("quantity")["value"]
    caution = " ".join(kinds.QWEN.split())
    (share,) = re.findall(r"(\d+)% of its single decisions", caution)
    (rank,) = re.findall(r"correlate with people's at (0\.\d\d)", caution)
    assert float(share) == round(value["accuracy"])
    assert float(rank) == round(value["avg-prob"] / 100.0, 2)
    cautioned = {"kind": "llama.cpp", "model": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"}
    assert kinds.cautions(cautioned) == [kinds.QWEN]


@pytest.mark.needs("qwen", "texts")
def test_it_answers_as_it_did():
    """Six of the answers in data/measured again; what its cache holds moves p by up to 0.03."""
    table = ask_model.kept("topicalchat-poe", ask_model.QWEN)
    data, reader = datasets.load("topicalchat"), judges.open("qwen")
    assert ask_model.about(ask_model.QWEN)["specification"] == dict(reader.specification)
    every = ask_model.Run("topicalchat", "poe", ("coherency",)).of_context(data, 7)
    chosen: list[Question] = every[::5]
    stored = table[(table["context"] == 7) & (table["attribute"] == "coherency")]
    log_p = stored.set_index(["first", "second"])[["log_p_1", "log_p_2"]]
    place = {name: k for k, name in enumerate(data.candidate_ids)}
    for k, answer in reader.answer(chosen):
        second = chosen[k].second
        assert second is not None
        then = np.exp(log_p.loc[place[chosen[k].first.id], place[second.id]].to_numpy())
        assert answer.p == pytest.approx(then[0] / then.sum(), abs=0.05)
