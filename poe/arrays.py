"""Types of the arrays that every module here takes and gives, and of functions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

OfP = Callable[[Floats], Floats]  # of the probability, elementwise
OfBoth = Callable[[Floats, Floats], Floats]  # of the difference and the probability, elementwise
