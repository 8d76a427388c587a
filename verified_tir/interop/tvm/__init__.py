"""TVM under the validator: every pass of a build, every step of a schedule.

As Alive2 watches LLVM's ``opt``, this watches TVM 0.27: programs are printed before and after each change, read back by
our own parser and compared by :mod:`verified_tir.validate`, which knows nothing of TVM.

    reading         TVM's functions as our programs
    layouts         how TVM's index maps move parameters
    judge           one change: read, compared, reported
    report          what was found, as values, text and JSON
    instrument      ``ValidatingInstrument``: the passes of a build
    primitives      names and arguments of a schedule's primitives
    schedule        ``ValidatedSchedule``: the steps of a schedule

Needs the extra ``tvm``.
"""

from verified_tir.extras import install

try:
    import tvm as _tvm  # noqa: F401
    import tvm.s_tir as _s_tir  # noqa: F401
except ImportError as problem:
    raise ImportError(
        f"verified_tir.interop.tvm needs TVM 0.27, which could not be imported ({problem}): {install('tvm')}"
    ) from problem

from verified_tir.interop.tvm.instrument import NOT_VALIDATED, ValidatingInstrument
from verified_tir.interop.tvm.judge import Limits
from verified_tir.interop.tvm.reading import Printed, read
from verified_tir.interop.tvm.report import DifferenceFound, DifferenceWarning, StepReport, table, to_json
from verified_tir.interop.tvm.schedule import ValidatedSchedule

__all__ = [
    "NOT_VALIDATED",
    "DifferenceFound",
    "DifferenceWarning",
    "Limits",
    "Printed",
    "StepReport",
    "ValidatedSchedule",
    "ValidatingInstrument",
    "read",
    "table",
    "to_json",
]
