"""What `judging reproduce` and `scorecard` do: one function a command, which returns a status.

Progress bars go to a terminal, results to the output.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from judging.errors import DatasetError, JudgeError
from judging.machine import data_dir, installed
from reproduction import claims as papers_claims
from reproduction import power, results, run, verdicts
from reproduction.run import Made, is_fresh, make
from reproduction.settings import Settings
from reproduction.targets import ALIASES, TARGETS, Target, find


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="table1, figure6, figure6a, ..., all, list or twins."
        ),
    ],
    *,
    draws: Annotated[
        int, typer.Option(min=1, help="Draws per cell; many tables take several times as many.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="The seed of all draws.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the results into this folder: by default data/results of the clone, or, "
            "without a clone, results/ where you are."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes that compute at the same time.", show_default="one a core"
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Use the paper's sample sizes for several judges (half an hour)."
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Recompute in another folder and compare with the committed result."
        ),
    ] = False,
) -> int:
    """Make a target, all panels of a figure, or "all"; or "list" them; or calibrate "twins"."""
    if name == "list":
        print(listing())
        return 0
    # The threads of processes that share few cores wait for one another more than they work.
    threadpool_limits(1)
    if name == "twins":
        return calibrate()
    chosen = _chosen(name)
    if out is None and installed() and not check:
        out = Path("results")
        out.mkdir(exist_ok=True)
        print(f"without a clone, results go into {out.resolve()} (--out names another folder)")
    settings = Settings(draws=draws, seed=seed, workers=workers or run.cores(), full=full)
    if check:
        return _compare(chosen, settings)
    invoked = f"judging reproduce {name}" + (" --full" if full else "")
    if len(chosen) == 1:
        made = _made(chosen[0], settings, out, invoked)
        print(report(chosen[0], made.table))
        _say(chosen[0], made)
        return 0
    return _several(chosen, settings, out, invoked)


def calibrate() -> int:
    """Calibrate the twins and write data/twins.toml."""
    from reproduction.calibrate import calibrate_twins, with_twins

    _require_clone("judging reproduce twins")
    shared, twins = calibrate_twins()
    path = data_dir() / "twins.toml"
    path.write_text(with_twins(path.read_text(), shared, twins))
    print(f"{sum(map(len, twins.values()))} twins calibrated; written to {path}")
    return 0


def _require_clone(command: str) -> None:
    """Refuse what rewrites the data files, where they are an installed package's."""
    if installed():
        raise JudgeError(f"{command} writes into data/ of a clone, and there is none here")


def _chosen(name: str) -> list[Target]:
    try:
        return find(name)
    except ValueError:
        near = get_close_matches(name, ["all", "list", "twins", *TARGETS, *ALIASES])
        known = f"did you mean {' or '.join(near)}?" if near else "there are all, table1 and more;"
        raise typer.BadParameter(
            f"there is no {name!r}; {known} `judging reproduce list` names them all"
        ) from None


