"""The judge's benchmark counts right and runs; how fast anything is it says, the tests do not."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("transformers")
from benchmarks import judge
from benchmarks.judge import SHAPES, Lengths, Work, build, questions, tokenizer, work
from poe.judges.transformers import tree
from poe.judges.transformers.model import ChatWriter

pytestmark = pytest.mark.xdist_group("transformers")


def test_weights_are_counted_as_by_hand():
    # Llama-2-7B: four square matrices of attention, three of the feed-forward layer
    seven = work(build(SHAPES["Llama-2-7B"], device="meta", dtype="bfloat16"))
    assert seven.a_token == 32 * (4 * 4096**2 + 3 * 4096 * 11008)
    assert seven.an_answer == 4096 * 32000
    assert seven.a_pair == 2 * 32 * 4096
    # Mistral-7B: keys and values of 8 heads of 128
    mistral = work(build(SHAPES["Mistral-7B"], device="meta", dtype="bfloat16"))
    assert mistral.a_token == 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    # FlanT5-XL: the encoder, and the decoder's keys and values of what it read
    t5 = work(build(SHAPES["FlanT5-XL"], device="meta", dtype="bfloat16"))
    square, inner = 2048**2, 3 * 2048 * 5120
    assert t5.a_token == 24 * (4 * square + inner) + 24 * 2 * square
    assert t5.a_start == 24 * (4 * square + 2 * square + inner)


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=9),
)
def test_pairs_are_those_of_every_beginning(sequences):
    beginnings = {tuple(s[: k + 1]) for s in sequences for k in range(len(s))}
    assert tree.pairs(tree.build(sequences)) == sum(map(len, beginnings))


def test_operations_are_two_a_multiplication():
    assert Work(3, 5, 7, 11).flops(tokens=10, pairs=100, starts=2, answers=1) == 2 * (
        30 + 1100 + 10 + 7
    )


def test_prompts_have_the_lengths_they_should():
    lengths = Lengths(article=20, summary=5, question=4, summaries=3, questions=2)
    asked = questions(lengths, contexts=2)
    assert len(asked) == 2 * 3 * 2 * 2
    reader = ChatWriter(tokenizer())
    for question in asked:
        written = reader.write(question.prompt, question.text)
        assert len(reader.encode([written])[0]) == 20 + 5 + 5 + 4
        assert 3 not in reader.encode([written])[0]  # no unknown words
    assert len(questions(lengths, contexts=2, most=7)) == 7


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judge")
    given = ["--device", "cpu", "--repeats", "1", "--matmul", "64", "--output", str(folder)]
    assert judge.main([*given, "--lengths", "30", "6", "4", "4", "2"]) == 0
    return json.loads((folder / "judge-cpu.json").read_text())


def test_every_way_of_asking_is_measured(result):
    ways = {(row["shape"], row["way"]) for row in result["rows"]}
    assert ways == {
        ("small decoder", "one at a time"),
        ("small decoder", "batched"),
        ("small decoder", "prefix-shared"),
        ("small encoder-decoder", "one at a time"),
        ("small encoder-decoder", "batched"),
    }
    for row in result["rows"]:
        assert row["calls_per_second"] > 0
        assert row["tflops"] > 0
        shared = row["way"] == "prefix-shared"
        assert (row["computed"] < row["tokens"]) == shared
    assert result["load_average"]["before"] is not None
    assert not re.search(r"(^|[\s\"'(])/(home|root|tmp|usr|work|var)/", json.dumps(result))
