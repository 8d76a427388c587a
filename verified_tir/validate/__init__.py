"""An independent validator: given two programs, show that one refines the other at given sizes, or where it does not.

Both programs are executed symbolically (``execute.py``): control and addresses are concrete, data are terms of one
table (``terms.py``) that the two share.  Exit memories are compared element by element (``compare.py``); what differs
is normalised, put to Z3, and searched for a witness that the interpreter replays.  Nothing here knows the kernel, its
rules, the schedule or the lowering passes.
"""

from verified_tir.validate.interface import Correspondence, Padding
from verified_tir.validate.validator import validate, validate_sizes
from verified_tir.validate.verdict import Different, Equal, EqualInPart, EqualOverReals, Report, Unknown, Verdict

__all__ = [
    "Correspondence",
    "Different",
    "Equal",
    "EqualInPart",
    "EqualOverReals",
    "Padding",
    "Report",
    "Unknown",
    "Verdict",
    "validate",
    "validate_sizes",
]
