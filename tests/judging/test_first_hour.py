"""The first hour: help, names, how long a run will take, and what a small limit leaves."""

import io
import shlex
from types import SimpleNamespace

import numpy as np
import pytest
import typer

import judging
from judging.datasets.files import CACHE_VARIABLE
from judging.datasets.models import MODELS
from judging.judges.demo import DemoJudge
from judging.practice import meter as meters
from judging.practice.asking.links import links_first
from judging.practice.cli import _attach, app, main, parse
from judging.practice.cli.examples import EXAMPLES
from poe.comparisons import Comparisons

WORDS = "a fox ran over some hills because notwithstanding circumlocutory multisyllabic prose"


class TestLinksFirst:
    @pytest.mark.parametrize("seed", range(5))
    def test_n_minus_1_pairs_link_everything_and_come_from_those_asked(self, seed):
        rng, n = np.random.default_rng(seed), 12
        pairs = np.vstack([rng.permutation(n)[:2] for _ in range(90)])
        parts = links_first(n, pairs[:0], pairs)
        assert [len(part) for part in parts] == [2, n - 3]
        links = pairs[np.concatenate(parts)]
        c = Comparisons.from_pairs(links, np.full(n - 1, 0.5), items=range(n))
        assert len(c.components()) == 1

    def test_the_earliest_are_taken_and_both_orders_count_once(self):
        pairs = np.array([(0, 1), (1, 0), (1, 2), (2, 0), (2, 3)])
        assert [part.tolist() for part in links_first(4, pairs[:0], pairs)] == [[0, 2], [4]]

    def test_what_is_known_is_not_linked_again(self):
        known, pairs = np.array([(0, 1), (2, 3)]), np.array([(1, 0), (3, 0), (3, 1)])
        assert [part.tolist() for part in links_first(4, known, pairs)] == [[1]]


class Scattered(DemoJudge):
    """A judge that takes its questions from the last to the first, as a sorted one may."""

    def answer(self, questions):
        for position, answer in super().answer(questions[::-1]):
            yield len(questions) - 1 - position, answer


class TestLimits:
    @pytest.mark.parametrize("n", [5, 12, 40])
    @pytest.mark.parametrize("orders", ["auto", "one", "both"])
    def test_as_many_calls_as_link_all_texts_give_a_ranking(self, n, orders):
        texts = {f"t{k}": " ".join(WORDS.split()[: 2 + k % 8]) + f" {k}." for k in range(n)}

        def rank(calls):
            asking = judging.Asking(orders=orders, limit_calls=calls)
            return judging.rank(texts, Scattered(), attribute="plainer", asking=asking)

        found = rank(n - 1)
        assert found.partial
        assert len(found.fit.items) == n
        with pytest.raises(judging.JudgeError, match=f"which takes {n - 1} or more"):
            rank(n - 2)


class TestFirstLine:
    @pytest.mark.parametrize(
        ("waits", "at_once", "time"),
        # A load of 9 s and then 1 s a call, 98 s in all; 14 side by side, so that 7 rounds take
        # 11 s each, and the second answer came right after the first; two together after 2 s.
        [((10, 1), 1, "2 min"), ((10, 1), 14, "77 s"), ((2, 0), 1, "2 min")],
    )
    def test_time_is_that_of_the_second_answer_or_of_both(self, waits, at_once, time, monkeypatch):
        now = [0.0]
        monkeypatch.setattr(meters, "perf_counter", lambda: now[0])
        monkeypatch.setattr("sys.stderr", said := io.StringIO())
        meter = meters.Meter(98, shown=True)
        judge = SimpleNamespace(written=1, options=SimpleNamespace(concurrency=at_once))
        meter.judge = judge
        for wait in waits:
            now[0] += wait
            meter(done=1, total=98, answers=[SimpleNamespace(read=1)])
        meter.bar.close()
        assert "at most 98 calls" in said.getvalue()
        assert f"about {time} " in said.getvalue()

    def test_the_bar_counts_what_is_left(self):
        meter = meters.Meter(96, shown=False)
        meter.skip_stored(26)
        assert meter.bar.total == 70
        meter.passed(70)
        assert meter.done == meter.bar.total


def commands(group, path=()):
    """Every command below a group, with the words that call it."""
    for name, one in group.commands.items():
        here = (*path, name)
        yield from commands(one, here) if hasattr(one, "commands") else [(here, one)]


def app_help(name):
    return dict(commands(typer.main.get_command(app)))[(name,)].help


class TestHelp:
    def test_every_command_has_examples_at_its_head_that_can_be_typed(self, capsys):
        _attach([])
        every = list(commands(typer.main.get_command(app)))
        assert len(every) == len(EXAMPLES)
        for path, command in every:
            first, examples, *_ = command.help.split("\n\n")
            lines = examples.splitlines()
            assert 1 <= len(lines) <= 3
            assert f"judging {' '.join(path)}" in examples, first
            for line in lines:
                assert len(line) <= 78
                words = shlex.split(line)
                assert words[0] == "judging"
                assert parse(words[1:]) == "", line
            assert main([*path, "--help"]) == 0
            assert lines[0] in capsys.readouterr().out
        assert parse(["rank", "essays.csv", "--atribute", "clearer"]), "control: a typo is told"

    @pytest.mark.parametrize("command", ["rank", "leaderboard", "ask", "fit"])
    def test_no_line_of_the_text_is_broken_but_by_the_width(self, command, capsys, monkeypatch):
        monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 2000)
        for flag in ("-h", "--help"):
            assert main([command, flag]) == 0
            said = capsys.readouterr().out.split("╭")[0]
            paragraphs = app_help(command).split("\n\n")
            for one in (paragraphs[0], *paragraphs[2:]):  # the examples have lines of their own
                assert "\n" not in one
                assert one in said, f"control: {said}"


class TestNames:
    @pytest.mark.parametrize("here", [True, False])
    def test_who_names_no_judge_is_told_which_are_ready(self, here, tmp_path, monkeypatch, capsys):
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
        monkeypatch.setattr("judging.kinds.find_spec", lambda name: object())
        if here:
            (tmp_path / MODELS["smollm2"].file).touch()
        assert main(["rank", "no.csv", "--attribute", "clearer"]) == 2
        said = " ".join(capsys.readouterr().err.replace("│", " ").split())
        assert f"Ready here: {'smollm2, ' if here else ''}demo" in said
        assert "qwen after `judging data fetch qwen` (1,117 MB)" in said
