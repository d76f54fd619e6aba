"""Read a pickle as plain data: dict, list, str, float, and nothing that can run."""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any, NoReturn

from poe.errors import InvalidDataError

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


def load_plain(data: bytes) -> Any:
    """Unpickle dict, list, tuple, str, float, int, bool and None.

    Raises InvalidDataError if the pickle is damaged, or refers to a class or function. Nothing of
    it has been executed then.
    """
    try:
        for opcode, _, position in pickletools.genops(data):
            if opcode.name not in PLAIN:
                raise InvalidDataError(
                    f"the pickle's instruction {opcode.name} at byte {position} would reach "
                    "outside plain data (dict, list, str, float)"
                )
        return PlainUnpickler(io.BytesIO(data)).load()
    except InvalidDataError:
        raise
    except Exception as error:  # a damaged pickle may raise anything
        raise InvalidDataError(f"the pickle is damaged ({error})") from error
