"""Runs the cells of a page as a notebook would, in the Python that a browser holds.

What a cell prints or shows is told while the cell runs. Standard library only at import, so that it
starts anywhere.
"""

import ast
import contextlib
import dis
import inspect
import io
import json
import linecache
import os
import pprint
import symtable
import sys
import time
import traceback
import types

os.environ["MPLBACKEND"] = "Agg"
NAMES = {"__name__": "__main__"}
AT_ONCE = 100  # lines of a cell that are told one by one
PAUSE = 0.1  # seconds between what is told of further lines
MAX_CHARACTERS = 100_000  # characters that a cell may print; an endless loop would fill the page
REST = f"\n[A cell may print {MAX_CHARACTERS:,} characters. The rest is not shown.]\n"
KINDS = ("stdout", "stderr")
LACKING = []  # modules that pages could use and this browser cannot have
LOST = {}  # names that a cell would have made, with the module that it lacked
STREAMS = []  # the running cell's stdout and stderr


class InVain:
    """The last to be asked for a module: remembers which of those that are lacking was wanted.

    A cell need not say so itself: the check of an exercise makes a sentence of any error.
    """

    asked = None

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in LACKING:
            cls.asked = name.partition(".")[0]


sys.meta_path.append(InVain)


class Printed(io.TextIOBase):
    """A stream that tells its lines."""

    def __init__(self, kind, tell):
        self.kind, self.tell = kind, tell
        self.waiting, self.left, self.lines, self.last = [], MAX_CHARACTERS, 0, 0.0

    def write(self, text):
        if text and self.left:
            for other in STREAMS:
                if other is not self:
                    other.flush()  # or they would change places
            self.waiting.append(text if len(text) <= self.left else text[: self.left] + REST)
            self.left = max(0, self.left - len(text))
            self.lines += text.count("\n")
            soon = self.lines <= AT_ONCE or time.monotonic() - self.last > PAUSE
            if ("\n" in text and soon) or not self.left:
                self.flush()
        return len(text)

    def flush(self):
        if self.waiting:
            self.tell({"kind": self.kind, "data": "".join(self.waiting)})
            self.waiting.clear()
            self.last = time.monotonic()


def show(output):
    """Tell an output, after what was printed before it."""
    for stream in STREAMS:
        stream.flush()
    if STREAMS:
        STREAMS[0].tell(output)


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
    for value in values:
        show(shown(value))


def glue(name, value, display=True):
    """The book prints such values in its sentences; here they are shown, or nothing is."""
    if display:
        globals()["display"](value)


class Markup(str):
    """Text that is HTML already."""

    def _repr_html_(self):
        return str(self)


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
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename != file:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace, chain=False)).rstrip()


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
            show(drawn(pyplot.figure(number)))
    finally:
        pyplot.close("all")


def needed(source):
    """The global names that a cell reads, also through functions of the page that it names.

    One that it defines and does not name reads nothing yet.
    """
    found, left = set(), [whole := compile(source, "a cell", "exec")]
    while left:
        code = left.pop()
        inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
        left += [one for one in inner if code is not whole or one.co_name.startswith("<")]
        for one in dis.get_instructions(code):
            if one.opname in ("LOAD_NAME", "LOAD_GLOBAL") and one.argval not in found:
                found.add(one.argval)
                called = NAMES.get(one.argval)
                if isinstance(called, types.FunctionType):  # of a decorated one what it wraps
                    left.append(inspect.unwrap(called).__code__)
    return found


def lacks(source, missing):
    """The module without which a cell, or one above it whose names it needs, could not run."""
    with contextlib.suppress(SyntaxError):
        lost = sorted(name for name in needed(source) if name in LOST and name not in NAMES)
        missing = missing or next((LOST[name] for name in lost), None)
        if missing:
            made = symtable.symtable(source, "a cell", "exec").get_symbols()
            for one in made:
                if (one.is_assigned() or one.is_namespace()) and one.get_name() not in NAMES:
                    LOST[one.get_name()] = missing
    return missing


def run(source, place, tell):
    """Run one cell; return as JSON how it failed, and the module that it lacks.

    tell: takes each output as JSON, while the cell runs.
    """
    file = f"<{place}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    failed = missing = InVain.asked = None
    STREAMS[:] = (Printed(kind, lambda output: tell(json.dumps(output))) for kind in KINDS)
    out, err = STREAMS
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            execute(source, file)
            figures()
        except BaseException as error:  # a cell that says exit() ends the cell
            show({"kind": "error", "data": complaint(error, file)})
            failed = f"{type(error).__name__}: {error}"
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
    missing = lacks(source, missing or InVain.asked)
    for stream in STREAMS:
        stream.flush()
    return json.dumps({"failed": failed, "missing": missing})
