"""What the files of this folder share: a scheduled program is compared with the one that RFC 77 displays for the step.

RFC 77 is TVM's roadmap for padding that comes with a layout.  Its programs are restated in the text format of this
package, its mistakes corrected; docs/rfc77-errata.md lists these.
"""

from verified_tir import PrimFunc, Refuted, Schedule, ScheduleError, script
from verified_tir.ir.equal import structural_equal


def assert_structural_equal(s: Schedule | PrimFunc, displayed: PrimFunc) -> None:
    """The program is the displayed one, but for the names of functions, loops, buffers and blocks.

    :raises AssertionError: if it is not; shows both.
    """
    program = s.func if isinstance(s, Schedule) else s
    if not structural_equal(program, displayed):
        raise AssertionError(f"not what is displayed:\n{script(program)}\ninstead of\n{script(displayed)}")


def assert_confirmed(refusals: list[ScheduleError]) -> None:
    """The refused step came with an input on which it would have changed the result, and running it showed that."""
    (refused,) = refusals
    assert isinstance(refused, Refuted) and refused.confirmed, str(refused)
