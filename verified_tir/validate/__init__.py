"""An independent validator: given two programs, show that one refines the other at given sizes, or where it does not.

Both programs are executed symbolically (``execute.py``): control and addresses are concrete, data are terms of one
table (``terms.py``) that the two share.  Exit memories are compared element by element (``compare.py``); what differs
is normalised, put to Z3, and searched for a witness that the interpreter replays.  Nothing here knows the kernel, its
rules, the schedule or the lowering passes.

Programs that are too large for that are evaluated on demand (``demand/``), and LLVM IR is executed besides a program
(``llvm/``).  They share terms, operators, the evaluator, parameters and views.  What is there more than once:

* Memory.  A run has blocks of cells, which are overwritten.  On demand nothing is: there are versions of each cell, as
  instances are evaluated by their dependences and not in order.  LLVM's addresses are numbers, and its cells bytes.
* Time.  A run takes loops as they come, whatever their bounds are, and takes rows back that conflict.  On demand the
  time of an instance is a number that is known beforehand; that takes bounds that data do not decide.
* Values.  Integers that are known are numbers, since index arithmetic would fill the table of terms.  LLVM's lanes wait
  to become terms, since terms are fast in bulk only.
* Replays.  What was evaluated on demand is replayed by the interpreter's meanings (``demand/replay.py``), not by the
  evaluator with numbers for inputs: what is called different does not rest on what found it.
* Questions.  ``solve.py`` asks about integers as numbers, as index arithmetic wants it; ``llvm/bits.py`` about bits, as
  optimisers do.  So do the normal forms of ``normal.py`` and ``llvm/forms.py``.
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
