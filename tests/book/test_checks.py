"""Every check of every exercise: it takes its own solution and refuses what is wrong, in words.

What the checks of a chapter and its solutions hang on runs here, as in its notebook, while the
checks note what they are given. What made a check say "right" is the solution; wrong answers are
made of it. All checks are given the same odd answers, and each some that are nearly right, with
what it must say.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import io
import re
import warnings
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from book.exercises import NUMBER
from book.tools.pages import Page, code_cells, find_pages
from tests.helpers import ROOT

pytestmark = pytest.mark.long

CHAPTERS = {page.name: page for page in find_pages(ROOT) if "def check_" in page.text}


def stops(*given: Any, **named: Any) -> Any:
    raise KeyError("no such text")


ODD: list[Any] = [
    *(None, "", "four", "0.5", b"4", True, False, object(), ValueError("x"), 1j, slice(3)),
    *(float("nan"), float("inf"), -float("inf"), -1, 0, 10**400, -0.5, 1e300),
    *([], (), {}, set(), {"Ada": 1}, range(3), iter([1, 2]), [None], [1], [1, 2], [1, [2, 3]]),
    *([[1, 2], [3]], ["Ada", "Ben"], [("Ada", "Ada")], [("Ada",)], [(0, 0)], [(0, 9)], ["A", 1]),
    *(np.zeros(4), np.zeros((4, 4)), np.full(4, np.nan), np.array("four"), np.empty((0, 2))),
    *(pd.Series([1.0, 2.0]), pd.DataFrame({"a": [1]}), int, len, stops, np.mean),
]
# The same from a function, beside functions that are none of what was asked for.
RETURNED = [lambda *x, one=one, **k: one for one in ODD] + [lambda *x, **k: x, lambda: 1]


def right(said: Any) -> bool:
    told = list(said.values()) if isinstance(said, dict) else [said]
    return all(str(one).startswith("right") for one in told)


def compiled(statement: ast.stmt) -> CodeType:
    return compile(ast.Module([statement], []), "chapter", "exec")


def names_of(code: CodeType, *operations: str) -> set[str]:
    """The global names that code, and the functions in it, loads or stores."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in operations}
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return found.union(*(names_of(one, *operations) for one in inner))


def altered_in_place(statement: ast.stmt) -> set[str]:
    """The names whose values a statement may change: x[0] = ..., x.append(...), np.f(x)."""
    found = set[str]()
    for node in ast.walk(statement):
        places = [node] if isinstance(getattr(node, "ctx", None), ast.Store) else []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            places = [node.value]
        for place in places:
            root: ast.AST = place
            while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name):
                inner = ast.walk(place) if root.id in ("np", "cp") else [root]
                found |= {one.id for one in inner if isinstance(one, ast.Name)}
    return found


def needed(page: Page) -> list[ast.stmt]:
    """The statements of a chapter that its checks, and their calls, hang on."""
    sources = (re.sub("^%.*", "", cell.source, flags=re.M) for cell in code_cells(page.notebook()))
    statements = [statement for source in sources for statement in ast.parse(source).body]
    kept: list[ast.stmt] = []
    wanted = set[str]()
    for statement in reversed(statements):
        code = compiled(statement)
        bound = names_of(code, "STORE_NAME", "STORE_GLOBAL")
        read = names_of(code, "LOAD_NAME", "LOAD_GLOBAL")
        checks = any(name.startswith("check_") for name in bound | read)
        drawn = read & {"rng"}  # of which every use is a change
        if checks or (bound | altered_in_place(statement) | drawn) & wanted:
            kept.insert(0, statement)
            wanted -= set[str]() if isinstance(statement, ast.If | ast.Try) else bound
            wanted |= read
    return kept


