"""Whenever a function becomes one that refines it, the interpreter agrees; and a module means what its calls expand to.

``VTIR_EXAMPLES`` sets how many programs there are.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kernel.exhaustive.family import plain_solver
from tests.kernel.exhaustive.oracle import disagreement, inputs_of, outcome, outcomes
from tests.kernel.programs import function
from tests.rules.random_programs import Draw, Scope, bounds, one_of, programs, statement
from tests.rules.random_rules import RULES, application
from verified_tir.elaborate.calls import expand_calls
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import VOID
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Call, Expr, IntImm, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.script import parse, script
from verified_tir.ir.stmt import DeclBuffer, Evaluate, For, Stmt, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import refresh_binders
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.semantics.interpreter import Outcome, refines, run

EXAMPLES = int(os.environ.get("VTIR_EXAMPLES", "60"))
SOLVER = plain_solver()
CALM = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 60,  # who asks for more wants others each time
    suppress_health_check=list(HealthCheck),
    database=None,
)


def lemma(draw: Draw, func: PrimFunc) -> Refines:
    """A few steps of any kind that the kernel accepts."""
    theorem, prover = reflexive(func), Prover(SOLVER)
    for _ in range(draw(st.integers(1, 4))):
        rule = application(draw, draw(st.sampled_from([r for r in RULES if r != "relayout"])), theorem.after)
        result = None if rule is None else apply(rule, theorem, prover)
        if isinstance(result, Refines):
            theorem = result
    return theorem


def argument(draw: Draw, p: Buffer, owners: list[Buffer], i: Var) -> Buffer:
    """A whole buffer, or a view: of a fresh block or of one that another argument may have, here or there."""
    sizes = [e.value for e in p.shape if isinstance(e, IntImm)]
    kind = draw(st.integers(0, 3))
    if kind <= 1:
        whole = Buffer.declare(f"{p.name}_whole", tuple(sizes), p.dtype)
        owners.append(whole)
        return whole
    same = [b for b in owners if b.dtype is p.dtype and len(b.shape) == 1]
    if kind == 2 or not same:
        owners.append(Buffer.declare(f"{p.name}_block", (draw(st.integers(6, 24)),), p.dtype))
        owner = owners[-1]
    else:
        owner = one_of(draw, *same)
    offset: Expr = const(draw(st.integers(0, 12)))
    if draw(st.integers(0, 2)) == 0:
        offset = i * one_of(draw, 1, 6) + offset
    strides: tuple[int, ...] = ()
    if draw(st.booleans()):
        strides = (*[draw(st.integers(0, 4)) for _ in sizes[1:]], draw(st.integers(0, 2)))
        strides = strides[: len(sizes)]
    return Buffer.declare(f"{p.name}_view", tuple(sizes), p.dtype, data=owner.data, strides=strides, elem_offset=offset)


def called(draw: Draw, proved: Refines) -> tuple[PrimFunc, Refine]:
    """A program that does what the function does, on arguments drawn at random."""
    i, m = Var.fresh("i"), Var.fresh("m")
    owners: list[Buffer] = []
    buffers = tuple(argument(draw, p, owners, i) for p in proved.before.buffers)
    (n,) = scalars_of(proved.before)
    arguments = Arguments(buffers, ((n, one_of(draw, m, i, const(2), m + i)),))
    body, _ = refresh_binders(instantiate(proved.before, arguments))
    views = [b for b in buffers if b not in owners]
    inner: Stmt = body
    for view in reversed(views):
        inner = DeclBuffer(view, inner)
    loop = For(i, const(0), const(draw(st.integers(1, 2))), inner)
    return function([*owners, m], loop), Refine((0,) * (1 + len(views)), proved, arguments)


def test_whenever_a_function_is_refined_the_interpreter_agrees() -> None:
    @settings(CALM, max_examples=3 * EXAMPLES)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        proved = lemma(data.draw, data.draw(programs()))
        func, rule = called(data.draw, proved)
        result = apply(rule, reflexive(func), Prover(SOLVER))  # type: ignore[arg-type]
        if isinstance(result, Refines):
            inputs = inputs_of(func, (0, 1, 2))
            problem = disagreement(result, inputs, outcomes(func, inputs))
            assert problem is None, f"{script(func)}\n--->\n{script(result.after)}\n{problem}"

    check()


# -- modules ---------------------------------------------------------------------------------------------------------


@st.composite
def modules(draw: Draw) -> IRModule:
    """A function that calls another in a loop, sometimes twice, and sometimes by way of a third."""
    callee = draw(programs())
    a, b, c = callee.buffers
    callee = PrimFunc("callee", callee.params, callee.buffer_map, callee.body)
    x, y, z = (Buffer.declare(f"{v.name}{v.name}", v.shape, v.dtype) for v in (a, b, c))
    if draw(st.integers(0, 2)) == 0:  # seen by the callee as two rows of three
        y = Buffer.declare("YY", (draw(st.integers(5, 7)),), y.dtype)
    n, i = Var.fresh("n"), Var.fresh("i")
    name = "callee"
    functions = [("callee", callee)]
    if draw(st.booleans()):
        p, q, r = (Buffer.declare(v.name, v.shape, v.dtype) for v in (a, b, c))
        m = Var.fresh("m")
        inner = Evaluate(Call(VOID, "@callee", (p.data, q.data, r.data, m)))
        between = function([p, q, r, m], inner, "between")
        functions.append(("between", between))
        name = "between"
    value = one_of(draw, n, i, const(1), n + i)
    call: Stmt = Evaluate(Call(VOID, f"@{name}", (x.data, y.data, z.data, value)))
    scope = Scope([n, i], [x, z], 2)
    body = seq(statement(draw, scope), call, statement(draw, scope)) if draw(st.booleans()) else call
    low, extent = bounds(draw, Scope([n], [], 1))
    main = function([x, y, z, n], For(i, low, extent, body), "main")
    return IRModule((("main", main), *functions))


def test_a_module_means_what_its_calls_expand_to() -> None:
    @settings(CALM, max_examples=2 * EXAMPLES)
    @given(modules())
    def check(module: IRModule) -> None:
        main = module["main"]
        expanded = expand_calls(module, "main")
        for given_ in inputs_of(main, (0, 1, 2)):
            try:
                first = run(main, given_.args, module=module, defined=given_.defined, max_steps=2000)
            except Exception as problem:  # no meaning: the expansion may have one
                assert type(problem).__name__ != "TypeError", problem
                continue
            second = outcome(expanded, given_)
            assert isinstance(second, Outcome), f"{script(module)}\n--->\n{script(expanded)}\n{second!r}"
            assert not refines(first, second) and not refines(second, first)

    check()


def test_modules_read_back_as_they_are_written() -> None:
    @settings(CALM, max_examples=EXAMPLES)
    @given(modules())
    def check(module: IRModule) -> None:
        assert structural_equal(parse(script(module)), module), script(module)

    check()
