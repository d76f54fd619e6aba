"""What a ranking comes to is data: sentences say it, and nothing reads them back."""

import json
from string import Formatter

import pytest

from judging.practice import findings
from judging.practice.board.gate import Gate
from judging.practice.cli import main
from judging.practice.ranking.readings import Position
from judging.practice.ranking.verdict import Advice
from judging.practice.sentences import TABLE, about, as_data, percent, say
from judging.practice.trust.agreement import Agreement
from poe.debias import Rate

LARGER = (Advice, Agreement, Gate, Position, Rate)
KINDS = {one.__name__: one for one in (*map(vars(findings).get, findings.__all__), *LARGER)}
ASKED = ["--judge", "demo", "--attribute", "plainer", "--quiet", "--json", "--set", "seed=3"]


def rows(pattern):
    return [pattern] if isinstance(pattern, str) else list(pattern.values())


def names(pattern):
    """Fields that a pattern names, those within others too."""
    for _, name, spec, _ in Formatter().parse(pattern):
        if name is not None:
            yield name.split(".")[0].split("[")[0]
            yield from names(spec)


def test_every_kind_has_a_row_of_what_it_knows():
    assert set(TABLE) == set(KINDS)
    for kind, pattern in TABLE.items():
        known = {"thing", "things", "answer", "answers", *dir(KINDS[kind])}
        known |= set(getattr(KINDS[kind], "__dataclass_fields__", ()))
        for row in rows(pattern):
            assert set(names(row)) <= known, (kind, row)


def test_one_is_one_and_several_are_several():
    assert say(findings.Comparisons(1, 1)) == "1 comparison, 1 tie."
    assert say(findings.Comparisons(1200, 0)) == "1,200 comparisons, 0 ties."
    both = findings.Some("named", ("a", 7, "c"), 3, 9)
    assert say(both, "essay") == "a, essay 7 and c"
    assert as_data(both) == {"kind": "Some", "case": "named", "names": ["a", 7, "c"]} | {
        "count": 3,
        "of": 9,
    }


def of_texts(folder):
    table = folder / "t.csv"
    lines = [f"t{k},{'word ' * (k % 5 + 2)}number {k},{k}" for k in range(9)]
    table.write_text("\n".join(["id,text,score", *lines]))
    return ["rank", str(table), *ASKED, "--budget", "8x"]


def of_systems(folder):
    table = folder / "a.csv"
    lines = [f"{s},{p},{'word ' * (n + p % 2)}end" for n, s in enumerate("xyz") for p in range(12)]
    table.write_text("\n".join(["system,prompt,answer", *lines]))
    return ["leaderboard", str(table), *ASKED, "--budget", "60", "--require", "x >= z"]


def of_votes(folder):
    table = folder / "v.csv"
    lines = [f"{a},{b},{a if k % 3 else b}" for k in range(9) for a, b in ("xy", "yz", "zx")]
    table.write_text("\n".join(["first,second,winner", *lines]))
    return ["fit", str(table), "--json"]


@pytest.mark.parametrize("command", [of_texts, of_systems, of_votes])
def test_nothing_hangs_on_what_a_sentence_says(command, tmp_path, monkeypatch, capsys):
    """Every pattern is nonsense: the same findings, the same status."""
    asked = command(tmp_path)
    asked += [] if asked[0] == "fit" else ["--store", str(tmp_path / "s.sqlite")]
    main(asked)  # what is in the store from here on is there both times
    capsys.readouterr()

    def run():
        status = main(asked)
        return status, json.loads(capsys.readouterr().out, object_hook=without_sentences)

    told = run()
    for kind, pattern in TABLE.items():
        nonsense = "x" if isinstance(pattern, str) else dict.fromkeys(pattern, "x")
        monkeypatch.setitem(TABLE, kind, nonsense)
    assert run() == told
    assert "findings" in told[1] or "findings" in told[1]["rankings"][0]


def without_sentences(one):
    return {key: value for key, value in one.items() if key != "notes"}


def test_a_percentage_claims_neither_certainty_nor_impossibility():
    """Rounded to whole percents, what would be 0% or 100% is under 1% or over 99%."""
    said = {share: percent(share) for share in (0.0, 0.005, 0.0051, 0.015, 0.9949, 0.995, 1.0)}
    assert [*said.values()] == ["under 1%", "under 1%", "1%", "2%", "99%", "over 99%", "over 99%"]
    assert [about(share) for share in (0.005, 0.4, 0.995)] == ["under 1%", "about 40%", "over 99%"]
