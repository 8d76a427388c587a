"""How much work a call is, in a measure that no busy machine changes: the calls of functions that it makes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def calls(make: Callable[[], object]) -> int:
    """How many Python functions and C functions `make` calls; what Z3 does for one of them is not counted."""
    count = 0

    def counted(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # what is collected may call functions, too
    sys.setprofile(counted)
    try:
        make()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count
