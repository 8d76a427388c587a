"""A fault put in by hand: a snippet of the source, and what stands there instead.

The operators of this package change one expression or one statement each.  What takes more thought than that (a binder
not renamed apart, a fact that outlives a store, a wrong rounding) is written down as a :class:`Fault`, as data.  The
engine treats it as it treats every other mutant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Fault:
    """One deliberate error in one function.

    ``file`` is relative to the root of the checkout (``verified_tir/kernel/rules/reorder.py``).  ``function`` is the
    qualified name as Python has it, without ``<locals>`` (``Reorder.rewrite``, ``instance``; of nested functions the
    outermost; empty for text outside of all functions).  ``before`` must occur exactly once in the text of that
    function, with the indentation that it has in the file; it is replaced by ``after``.  ``note`` says in one sentence
    what is forgotten, and which wrong step that would permit.

    ``strict`` marks a fault that only makes the kernel refuse more: a test of acceptance must notice it.
    """

    name: str
    file: str
    function: str
    before: str
    after: str
    note: str
    strict: bool = False
