"""`python -m benchmarks`: run the cases, each in a process of its own, and write the report."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

from benchmarks import goals
from benchmarks.cases import CASES, rows
from benchmarks.timing import describe_machine

RESULTS = Path(__file__).parent / "results"
LIMIT = {"tiny": 60, "full": 3600}  # seconds a case


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.worker:
        return _work(options.worker, options.mode, Path(options.output))
    output = Path(options.output or RESULTS)
    output.mkdir(parents=True, exist_ok=True)
    mode = options.mode
    failed = []
    for case in [] if options.report else options.case.split(","):
        print(f"({case}) {CASES[case].replace('_', ' ')}, {mode} ...", flush=True)
        start = time.perf_counter()
        problem = run_case(case, mode, output, options.limit or LIMIT[mode])
        print(f"    {problem or 'done'} after {time.perf_counter() - start:.0f} s", flush=True)
        failed += [case] if problem else []
    print(goals.write(output))
    broken = [row for row in goals.results(output) if row["note"].startswith("failed")]
    for row in broken:
        print(f"{row['problem']}, {row['method']}, {row['who']}: {row['note']}")
    print(f"Results and README.md are in {output}")
    return 1 if failed or broken else 0


def run_case(case: str, mode: str, output: Path, limit: float) -> str | None:
    """Run a case in a process of its own; what went wrong, or None. An old result stays then."""
    command = [sys.executable, "-m", "benchmarks", "--worker", case, "--mode", mode]
    try:
        done = subprocess.run([*command, "--output", str(output)], timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"stopped at the limit of {limit:.0f} s"
    return None if done.returncode == 0 else f"failed with exit status {done.returncode}"


def _work(case: str, mode: str, output: Path) -> int:
    result = {
        "case": case,
        "mode": mode,
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "rows": [row.as_dict() for row in rows(case, mode)],
    }
    path = output / f"{case}_{CASES[case]}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--case", default=",".join(CASES), help="cases, such as c or a,c")
    parser.add_argument("--output", help="folder for the results (default: the committed ones)")
    parser.add_argument("--limit", type=float, help="seconds a case may take")
    parser.add_argument("--report", action="store_true", help="only write the report again")
    parser.add_argument("--mode", choices=LIMIT, default="full", help="tiny: for the tests")
    parser.add_argument("--worker", choices=CASES, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
