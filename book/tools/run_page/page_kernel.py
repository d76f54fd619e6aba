"""Runs the cells of a page as a notebook would, in the Python that a browser holds.

Standard library only at import, so that it starts anywhere; `make wasm` and the page use it alike.
"""

import ast
import contextlib
import io
import json
import linecache
import os
import pprint
import sys
import traceback
import types

os.environ["MPLBACKEND"] = "Agg"
NAMES = {"__name__": "__main__"}
SHOWN = []  # what the running cell has shown so far


def drawn(figure):
    """A figure as the book draws it."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "judging-by-comparison"}):
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    return {"kind": "svg", "data": file.getvalue()}


def shown(value):
    """A value in the richest form that a page can hold."""
    if type(value).__name__ == "Figure" and hasattr(value, "savefig"):
        return drawn(value)
    for method, kind in (("_repr_html_", "html"), ("_repr_svg_", "svg")):
        made = getattr(value, method, None)
        data = made() if made and not isinstance(value, type) else None
        if data is not None:
            return {"kind": kind, "data": data}
    plain = isinstance(value, dict | list | tuple | set)
    text = pprint.pformat(value, sort_dicts=False) if plain else repr(value)
    return {"kind": "text", "data": text}


def display(*values, **_):
    """Show values now."""
    flush()
    SHOWN.extend(shown(value) for value in values)


def glue(name, value, display=True):
    """The book prints such values in its sentences; here they are shown, or nothing is."""
    if display:
        globals()["display"](value)


class Markup(str):
    """Text that is HTML already."""

    def _repr_html_(self):
        return str(self)


def flush():
    """Turn what was printed since the last time into an output."""
    for stream, kind in ((sys.stdout, "text"), (sys.stderr, "stderr")):
        if isinstance(stream, io.StringIO) and stream.getvalue():
            SHOWN.append({"kind": kind, "data": stream.getvalue()})
            stream.seek(0)
            stream.truncate()


def stand_in(name, **members):
    """A module that the chapters import for its names only, where there is none."""
    try:
        __import__(name)
    except ImportError:
        for part in (name.partition(".")[0], name):
            module = sys.modules.setdefault(part, types.ModuleType(part))
            module.__path__ = []
        for member, value in members.items():
            setattr(sys.modules[name], member, value)


stand_in("IPython", get_ipython=lambda: None, version_info=(9, 0, 0))  # matplotlib asks for both
stand_in("IPython.display", display=display, HTML=Markup, Markdown=Markup)
stand_in("myst_nb", glue=glue)
sys.modules["IPython.display"].display = display
sys.modules["myst_nb"].glue = glue


def complaint(error, file):
    """A traceback without the frames of this file."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [k for k, frame in enumerate(frames) if frame.filename == file]
    own = frames[places[0] :] if places else []
    lines = traceback.format_list(own) + traceback.format_exception_only(error)
    return "".join(["Traceback (most recent call last):\n"] * bool(own) + lines).rstrip()


def execute(source, file):
    """Run statements, and show the last one where it is an expression."""
    tree = ast.parse(source, file)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not source.rstrip().endswith(";"):
        tree.body.pop()
    else:
        last = None
    exec(compile(tree, file, "exec"), NAMES)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), file, "eval"), NAMES)
        if value is not None:
            NAMES["_"] = value
            display(value)


def figures():
    """Every figure left open, drawn and closed."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    try:
        for number in pyplot.get_fignums():
            SHOWN.append(drawn(pyplot.figure(number)))
    finally:
        pyplot.close("all")


def run(source, place="cell"):
    """Run one cell; return as JSON what it shows, how it failed, and the module that it lacks."""
    SHOWN.clear()
    file = f"<{place}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    failed = missing = None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            execute(source, file)
            flush()
            figures()
        except BaseException as error:  # a cell that says exit() ends the cell
            flush()
            SHOWN.append({"kind": "error", "data": complaint(error, file)})
            failed = f"{type(error).__name__}: {error}"
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return json.dumps({"outputs": SHOWN, "failed": failed, "missing": missing})
