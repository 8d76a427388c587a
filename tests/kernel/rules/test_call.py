"""A function on some arguments becomes one that refines it."""

from __future__ import annotations

from tests.kernel.programs import PROVER, accepted, body_of, buffer, load, program, refused, take, variable, why
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Cast, Expr, Load, StringImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.scope import Declare
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder, of_kind

DOUBLE = """
@T.prim_func
def double(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for k in range(4):
        Y[k] = X[k] * T.float32(2)
"""


def lemma(func: PrimFunc, *rules: Rule | RuleBuilder) -> Refines:
    """The function refined by the rules."""
    theorem = reflexive(func)
    for rule in rules:
        new = take(rule, theorem)
        assert isinstance(new, Refines), why(new)
        theorem = new
    return theorem


def halves(text: str = DOUBLE) -> Refines:
    """The function's loop in two parts."""
    return lemma(parse_func(text), moves.split_index_set((), const(2)))


def call(path: tuple[int, ...], proved: Refines, func: PrimFunc, *names: str, **values: Expr) -> Refine:
    """The rule, with buffers and values by name."""
    symbols: list[Var] = [v for v in scalars_of(proved.before) if v.name in values]
    arguments = Arguments(tuple(buffer(func, n) for n in names), tuple((v, values[v.name]) for v in symbols))
    return Refine(path, proved, arguments)


AB = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
LOOP = "for i in range(4):\n    B[i] = A[i] * T.float32(2)"


def viewed(func: PrimFunc, *views: Buffer) -> PrimFunc:
    """The program with views declared around it."""
    return accepted(func, *[Declare((0,) * k, v, True) for k, v in enumerate(views)])


def over(
    func: PrimFunc, name: str, view: str, shape: tuple[Expr | int, ...], **more: Expr | int | tuple[int, ...]
) -> Buffer:
    b = buffer(func, name)
    return Buffer.declare(view, shape, b.dtype, data=b.data, scope=b.scope, **more)  # type: ignore[arg-type]


def test_whole_buffers() -> None:
    f = program(LOOP, AB)
    assert body_of(accepted(f, call((), halves(), f, "A", "B"))) == (
        "for k in range(2):\n    B[k] = A[k] * T.float32(2.0)\nfor k in range(2, 4):\n    B[k] = A[k] * T.float32(2.0)"
    )
    refused(f, call((), halves(), f, "B", "A"), "the statement is not double on the arguments")
    refused(f, call((), halves(), f, "A"), "double takes 2 buffers, not 1")
    three = program(LOOP.replace("range(4)", "range(3)"), AB)
    refused(three, call((), halves(), three, "A", "B"), "the statement is not double on the arguments")
    refused(f, call((0, 0), halves(), f, "A", "B"), "no statement")


def test_labels_do_not_matter_and_binders_are_fresh() -> None:
    twice = program(f"with T.block('one'):\n    {LOOP.replace(chr(10), chr(10) + '    ')}\n{LOOP}", AB)
    again = accepted(twice, call((0,), halves(), twice, "A", "B"))
    assert accepted(again, call((2,), halves(), again, "A", "B"))


def test_types_scopes_and_ranks_must_agree() -> None:
    for params, words in (
        (AB.replace("float32", "float64"), "X of double has type float32, and A has type float64"),
        ('A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32", scope="shared")', "Y of double has scope global"),
        ('A: T.Buffer((2, 2), "float32"), B: T.Buffer((4,), "float32")', "X of double has rank 1, and A has rank 2"),
    ):
        f = program("for i in range(4):\n    B[i] = B[i]", params)
        refused(f, call((), halves(), f, "A", "B"), words)


def test_another_shape_is_refused_though_only_the_same_elements_are_touched() -> None:
    f = program(LOOP, AB.replace("(4,)", "(5,)"))
    refused(f, call((), halves(), f, "A", "B"), "A, passed for X of double: dimension 0 is the parameter's (Refuted)")


# -- aliases -----------------------------------------------------------------------------------------------------------


def test_a_written_buffer_may_not_be_passed_twice() -> None:
    f = program("for i in range(4):\n    B[i] = B[i] * T.float32(2)", AB)
    refused(f, call((), halves(), f, "B", "B"), "B and B, for X and Y of double, do not overlap (Refuted)")


READS = """
@T.prim_func
def add(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32"), Z: T.Buffer((4,), "float32")):
    for k in range(4):
        Z[k] = X[k] + Y[k]
"""


def test_a_buffer_that_is_only_read_may() -> None:
    f = program("for i in range(4):\n    B[i] = A[i] + A[i]", AB)
    assert "A[k] + A[k]" in body_of(accepted(f, call((), halves(READS), f, "A", "A", "B")))


