"""What a rule puts somewhere is in scope there, and nothing ill-formed stands between two rules of a chain."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, buffer, program, refused, variable
from tests.kernel.rules.test_axiom import then, theorem_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Load, Ramp, Select, StringImm, Var
from verified_tir.ir.stmt import Assume
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.bind import Inline
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.scope import Declare
from verified_tir.kernel.rules.vectorize import Vectorize
from verified_tir.schedule import moves

ABN = AB + ", n: T.int32"
EIGHT = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
RAMP = Ramp(const(0), const(1), 4)


def test_extents_of_an_allocation() -> None:
    f = program("for i in range(4):\n    B[i] = 1\nB[0] = 2", ABN)
    i = variable(f, "i")
    refused(f, Declare((1,), Buffer.declare("t", (i + 1,), "int32")), "i is not in scope here")
    accepted(f, Declare((0, 0), Buffer.declare("t", (i + 1,), "int32")))


def test_a_condition() -> None:
    f = program("for i in range(4):\n    B[i] = 1\nB[0] = 2", ABN)
    i = variable(f, "i")
    refused(f, moves.introduce((1,), i > 0), "variable i is not in scope here")
    accepted(f, moves.introduce((0, 0), i > 0))


def test_a_vector_store() -> None:
    f = program("for i in T.vectorized(4):\n    B[i] = A[i]", EIGHT)
    a = buffer(f, "A")
    accepted(f, Vectorize((), (RAMP,), Load(a, (RAMP,))))
    refused(f, Vectorize((), (RAMP,), Load(a, (RAMP + Ramp(Var.fresh("q"), const(0), 4),))), "q is not in scope here")
    g = program("for i in range(4):\n    B[0:4] = A[0:4]", EIGHT)
    refused(g, Vectorize((), (RAMP,), Load(buffer(g, "A"), (RAMP,))), "contains a vector store already")


def test_a_lane_is_defined_where_its_iteration_was() -> None:
    f = program("for i in T.vectorized(4):\n    B[i] = A[i]", EIGHT)
    a = buffer(f, "A")
    same, other = Load(a, (RAMP,)), Load(a, (Ramp(const(4), const(1), 4),))
    refused(f, Vectorize((), (RAMP,), Select(binary("lt", other, same), same, same)), "what its iteration of the loop")


def test_steps_lead_to_programs_that_theorems_are_about() -> None:
    f = program('x: T.let[T.int32] = A[0]\nt = T.alloc_buffer((x,), "int32")\nB[0] = 1')
    refused(f, Inline(()), "there is no theorem about the result: an extent of t reads memory")


def test_an_assumption_may_compute() -> None:
    params = 'F: T.Buffer((4,), "float32"), G: T.Buffer((4,), "float32")'
    theorem = theorem_of("G[0] = T.exp(F[0])", params)
    call = next(n for n in walk(theorem.after) if isinstance(n, Call))
    assert then(theorem, Axiom(Assume(binary("gt", call, const(0.0, "float32")))))


def test_groups_are_not_chosen_by_an_opaque_call() -> None:
    params = 'A: T.Buffer((10,), "int32"), B: T.Buffer((4,), "int32")'
    f = program("for k in range(9):\n    B[2] = B[2] + A[k]", params)
    asked = Call(const(0).dtype, "call_extern", (StringImm("g"),))
    refused(f, Reassociate((), Buffer.declare("P", (3,), "int32"), (asked % 3,)), "opaque call")
    two = Buffer.declare("P", (3, 3), "int32")
    refused(f, Reassociate((), two, (variable(f, "k") % 3,)), "P has 2 dimensions")
