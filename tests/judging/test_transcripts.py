"""What commands print, held against the files of `transcripts`: the wording is there alone.

    pytest tests/judging/test_transcripts.py --rewrite     # write what is printed now

A file has several cases, each in a folder of its own:

    # what the case shows
    --- votes.csv             a file, as it is up to the next mark
    $ judging fit votes.csv   a command; below it all that it prints
    [1]                       its exit status
    <<< page.html             the words of a page that it wrote, a part of it on each line
    ??? votes.csv             the files that there are at the end

In what is printed, `...` stands for anything: on a line of its own for lines, else for letters.
Files before the first case are in the folder of each. `--judge odd:NAME` is one of ODD below.
"""

import re
import shlex
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_expit, logit

from judging import kinds
from judging.judges.demo import DemoJudge
from judging.practice.cli import main
from judging.question import Answer

FOLDER = Path(__file__).parent / "transcripts"
PARTS = re.compile(r"^(?=# |--- |\$ |<<< |\?\?\? )", re.MULTILINE)
BOX = re.compile(r"Usage: .*\nTry .*\n╭.*\n((?:│.*\n)+)╰.*\n?")


# Judges that surprise: what each makes of the demo judge's answer to the question k.
ODD = {
    "mumbling": lambda k, asked, p: Answer(tuple(np.log(p) + np.log(0.1 + 0.05 * (k % 4)))),
    "one-word": lambda k, asked, p: Answer((np.log(0.4), -np.inf)[:: 1 if p[0] > p[1] else -1]),
    "blind": lambda k, asked, p: said(4.0 + 0.2 * logit(p[0])),
    "counting": lambda k, asked, p: said(np.log(len(asked.first.text) / len(asked.second.text))),
    "mute": lambda k, asked, p: Answer((-np.inf, -np.inf) if asked.first.id == "t1" else np.log(p)),
    "certain": lambda k, asked, p: said(np.inf if asked.first.id < asked.second.id else -np.inf),
    "even": lambda k, asked, p: said(0.0),
    "explaining": lambda k, asked, p: (
        Answer.refusal(asked.prompt, WHY)
        if {*asked.ids[-2:]} == {"t0", "t1"}
        else said(logit(p[0]))
    ),
    "prudish": lambda k, asked, p: Answer.refusal(asked.prompt, "not this"),
}

WHY = "it gives no log-probabilities (20 short answers a question, or 20 calls where it gives one)"


def said(logit):
    return Answer((log_expit(logit), log_expit(-logit)), tokens=5)


class Odd(DemoJudge):
    """The demo judge, whose answers are made into others."""

    def __init__(self, name, **options):
        super().__init__(**options)
        self.made = ODD[name]
        self.specification = {"kind": "odd", "model": name}

    specification = {}  # noqa: RUF012

    def answer(self, questions):
        for k, said in super().answer(questions):
            yield k, self.made(k, questions[k], np.exp(said.log_p))


def cases():
    for path in sorted(FOLDER.glob("*.txt")):
        before, *each = re.split(r"^(?=# )", path.read_text("utf-8"), flags=re.MULTILINE)
        for case in each:
            name = case[2:].splitlines()[0].rstrip(".:")
            yield pytest.param(path, before, case, id=f"{path.stem}: {name}")


def plain(streams):
    """What was printed; of a box around a mistake in the command line its words alone."""
    printed = BOX.sub(lambda box: " ".join(box[1].replace("│", " ").split()) + "\n", streams)
    return re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE).strip("\n")


class Words(HTMLParser):
    """The words of a page, without its style and scripts: a line a part, or a row of a table."""

    INSIDE = frozenset({"a", "abbr", "b", "code", "em", "i", "span", "strong", "td", "th", "text"})

    def __init__(self, page):
        super().__init__()
        self.said, self.unread = "", 0
        self.feed(page)
        lines = (" ".join(line.split()) for line in self.said.split("\n"))
        self.said = "\n".join(filter(None, lines))

    def handle_starttag(self, tag, attrs):
        self.unread += tag in ("style", "script", "title")
        self.said += "" if tag == "code" else " " if tag in self.INSIDE else "\n"

    def handle_endtag(self, tag):
        self.unread -= tag in ("style", "script", "title")
        self.said += " " if tag in ("td", "th", "text") else "" if tag in self.INSIDE else "\n"

    def handle_data(self, data):
        self.said += "" if self.unread else data.replace("\n", " ")


def pattern(printed):
    """What a printed text must match: `...` for lines or letters."""
    lines = re.escape(f"\n{printed}").replace(re.escape("\n...\n"), r"\n(?:.*\n)*")
    return lines.replace(re.escape("..."), ".*")


@pytest.fixture
def replayed(folder, capsys, monkeypatch):
    """A function that does what a text says, and returns the text with what came of it."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def replayed(text):
        if "--judge odd:" in text:
            opened = lambda rest, options: Odd(rest, **options)  # noqa: E731
            row = kinds.Kind(form="odd:NAME", open=opened, engines=("odd",), unit="words")
            monkeypatch.setitem(kinds.KINDS, "odd", row)
        now = []
        for part in PARTS.split(text):
            head, _, below = part.partition("\n")
            mark, _, what = head.partition(" ")
            if mark == "---":
                (folder / what).write_text(below.rstrip("\n") + "\n", "utf-8")
            elif mark == "$":
                monkeypatch.setattr(sys, "argv", shlex.split(what))
                status = main()
                streams = capsys.readouterr()
                found = f"{plain(streams.out + streams.err)}\n[{status}]\n".lstrip("\n")
                same = re.fullmatch(pattern(below.rstrip("\n") + "\n"), f"\n{found}")
                part = part if same else f"{head}\n{found}\n"
            elif mark == "<<<":
                found = Words((folder / what).read_text("utf-8")).said + "\n"
                same = re.fullmatch(pattern(below.rstrip("\n") + "\n"), f"\n{found}")
                part = part if same else f"{head}\n{found}\n"
            elif mark == "???":
                part = f"??? {' '.join(sorted(path.name for path in folder.iterdir()))}\n\n"
            now.append(part)
        return "".join(now)

    return replayed


@pytest.mark.parametrize(("path", "before", "case"), [*cases()])
def test_commands_print_what_the_transcript_says(path, before, case, replayed, request):
    replayed(before)
    now = replayed(case)
    if request.config.getoption("--rewrite"):
        path.write_text(path.read_text("utf-8").replace(case, now), "utf-8")
    assert now.rstrip() == case.rstrip()