def test_written_views_have_nothing_in_common_with_others() -> None:
    f = program("for i in range(4):\n    v[i] = u[i] * T.float32(2)".replace("v", "A").replace("u", "A"),
                'A: T.Buffer((8,), "float32")')  # fmt: skip
    body = "u = T.decl_buffer((4,), 'float32', data=A.data)\n"
    body += "v = T.decl_buffer((4,), 'float32', data=A.data, elem_offset={0})\n"
    body += "for i in range(4):\n    v[i] = u[i] * T.float32(2)"
    for offset, fine in ((4, True), (3, False), (0, False)):
        f = program(body.format(offset), 'A: T.Buffer((8,), "float32")')
        rule = call((0, 0), halves(), f, "u", "v")
        if fine:
            accepted(f, rule)
        else:
            refused(f, rule, "u and v, for X and Y of double, do not overlap (Refuted)")


def test_a_written_view_reaches_each_element_once() -> None:
    body = "v = T.decl_buffer((4,), 'float32', data=B.data, strides=[{0}])\n"
    body += "for i in range(4):\n    v[i] = A[i] * T.float32(2)"
    for stride, fine in ((2, True), (1, True), (0, False)):
        f = program(body.format(stride), 'A: T.Buffer((4,), "float32"), B: T.Buffer((8,), "float32")')
        rule = call((0,), halves(), f, "A", "v")
        if fine:
            accepted(f, rule)
        else:
            refused(f, rule, "no two indices of v, passed for Y of double, address the same element (Refuted)")


def test_a_block_with_views_of_several_types_is_not_written() -> None:
    body = "w = T.decl_buffer((4,), 'int32', data=B.data)\n" + LOOP
    f = program(body, AB)
    refused(f, call((0,), halves(), f, "A", "B"), "the block of B has views of several types")
    f = program(body.replace("B.data", "A.data"), AB)  # it is only read
    accepted(f, call((0,), halves(), f, "A", "B"))


# -- what only the other program touches -------------------------------------------------------------------------------

FIRST = """
@T.prim_func
def first(X: T.Buffer((4,), "float32"), n: T.int32):
    T.assume(n <= 4)
    for k in range(n):
        X[k] = T.float32(0)
"""


def again() -> Refines:
    """``first``, and then all of X is written as it is."""
    func = parse_func(FIRST)
    x = buffer(func, "X")
    k = const(3)
    return lemma(func, Insert((1,), Store(x, x[k], (k,)), "after"))


CLEAR = "T.assume(n <= 4)\nfor i in range(n):\n    {0}[i] = T.float32(0)"


def test_all_of_an_argument_is_there() -> None:
    """Only n elements are touched by ``first``, all of them by what refines it."""
    body = "v = T.decl_buffer((4,), 'float32', data=A.data)\n" + CLEAR.format("v")
    for size in (2, 4):
        f = program(body, f'A: T.Buffer(({size},), "float32"), n: T.int32')
        rule = call((0,), again(), f, "v", n=variable(f, "n"))
        if size == 2:
            refused(f, rule, "every element of v, passed for X of first, may be accessed (Refuted)")
        else:
            assert "v[3] = v[3]" in body_of(accepted(f, rule))


def test_other_iterations_are_not_disturbed() -> None:
    """What was not even read is now written; iterations that run at once may not meet there."""
    text = (
        "for p in T.parallel(2):\n    v = T.decl_buffer((4,), 'float32', data=A.data, elem_offset=p * {0})\n"
        "    T.assume(n <= 4)\n    for i in range({1}):\n        v[i] = T.float32(0)"
    )
    for step in (2, 4):
        f = program(text.format(step, "n"), 'A: T.Buffer((8,), "float32"), n: T.int32')
        rule = call((0, 0), again(), f, "v", n=variable(f, "n"))
        if step == 2:
            refused(f, rule, "race: the loop over p is parallel")
        else:
            accepted(f, rule)


def test_inaccessible_padding_is_not_touched() -> None:
    """The elements exist, and nobody may touch them."""
    labelled = CLEAR.format("A").replace("\n", "\n    ")
    f = program(f"T.assume(n <= 2)\nwith T.block('b'):\n    {labelled}", 'A: T.Buffer((2,), "float32"), n: T.int32')
    x, y = Var.fresh("x"), Var.fresh("y")
    layout = LayoutMap((x,), (x,), (y,), (y,), (const(4),), binary("ge", y, 2))
    for value, words in (
        (None, "every element of A, passed for X of first, may be accessed"),
        (const(0.0, "float32"), ""),
    ):
        padded = apply(Relayout(buffer(f, "A"), layout, value), reflexive(f), PROVER)
        assert isinstance(padded, Refines), why(padded)
        after = padded.after
        result = apply(call((1,), again(), after, "A", n=variable(after, "n")), padded, PROVER)
        assert isinstance(result, Refines) == (not words)
        assert isinstance(result, Refines) or words in why(result)


