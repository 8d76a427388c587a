"""What the files of this folder share: a scheduled program is compared with the one that RFC 77 displays for the step.

RFC 77 is TVM's roadmap for padding that comes with a layout.  Its programs are restated in the text format of this
package, its mistakes corrected; docs/rfc77-errata.md lists these.
"""

from verified_tir import PrimFunc, Refines, Refuted, Schedule, ScheduleError, script
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.paths import at, places
from verified_tir.ir.stmt import For, If
from verified_tir.ir.visit import substitute
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.theorem import apply
from verified_tir.logic.solver import Solver
from verified_tir.schedule.edits import rewritten


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


def conditions_rewritten(s: Schedule, displayed: PrimFunc) -> Refines | Unproved | NoMatch:
    """What the kernel says if the conditions of all branches become those of a program that is otherwise the same."""
    theorem = s.theorem
    for path, branch in places(displayed.body, lambda stmt: isinstance(stmt, If)):
        around = [(at(displayed.body, path[:k]), at(theorem.after.body, path[:k])) for k in range(len(path))]
        names = {theirs.var: ours.var for theirs, ours in around if isinstance(theirs, For) and isinstance(ours, For)}
        assert isinstance(branch, If)
        wanted = substitute(branch.condition, names)
        here = at(theorem.after.body, path)
        if isinstance(here, If) and here.condition is not wanted:
            result = apply(rewritten(path, (0,), wanted), theorem, Prover(Solver()))
            if not isinstance(result, Refines):
                return result
            theorem = result
    return theorem
