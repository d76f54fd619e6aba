"""What `make test` leaves to CI: tests that take long and that few changes can break.

    make test                          # all but these
    make test ARGS="--part rest"       # these alone
    make test ARGS=tests/poe           # with any ARGS, all that they name

CI runs both parts; nothing is left out everywhere.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("quick", "rest")
# A file, as a whole or some of its classes and tests, by what makes them long.
REST: dict[str, tuple[str, ...]] = {
    # Commands and workers that hang or are killed, for real, and wait for one another.
    "tests/judging/test_attack.py": (
        "test_killed_again_and_again_nothing_paid_is_lost_or_asked_twice",
    ),
    "tests/judging/test_money.py": (
        "test_a_process_that_was_killed_holds_no_lock",
        "test_the_same_command_four_times_at_once_pays_once",
    ),
    "tests/judging/test_store_crash.py": (
        "test_killed_at_random_moments_nothing_reported_is_lost",
    ),
    "tests/test_workers.py": (),
    "tests/judging/test_hostile.py": (),
    "tests/judging/test_reading_anything.py": ("test_standard_input_is_told_by_how_it_begins",),
    "tests/judging/test_refused.py": ("test_one_poisoned_text_of_thirty_does_not_end_a_run",),
    # Replies, tables and settings that may hold anything.
    "tests/judging/test_any_json.py": (),
    # Coverage, rates and fits over many draws of simulated judges.
    "tests/judging/test_board.py": (
        "TestLengthDoesNotPay",
        "TestReference",
        "test_a_gate_errs_as_often_as_it_says",
        "test_against_a_reference_too_length_does_not_pay",
        "test_votes_one_by_one_are_as_sure_as_their_bootstrap",
    ),
    "tests/judging/test_sure.py": ("test_the_leader_is_best_as_often_as_it_says",),
    "tests/judging/test_trust.py": ("test_the_chance_comes_true_about_as_often_as_it_says",),
    "tests/reproduction/test_calibrate.py": (),
    "tests/studies/test_hierarchical.py": ("test_intervals_cover_what_they_say",),
    "tests/studies/test_hierarchical_texts.py": ("test_intervals_cover_and_errors_fall",),
    # Targets, verdicts and claims made again, and held against the committed ones.
    "tests/reproduction/test_claims.py": ("TestCells", "TestFile"),
    "tests/reproduction/test_golden.py": (),
    "tests/reproduction/test_reproduction.py": ("TestLarge", "TestRunVariance", "TestTables"),
    "tests/test_benchmarks.py": (),
    # Every chapter up to its checks, and all that they must refuse; every docstring as a page.
    "tests/book/test_checks.py": (),
    "tests/book/test_api_reference.py": (),
    # Two dozen long pages of the built book, each loaded until nothing moves.
    "tests/browser/test_anchors.py": (),
    # A book through Sphinx, twice; mypy over two packages without a cache.
    "tests/book/test_build_render.py": (),
    "tests/test_front_doors.py": ("test_a_strict_type_checker_takes_what_a_user_writes",),
}


def of_rest(nodeid: str) -> bool:
    """Whether a test is left to CI."""
    file, _, name = nodeid.partition("[")[0].partition("::")
    return file in REST and (not REST[file] or f"{name}::".startswith(begun(REST[file])))


def begun(names: tuple[str, ...]) -> tuple[str, ...]:
    """What the names of these tests, and of those of these classes, begin with."""
    return tuple(f"{name}::" for name in names)


def other_file(path: Path, part: str) -> bool:
    """Whether a file, no folder, has no test of this part."""
    name = path.relative_to(ROOT).as_posix()
    if part == "quick":
        return REST.get(name) == ()
    return path.is_file() and name not in REST


def gone() -> list[str]:
    """The names in the table that no test has."""
    found = []
    for file, names in REST.items():
        path = ROOT / file
        tree = ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
        found += [file] if not tree.body else []
        for name in names:
            body = tree.body
            for part in name.split("::"):
                body = next((one.body for one in body if getattr(one, "name", "") == part), [])
            found += [f"{file}::{name}"] if not body else []
    return found