# -- scalars and symbols -----------------------------------------------------------------------------------------------

SHAPED = """
@T.prim_func
def shaped(X: T.Buffer((n,), "float32"), n: T.int32):
    for k in range(n):
        X[k] = T.float32(0)
"""


def reversed_loop(text: str = SHAPED) -> Refines:
    """The function's loop, marked; the mark means nothing, but the lemma has a step."""
    return lemma(parse_func(text), of_kind((), "unrolled"))


def test_symbols_are_extents_that_arrays_can_have() -> None:
    body = "for i in range({0}):\n    v = T.decl_buffer(({1},), 'float32', data=A.data)\n"
    body += "    for j in range({1}):\n        v[j] = T.float32(0)"
    for extent, fine in (("i", True), ("i - 1", False), ("i + 2", False)):
        f = program(body.format(4, extent), 'A: T.Buffer((4,), "float32")')
        view = buffer(f, "v")
        rule = call((0, 0), reversed_loop(), f, "v", n=view.shape[0])
        if fine:
            accepted(f, rule)
        else:
            words = (
                "v, passed for X of shaped: it is no larger than an array (Refuted)"
                if extent == "i - 1"
                else "may be accessed (Refuted)"
            )
            refused(f, rule, words)
    f = program(body.format(4, "i"), 'A: T.Buffer((4,), "float32")')
    refused(f, call((0, 0), reversed_loop(), f, "v", n=const(3)), "the statement is not shaped on the arguments")
    refused(
        f,
        call((0, 0), reversed_loop(), f, "v"),
        "shaped takes one value for each of its scalars and symbols (n: int32)",
    )


POWER = """
@T.prim_func
def power(X: T.Buffer((4,), "int32"), n: T.int32):
    for k in range(4):
        X[k] = n + 1
"""


def test_data_is_no_scalar() -> None:
    """A parameter may not overflow; what was loaded wraps."""
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'
    f = program("for i in range(4):\n    B[i] = A[0] + 1", params)
    load_of_a = next(n for n in walk(f.body) if isinstance(n, Load))
    refused(f, call((), reversed_loop(POWER), f, "B", n=load_of_a), "would be computed from memory")
    f = program("x: T.int32 = A[0]\nfor i in range(4):\n    B[i] = x + 1", params)
    refused(f, call((0,), reversed_loop(POWER), f, "B", n=variable(f, "x")), "n of power would be data, which wraps")
    f = program("for p in range(3):\n    for i in range(4):\n        B[i] = p * 2 + 1", params)
    p = variable(f, "p")
    assert "p * 2 + 1" in body_of(accepted(f, call((0,), reversed_loop(POWER), f, "B", n=p * 2)))
    refused(f, call((0,), reversed_loop(POWER), f, "B", n=Var.fresh("q")), "the statement is not power")
    unused = reversed_loop(POWER.replace("n + 1", "1"))
    f = program("for i in range(4):\n    B[i] = 1", params)
    accepted(f, call((), unused, f, "B", n=const(7)))
    refused(f, call((), unused, f, "B", n=Var.fresh("q")), "variable q is not in scope")