def solved(page: Page) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...] | None]]:
    """The checks of a chapter, and what its solution gave them when they said "right"."""
    import matplotlib as mpl

    mpl.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    given: dict[str, tuple[Any, ...]] = {}
    own: dict[str, Callable[..., Any]] = {}

    def noted(name: str, check: Callable[..., Any]) -> Callable[..., Any]:
        def call(*answers: Any, **named: Any) -> Any:
            said = check(*answers, **named)
            if right(said):
                given[name] = (*answers, *named.values())
            return said

        return call

    for statement in needed(page):
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compiled(statement), names)
        name = getattr(statement, "name", "")
        if name.startswith("check_"):
            assert hasattr(names[name], "__wrapped__"), f"{name} does not say what it asks for"
            own[name] = names[name]
            names[name] = noted(name, names[name])
    for name, check in own.items():
        yield name, check, given.get(name)


def altered(by: Callable[[Any], Any], answer: Any) -> Any:
    """An answer with all of its numbers changed; of a function, those that it returns."""
    if callable(answer):
        return lambda *x, **k: altered(by, answer(*x, **k))
    if isinstance(answer, dict):
        return {name: altered(by, one) for name, one in answer.items()}
    if isinstance(answer, (bool, np.bool_)):
        return not answer
    if isinstance(answer, str):
        return answer + "x"
    if isinstance(answer, (list, tuple)):
        try:
            return type(answer)(by(np.asarray(answer, dtype=float)).tolist())
        except (TypeError, ValueError):
            return type(answer)(altered(by, one) for one in answer)
    if isinstance(answer, (int, float, np.number)):
        return type(answer)(by(np.asarray(float(answer))))
    return by(answer)


WRONG: dict[str, Callable[[Any], Any]] = {
    "more": lambda x: x * 1.7 + 1.3,
    "less": lambda x: -x - 0.7,
    "turned": lambda x: np.asarray(x)[::-1] * 3.0 if np.ndim(x) else x * 3.0 + 2.0,
    "none": lambda x: np.asarray(x) * 0.0,
}


def constant(answer: Any) -> Any:
    """Of a function one that returns, whatever it is given, what it returns first."""
    if not callable(answer):
        return answer
    kept: list[Any] = []

    def same(*given: Any, **named: Any) -> Any:
        kept[:] = kept or [answer(*given, **named)]
        return kept[0]

    return same


def told(check: Callable[..., Any], answers: list[Any]) -> Any:
    """What a check says; it may not raise."""
    try:
        return check(*answers)
    except Exception as error:
        return error


def fed(name: str, check: Callable[..., Any], solution: tuple[Any, ...]) -> Iterator[str]:
    """What a check does that it may not, in words."""
    places = len(inspect.signature(check).parameters)
    if not right(check(*solution)):
        yield f"{name} refuses its solution: {check(*solution)}"
    if check(*[...] * places) != "not yet":
        yield f"{name} takes three dots for an answer"
    if any(map(callable, solution)):
        for dots in (lambda *x, **k: ..., lambda *x, **k: (..., ...), lambda *x, **k: 1 + ...):
            if (said := told(check, [dots] * places)) != "not yet":
                yield f"{name} of a function that is not written: {said}"
    for answer in [*ODD, *(RETURNED if any(map(callable, solution)) else [])]:
        for answers in ([answer] * places, [*solution[:-1], answer])[:places]:
            said = told(check, answers)
            if all(map(NUMBER.fits, [answer, *solution])) and np.allclose(answers, solution):
                continue  # it is the solution
            ones = list(said.values()) if isinstance(said, dict) else [said]
            if not all(isinstance(one, str) and len(one) > 3 for one in ones):
                yield f"{name} says {said!r} of {answer!r}, which is no sentence"
            elif right(said):
                yield f"{name} takes {answer!r}"
            elif "not yet" in ones:
                yield f"{name} says of {answer!r} that it is no answer yet"
    if any(map(callable, solution)) and right(check(*map(constant, solution))):
        yield f"{name} takes a function that returns one and the same"
    # Some numbers are right in another unit too, a ranking's scores for one; never most.
    refused = 0
    for by in WRONG.values():
        for wrong in ([altered(by, one) for one in solution], [altered(by, solution[0])]):
            refused += not right(check(*wrong, *solution[len(wrong) :]))
    if refused < 3:
        yield f"{name} refuses {refused} of {2 * len(WRONG)} wrong answers"


