"""Read a pickle as plain data: dict, list, str, float, and nothing that can run."""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any, NoReturn

from poe.datasets.errors import InvalidDataError

# Larger than any file of the registry, small enough to refuse a decompression bomb.
MAX_BYTES = 64 * 2**20

# Only instructions that build plain values. Those that name or call something
# (GLOBAL, STACK_GLOBAL, INST, OBJ, NEWOBJ, REDUCE, BUILD, EXT1..4, PERSID) are not here.
# Checking the instructions before running any matters, because the unpickler serves
# extension codes from a process-wide cache without asking find_class.
_NAMES = """
    PROTO FRAME STOP MARK POP POP_MARK DUP PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET MEMOIZE
    EMPTY_DICT DICT SETITEM SETITEMS EMPTY_LIST LIST APPEND APPENDS
    EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3
    UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
    FLOAT BINFLOAT INT BININT BININT1 BININT2 NONE NEWTRUE NEWFALSE
"""
PLAIN = frozenset(_NAMES.split())


class PlainUnpickler(pickle.Unpickler):
    """A second lock: even if an instruction slipped through, no class is ever found."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        """Refuse every class and function."""
        raise InvalidDataError(f"the pickle refers to {module_name}.{global_name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        """Refuse every outside object."""
        raise InvalidDataError(f"the pickle refers to the outside object {pid!r}")


def load_plain(data: bytes, *, what: str = "the file") -> Any:
    """Unpickle dict, list, tuple, str, float, int, bool and None; `what` is for error messages.

    Raises
    ------
    InvalidDataError
        If the pickle is too large, damaged, or refers to a class or function. Nothing
        of it has been executed then.
    """
    if len(data) > MAX_BYTES:
        raise InvalidDataError(f"{what} has {len(data)} bytes, more than {MAX_BYTES}; not read")
    way_out = "it is not the dataset's own file; delete it and fetch the dataset again"
    try:
        _check(data)
        return PlainUnpickler(io.BytesIO(data)).load()
    except InvalidDataError as error:
        raise InvalidDataError(f"{what} was refused: {error}; {way_out}") from None
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
        pickle.UnpicklingError,
    ) as error:
        raise InvalidDataError(f"{what} is damaged ({error}); {way_out}") from error


def _check(data: bytes) -> None:
    for opcode, argument, position in pickletools.genops(data):
        if opcode.name not in PLAIN:
            shown = f" {argument!r}" if argument is not None else ""
            raise InvalidDataError(
                f"its instruction {opcode.name}{shown} at byte {position} would reach "
                "outside plain data (dict, list, str, float)"
            )
        # A memo index far beyond the file would make the unpickler reserve gigabytes.
        if opcode.name in ("PUT", "LONG_BINPUT") and int(argument or 0) > len(data):
            raise InvalidDataError(f"its memo index {argument} at byte {position} is absurd")
