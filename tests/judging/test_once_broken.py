"""What a review found broken, in the words of a user who would meet it again."""

import ast
import re
from pathlib import Path

import pytest

import judging
from judging.practice.cli import main
from poe.experts import NAMES

ROOT = Path(judging.__file__).parents[1]
VOTES = "first,second,p\na,b,0.9\nb,c,0.8\nc,a,0.4\na,c,0.7\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text(VOTES)
    texts = "".join(f'{{"id": "t{k}", "text": "{"Easy. " * (k + 1)}"}}\n' for k in range(4))
    Path("texts.jsonl").write_text(texts)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_every_expert_of_the_package_is_one_of_the_command(name, folder, capsys):
    """Huber and thurstone were refused: the command had a list of its own."""
    assert main(["fit", "votes.csv", "--set", f"expert={name}"]) == 0
    assert "  a  " in capsys.readouterr().out
    assert main(["fit", "--help"]) == 0
    assert name in capsys.readouterr().out
    assert main(["fit", "votes.csv", "--set", "expert=nobody"]) == 2


def test_no_program_flow_reads_a_sentence():
    """Errors and stops are told apart by classes and fields: a translator breaks nothing."""

    def reads(tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                over = node.comparators[0]
                if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "str":
                    yield ast.unparse(node)
                if isinstance(over, ast.Attribute) and over.attr in ("message", "stopped_because"):
                    yield ast.unparse(node)
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in READERS:
                whom = ast.unparse(node.func.value)
                if re.search(r"str\((error|stop)|message|because|words\.|say\(", whom):
                    yield ast.unparse(node)

    found = {
        (path.name, one)
        for package in ("poe", "judging", "reproduction", "studies")
        for path in (ROOT / package).rglob("*.py")
        for one in reads(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()
    control = "if 'who was compared' not in str(error): pass\nstr(error).startswith('so')\n"
    assert len(list(reads(ast.parse(control)))) == 2


READERS = ("startswith", "endswith", "removeprefix", "split")