def out(by: Callable[[Any], Any]) -> Callable[..., Any]:
    """The solution's function with something done to what it returns."""
    return lambda function: (lambda *x, **k: by(function(*x, **k)),)


def instead(*functions: Any) -> Callable[..., Any]:
    return lambda *solution: functions


# What a reader may well give, made of the solution, and what the check must say of it; of a check
# that is not here the chapter itself shows such an answer beside the solution.
NEAR: dict[str, list[tuple[Callable[..., Any], str]]] = {
    "01 moderate": [
        (
            instead(lambda r, x, mark: [mark[x == k].mean() for k in range(8)]),
            "an unknown offset of its own",
        ),
        (instead(lambda r, x, mark: mark), "the texts' scores only"),
    ],
    "01 break_even": [
        (lambda a, b: (0.8 / np.sqrt(2), b), "the limit of many texts"),
        (lambda a, b: (b, a), "set the two variances equal"),
    ],
    "01 ceiling": [(instead(lambda q, b: q / (q + b)), "both standard deviations")],
    "02 letter": [(out(lambda found: found[::-1]), "their order and signs")],
    "02 draws": [(instead(64), "neither A nor B"), (instead(106.7), "right")],
    "03 missing_pair": [
        (lambda a, b: (b, a), "the win-ratios of"),
        (lambda a, b: (np.round(a, 2), np.round(b, 2)), "right"),
    ],
    "03 ties": [(out(lambda s: s[::-1]), "where there is no tie")],
    "03 cancel": [
        (instead([(0, 0), (1, 2)]), "two different texts"),
        (instead([("Ada", "Ben")]), "numbers in an array of shape (K, 2)"),
    ],
    "03 levels": [(lambda p, human: (human, human), "summary level +1.00")],
    "04 one_more": [
        (lambda given: (list(given)[1:],), "there are more"),
        (lambda given: ([*given, ("Ada", "Ada")],), "against himself"),
        (lambda given: ([*given, (0, 1)],), "no pair of names"),
    ],
    "04 tree": [(out(lambda s: -np.asarray(s)), "the sign is turned")],
    "04 held_out": [(out(lambda x: -x), "predict the other win")],
    "04 whisper": [(out(lambda given: (given[0], 2 * given[1])), "the weight is not")],
    "05 moments": [
        (lambda mean, variance: (lambda p: np.log(p / (1 - p)), variance), "this is the peak"),
        (lambda mean, variance: (lambda p: -mean(p), variance), "the derivative of log Z"),
        (lambda mean, variance: (mean, lambda p: np.sqrt(variance(p))), "standard deviation"),
    ],
    "05 two_anchors": [(instead(0, 0.133), "one more comparison"), (instead(0, 0.27), "right")],
    "06 closed_form": [
        (out(lambda found: (found[0][1:], found[1])), "the shape is (3,)"),
        (out(lambda found: found[0]), "it should return"),
    ],
    "06 trees": [(instead(lambda n: 11 / 3, lambda n: 1.8), "how does it depend on n")],
    "06 fragile": [
        (instead(lambda pairs, p: 0.0 if len(pairs) == 15 else 0.008), "a row counts once")
    ],
    "07 two_wordings": [
        (instead(0.4, 1.4), "give two digits"),
        (instead(0.41, 2.04), "the curvatures of both"),
        (instead(0.41, 1.44), "right"),
    ],
    "07 growth": [(out(lambda x: x - 1), "plus one")],
    "07 beta": [(out(lambda found: (found[0], found[1] + 1)), "the variance is not")],
    "07 weight": [(out(lambda w: np.asarray(w) * 48 / 33), "divide by K - N + 1")],
    "08 valley": [(lambda low, high: (high, low), "what does each of Dan's")],
    "08 certificate": [
        (out(lambda y: 0 * np.asarray(y)), "not the best"),
        (out(lambda y: 2 * np.asarray(y)), "none larger than 1"),
    ],
    "08 protected": [(instead(lambda *x: True), "strictly fewer than half")],
    "08 bias": [(out(lambda found: (found[0], -found[1])), "the misfit is d - gamma - mu")],
    "08 scale": [(out(lambda b: 2 * b), "not their mean square")],
    "09 split": [
        (out(lambda found: found[::-1]), "first and second are exchanged"),
        (out(lambda found: found[0]), "it should return two numbers"),
    ],
    "09 evidence": [
        (out(lambda x: 2 * x), "the ring 3"),
        (out(lambda x: [x, x]), "it should return a number"),
    ],
    "09 zermelo": [(out(lambda found: (found[0], 1 / found[1])), "theta multiplies")],
    "09 two": [(out(lambda found: -np.array(found)), "the two gammas")],
    "10 update": [
        (out(lambda R: R[:-1]), "the shape is (9, 10)"),
        (out(lambda R: R + 1), "no resistance may rise"),
    ],
    "10 noisy": [(instead(lambda pairs, variance: (2, 2)), "two different positions")],
    "10 start": [(lambda chain, star: (star, chain), "12, 16 and 22")],
    "10 mean": [(instead(lambda R: (1, 1)), "two different positions")],
    "11 few": [(instead(29856), "did you share nothing")],
    "11 mask": [(out(lambda mask: np.tri(17)), "must not see one another")],
    "11 batches": [(instead(lambda n, most: [[k] for k in range(len(n))]), "fill each batch")],
    "11 row": [(out(lambda n: n + 1), "the last row")],
    "12 worst": [(instead(lambda n: int(n * np.log2(n) - n + 1)), "powers of two are")],
    "12 contexts": [(out(lambda n: n * 96 / 196), "half of all experiments")],
    "12 after_sort": [(instead(lambda run: run.scores), "the order only")],
    "13 lower": [(out(lambda x: 2 * x), "above the exact resistance")],
    "13 seen": [(out(lambda x: 2 * x), "a pair is two ends")],
    "14 expected": [
        (
            lambda f: (lambda fit: len(fit.items) + 1 - np.asarray(f(fit)),),
            "rank 1 is the best",
        )
    ],
    "14 rule": [(instead(lambda fit: False), "every single rival")],
    "15 votes": [(lambda p, m: (1 - p, m), "divide by 1 - a")],
    "15 skills": [(out(lambda s: (np.asarray(s) + 1) / 2), "these are accuracies")],
    "15 choice": [(instead(lambda r, rho: (int(np.argmax(r)), 1.0)), "the best judge alone")],
    "15 missing": [(lambda f: (lambda b: f(np.maximum(b, 0)),), "a missing answer as 0")],
    "15 labels_needed": [(out(lambda x: 1 - x), "more than half of the m labels")],
}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_checks_take_their_solution_and_refuse_what_is_wrong(chapter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, faults = CHAPTERS[chapter].text, []
    for name, check, solution in solved(CHAPTERS[chapter]):
        assert solution is not None, f"{name}: no solution of the chapter is right"
        faults += fed(name, check, solution)
        near = NEAR.get(f"{chapter[:2]} {name.removeprefix('check_')}", [])
        for made, reason in near:
            said = check(*made(*solution))
            if reason not in str(said) or right(said) != (reason == "right"):
                faults.append(f"{name} says {said!r}, not {reason!r}")
        # Or beside the solution.
        if not near and not re.search(rf"assert .*{name}\(.*not right: \w", text):
            faults.append(f"{name} is given nothing that is nearly right")
    assert not faults, "\n".join(faults)


def test_a_check_that_takes_anything_would_be_found():
    """The negative control: what the test above looks for is seen."""
    for lenient in (
        lambda answer: "right",
        lambda answer: "not yet",
        lambda answer: 4 if answer is None else "right",
        lambda answer: "not yet" if answer is ... else "right" if answer(1) == 4 else "not right",
    ):
        assert list(fed("check", lenient, (lambda k: 4 * k,)))
    assert not right({"one": "right", "two": "not right"})
    assert altered(WRONG["more"], lambda: [1, 2])() == [3.0, 4.7]
    assert altered(WRONG["none"], {"a": (3, True)}) == {"a": (0.0, 0.0)}
