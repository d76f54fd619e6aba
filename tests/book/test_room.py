"""What a room says: a code holds everybody's answers, and errors know who said what."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from tests.scratch_book import ROOT

pytestmark = pytest.mark.needs("node")
LIVE = ROOT / "book" / "_static" / "live"
NAMES = ["Alien", "Amélie", "Heat", "Jaws", "Tootsie", "Ran", "M", "Ida"]
RUN = """
const fs = require("fs");
globalThis.window = globalThis;
const [files, body] = process.argv.slice(1);
for (const file of JSON.parse(files)) (0, eval)(fs.readFileSync(file, "utf8"));
console.log(JSON.stringify(new Function(body)()));
"""


def run(body: str, **given: Any) -> Any:
    """What some lines of JavaScript return, beside the page's mathematics."""
    files = [str(LIVE / f"1-{name}.js") for name in ("mathematics", "rails", "room")]
    known = "".join(f"const {name} = {json.dumps(value)};" for name, value in given.items())
    body = f"const {{rails, room}} = poeLive; {known} {body}"
    command = [str(shutil.which("node")), "-e", RUN, json.dumps(files), body]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# Everybody's answers: as the page asks them, by a taste of their own.
ASK = """
const people = [...Array(8)].map((_, who) => {
  const seed = 77 + 1000003 * who, answers = [];
  for (let k = 0; k < 12; k++) {
    const pair = rails.nextPair(names.length, answers, seed);
    const taste = (pair.first * (who + 3) + pair.second + k) % 5;
    answers.push({...pair, p: [0.8, 0.6, 0.5, 0.4, 0.2][taste]});
  }
  return {seed, answers};
});
"""


def test_codes_of_a_chat_are_everybodys_tables() -> None:
    body = (
        ASK
        + """
const codes = people.map(({seed, answers}) => room.code(names, answers, seed));
const who = (seed) => `p${seed.toString(36)}`;
const tables = people.map(({seed, answers}) => rails.toCsv(names, answers, who(seed)));
const said = codes.map((code, k) => `10:3${k} Student ${k}: ${code.toUpperCase()}`);
const chat = said.join("\\r\\n");
return {codes, chat: rails.fromCsv(room.expanded(chat, names)),
        tables: rails.fromCsv(tables.join("")),
        others: rails.fromCsv(room.expanded(chat, [...names].reverse()))};
"""
    )
    found = run(body, names=NAMES)
    assert max(map(len, found["codes"])) <= 25
    assert found["chat"] == found["tables"]
    assert found["chat"]["people"] == 8
    assert found["others"]["comparisons"] == [], "about other names"
    assert found["others"]["refused"] == 8


def test_answers_to_other_questions_have_no_code() -> None:
    body = (
        ASK
        + """
const {seed, answers} = people[0];
const turn = (one) => ({...one, first: one.second, second: one.first});
const turned = answers.map((one, k) => (k === 4 ? turn(one) : one));
return [turned, [], answers].map((one) => room.code(names, one, seed));
"""
    )
    turned, none, code = run(body, names=NAMES)
    assert (turned, none) == (None, None)
    assert code


def test_the_errors_of_a_room_are_the_sandwich_over_people() -> None:
    """By NumPy; and asking everybody thrice, who answers the same, makes no error smaller."""
    body = (
        ASK
        + """
const answers = people.flatMap((one) => one.answers);
const judges = people.flatMap((one, who) => one.answers.map(() => `p${who}`));
const thrice = [answers, answers, answers].flat(), asked = [judges, judges, judges].flat();
return {answers, judges, once: room.rankRoom(8, answers, judges),
        thrice: room.rankRoom(8, thrice, asked),
        alone: rails.rank(8, answers), more: rails.rank(8, thrice),
        few: room.rankRoom(8, answers.slice(0, 48), judges.slice(0, 48)),
        unknown: room.rankRoom(8, answers, ["", ...judges.slice(1)])};
"""
    )
    found = run(body, names=NAMES)
    answers, judges = found["answers"], np.array(found["judges"])
    W = np.zeros((len(answers), 8))
    for k, one in enumerate(answers):
        W[k, [one["first"], one["second"]]] = 1, -1
    y = np.array([one["p"] - 0.5 for one in answers])
    scores = np.linalg.pinv(W) @ y
    pulls = [W[judges == who].T @ (y - W @ scores)[judges == who] for who in np.unique(judges)]
    bread = np.linalg.pinv(W.T @ W)
    covariance = bread @ sum(np.outer(u, u) for u in pulls) @ bread * 8 / 7
    np.testing.assert_allclose(found["once"]["scores"], scores, atol=1e-9)
    np.testing.assert_allclose(found["once"]["errors"], np.sqrt(np.diag(covariance)), atol=1e-9)
    assert found["once"]["reach"] == pytest.approx(2.365, abs=0.005), "Student's, of 7"
    np.testing.assert_allclose(found["thrice"]["errors"], found["once"]["errors"], atol=1e-9)
    assert max(found["more"]["errors"]) < 0.65 * min(found["alone"]["errors"])
    assert found["few"] is None
    assert found["unknown"] is None