def _made(target: Target, settings: Settings, out: Path | None, invoked: str) -> Made:
    settings = settings.of(target)
    with tqdm(desc=target.name, disable=None) as bar:  # on a terminal only

        def moved(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        return make(replace(settings, progress=moved), out=out, invoked=invoked)


def _several(chosen: list[Target], settings: Settings, out: Path | None, invoked: str) -> int:
    """Make those that are not up to date, and say what was made."""
    waiting = [t for t in chosen if not is_fresh(settings.of(t), out)]
    refused = []

    def work() -> None:
        for target in waiting:
            try:
                made = _made(target, settings, out, invoked)
            except (JudgeError, DatasetError) as error:
                refused.append(target.name)
                print(f"{target.name}: not made: {error}")
            else:
                _say(target, made)

    try:
        _, cost = run.timed(work, invoked=invoked, workers=settings.workers)
    except KeyboardInterrupt:
        print("stopped; what was recomputed is kept, and the same command continues")
        return 130  # as for a program that SIGINT ends
    print(
        f"{len(waiting) - len(refused)} of {len(chosen)} targets recomputed, "
        f"{len(chosen) - len(waiting)} were up to date; {cost.seconds:.0f} s in all "
        f"({cost.cpu_seconds:.0f} s of processor time, {cost.cores} cores)"
    )
    if refused:
        print(f"not made, {len(refused)}: {', '.join(refused)}")
    elif len(waiting) == len(TARGETS):
        whole = results.write_whole({**asdict(cost), "made": len(TARGETS)}, out)
        print(f"this run is recorded in {whole}")
    return 1 if len(refused) == len(chosen) else 0


def _compare(chosen: list[Target], settings: Settings) -> int:
    """Make everything anew beside what is committed; every cell must be the same string."""
    other = 0
    with tempfile.TemporaryDirectory() as folder:
        for target in chosen:
            _made(target, settings, Path(folder), target.command)
            if problem := _difference(target.name, Path(folder)):
                other += 1
                print(f"{target.name}: {problem}")
    print(f"{len(chosen) - other} of {len(chosen)} results are as committed")
    return 1 if other else 0


def _difference(name: str, made: Path) -> str:
    """How the result made there differs from the committed one, in words; "" where it does not."""
    one, two = results.printed(name), results.printed(name, made)
    assert two is not None
    if one is None:
        return "not committed"
    if list(one) != list(two) or len(one) != len(two):
        was, now = (" x ".join(map(str, table.shape)) for table in (one, two))
        return f"{now} rows and columns, not {was} as committed"
    rows = int((one != two).any(axis=1).sum())
    apart = (pd.to_numeric(one["value"]) - pd.to_numeric(two["value"])).abs().max()
    said = f"{rows} of {len(one)} rows are not as committed; values differ by {apart:.4f} at most"
    return said if rows else ""


def _say(target: Target, made: Made) -> None:
    print(f"{target.name}: {made.run.seconds:.0f} s; written to {made.path}")


def listing() -> str:
    """All targets, a line per target."""
    lines = [f"{t.name:24} {t.inputs:10} {t.paper}: {t.what}" for t in TARGETS.values()]
    lines += [f"{name:24} the same as {other}" for name, other in ALIASES.items()]
    return "\n".join(lines)


def report(target: Target, table: pd.DataFrame) -> str:
    """The table as printed in the paper with ours in it, or the first rows of a figure."""
    if not target.table:
        head = table.drop(columns=["seed", "labels"], errors="ignore").head(12)
        return head.to_string(index=False) + f"\n... {len(table)} rows"
    compared = verdicts.compare(target.table, table, paper=target.paper)
    compared = compared[compared["ours"].notna()]
    cell = compared["ours"].map("{:.1f}".format) + " (" + compared["published"] + ")"
    names = ("system", "k", "selection", "dataset", "attribute")
    keys = [name for name in names if compared[name].fillna("").nunique() > 1]
    wide = compared.assign(cell=cell).pivot_table(
        index=keys, columns="method", values="cell", aggfunc="first", sort=False
    )[list(dict.fromkeys(compared["method"]))]
    wide.columns.name = None
    lines = [wide.fillna("").reset_index().to_string(index=False)]
    kinds, counts = sorted(set(compared["kind"].dropna())), compared["verdict"].value_counts()
    on = " or ".join(sorted(set(compared["labels"].dropna())))
    lines += [
        f"Ours, with the published value in brackets, is {'/'.join(kinds)} on {on} labels.",
        "Verdicts: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + ".",
    ]
    for role, rows in verdicts.of_role(compared).groupby("role"):
        error = verdicts.in_points(rows)["difference"].abs().mean()
        lines.append(f"Mean absolute difference over {len(rows)} {role} cells: {error:.2f} points.")
    return "\n".join(lines)


def scorecard(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Fail if a verdict got worse (exit status 1).")
    ] = False,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Record these verdicts and claims, which later checks are held to."
        ),
    ] = False,
    claims: Annotated[
        bool, typer.Option("--claims", help="Print the papers' claims as well.")
    ] = False,
    causes: Annotated[
        bool, typer.Option("--causes", help="Print why cells differ, as far as it is known.")
    ] = False,
    cells: Annotated[
        str, typer.Option(metavar="TABLE", help="Print a table cell by cell, for example table1.")
    ] = "",
) -> int:
    """Print for every table how many numbers agree, how far others are off, and what it tells."""
    if accept:
        _require_clone("judging scorecard --accept")
    card = verdicts.scorecard()
    shown = _cells(card, cells) if cells else None
    for paper, part in power.overview(card).groupby("paper", sort=False):
        print(f"\n{paper}\n{_overview(part.drop(columns='paper'))}")
    print(f"\n{power.LEGEND}")
    if shown is not None:
        print(shown.round(2).to_string(index=False, na_rep=""))
    if causes:
        _causes(card)
    if claims or accept:
        held = papers_claims.evaluate() if accept else papers_claims.accepted()
    if claims:
        for row in held.itertuples():
            print(f"{row.id:34} {row.evidence:10} {row.verdict:18} {row.shown}")
        print(pd.crosstab(held["evidence"], held["verdict"]).to_string())
    if accept:
        print(f"accepted: {verdicts.accept(card)} and {papers_claims.accept(held)}")
    if check and len(worse := verdicts.worsened(card)):
        print(f"judging: {len(worse)} verdicts got worse:", file=sys.stderr)
        print(worse.to_string(index=False), file=sys.stderr)
        return 1
    if check:
        print("no verdict got worse, and every id has a row")
    return 0


def _overview(rows: pd.DataFrame) -> str:
    """Shares as whole per cent, points with two decimals, nothing where there is nothing."""
    shares = [name for name in rows if name == "agree" or name.startswith("wrong")]
    rows = rows.assign(**{name: rows[name].map("{:.0f}".format) for name in shares})
    return rows.round(2).replace("nan", "").to_string(index=False, na_rep="")


def _cells(card: pd.DataFrame, table: str) -> pd.DataFrame:
    rows = card[(card["table"] == table) | card["id"].str.startswith(f"{table}/")]
    if rows.empty:
        there = ", ".join(card["table"].unique())
        raise ValueError(f"the scorecard has no table {table!r}; there are {there}")
    return rows[["id", "published", "ours", "se", "difference", "role", "kind", "verdict"]]


def _causes(card: pd.DataFrame) -> None:
    print("\ncells of a cause, mean absolute difference, and what the cause leaves of it:")
    for row in verdicts.effects(card).itertuples():
        left = f"{row.after:6.2f}" if pd.notna(row.after) else "      "
        shown = row.target or "no diagnosis"
        print(f"{row.cells:4d} {row.before:6.2f} {left}  {row.cause} [{shown}]")
    print("\ndifferences expected by chance, and observed:")
    print(verdicts.chance(card, by="paper").round(1).to_string(index=False))