def test_a_scalar_that_cannot_be_evaluated_is_refused() -> None:
    """The body does not run, so nobody divided by zero before."""
    never = """
@T.prim_func
def never(X: T.Buffer((4,), "int32"), n: T.int32):
    for k in range(0):
        X[k] = n
"""
    f = program("for i in range(0):\n    B[i] = 8 // m", 'B: T.Buffer((4,), "int32"), m: T.int32')
    m = variable(f, "m")
    refused(f, call((), reversed_loop(never), f, "B", n=8 // m), "division by zero (Refuted)")


def test_declared_strides_and_offsets_are_the_arguments() -> None:
    strided = """
@T.prim_func
def strided(X: T.Buffer((4,), "float32", strides=[1]), s: T.int32):
    T.assume(s <= 4)
    for k in range(4):
        X[k] = T.float32(0)
"""
    text = "v = T.decl_buffer((4,), 'float32', data=A.data, strides=[{0}])\nT.assume(s <= 4)\n"
    text += "for i in range(4):\n    v[i] = T.float32(0)"
    proved = lemma(parse_func(strided), of_kind((1,), "unrolled"))
    for stride in (1, 2):
        f = program(text.format(stride), 'A: T.Buffer((8,), "float32"), s: T.int32')
        rule = call((0,), proved, f, "v", s=variable(f, "s"))
        if stride == 1:
            accepted(f, rule)
        else:
            refused(f, rule, "v, passed for X of strided: its strides are the parameter's (Refuted)")


def test_what_is_assumed_stands_in_the_statement() -> None:
    f = program("for i in range(n):\n    A[i] = T.float32(0)", 'A: T.Buffer((4,), "float32"), n: T.int32')
    refused(f, call((), again(), f, "A", n=variable(f, "n")), "the statement is not first on the arguments")


# -- blocks known otherwise, and lemmas that say something else --------------------------------------------------------

VIEWED = """
@T.prim_func
def viewed(X: T.Buffer((4,), "float32")):
    w = T.decl_buffer((2, 2), "float32", data=X.data)
    for k in range(2):
        w[k, k] = T.float32(0)
"""


def test_a_block_seen_through_another_view_is_passed_whole() -> None:
    """In a part of a block, or with other strides, the view inside would be of other elements."""
    proved = lemma(parse_func(VIEWED), of_kind((0,), "unrolled"))
    inside = "w = T.decl_buffer((2, 2), 'float32', data=A.data)\nfor i in range(2):\n    w[i, i] = T.float32(0)"
    f = program(inside, 'A: T.Buffer((4,), "float32")')
    assert "T.unroll(2)" in body_of(accepted(f, call((), proved, f, "A")))
    for more in ("elem_offset=4", "strides=[2]"):
        f = program(f"v = T.decl_buffer((4,), 'float32', data=A.data, {more})\n{inside}",
                    'A: T.Buffer((8,), "float32")')  # fmt: skip
        refused(f, call((0,), proved, f, "v"), "X of viewed is known by its pointer, and v is not a whole block")


def test_functions_that_may_not_end_are_refused() -> None:
    for line, words in (
        ("assert X[0] > 0.0, 'no'", "may not run to its end"),
        ("T.evaluate(T.call_extern('int32', 'g', X.data))", "makes an opaque call"),
    ):
        text = f"@T.prim_func\ndef g(X: T.Buffer((4,), 'float32')):\n    {line}\n    X[0] = T.float32(0)\n"
        f = program(f"{line.replace('X', 'A')}\nA[0] = T.float32(0)", 'A: T.Buffer((4,), "float32")')
        refused(f, call((), lemma(parse_func(text)), f, "A"), words)


def test_a_lemma_about_other_layouts_is_refused() -> None:
    x, y = Var.fresh("x"), Var.fresh("y")
    func = parse_func(DOUBLE)
    layout = LayoutMap((x,), (x,), (y,), (y,), (const(8),), binary("ge", y, 4))
    padded = lemma(func, Relayout(buffer(func, "X"), layout, None))
    f = program(LOOP, AB)
    refused(f, call((), padded, f, "A", "B"), "changes the layout of a parameter")


def test_pointers_are_passed_as_buffers_only() -> None:
    body = "    for k in range(4):\n        X[k] = X[k] + X[k]\n"
    text = f"@T.prim_func\ndef g(X: T.Buffer((4,), 'float32'), p: T.handle):\n{body}"
    f = program("for i in range(4):\n    A[i] = A[i] + A[i]", 'A: T.Buffer((4,), "float32")')
    proved = reversed_loop(text)
    (p,) = scalars_of(proved.before)
    for pointer, words in ((f.params[0], "variable A is not in scope as one number"),
                           (Cast(p.dtype, const(1)), "p of g would be data"),
                           (Call(p.dtype, "address_of", (load(f.buffers[0], 0),)), "would be computed from memory"),
                           (StringImm("a"), "a StringImm has no value in the logic")):  # fmt: skip
        refused(f, Refine((), proved, Arguments(f.buffers, ((p, pointer),))), words)


def test_a_lemma_about_definite_values_is_refused() -> None:
    f = program(LOOP, AB)
    theorem = take(moves.split_index_set((), const(2)), reflexive(parse_func(DOUBLE), definite=True))
    assert isinstance(theorem, Refines)
    refused(f, call((), theorem, f, "A", "B"), "is about arguments of definite values only")


def test_what_proved_the_lemma_proves_the_theorem() -> None:
    f = program(LOOP, AB)
    proved = halves()
    result = apply(call((), proved, f, "A", "B"), reflexive(f), PROVER)
    assert isinstance(result, Refines) and proved.proved_by <= result.proved_by
    claims = [d.obligation.claim for d in result.derivation[0].obligations]
    assert "A, passed for X of double: dimension 0 is the parameter's" in claims
