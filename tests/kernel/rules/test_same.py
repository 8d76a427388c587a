"""Labels, attributes, annotations, kinds and scopes come and go; nothing is owed for them but licences."""

from __future__ import annotations

from tests.kernel.programs import (
    AB,
    accepted,
    buffer,
    gives,
    licensed_for,
    load,
    program,
    refused,
    steps,
    store,
)
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Call, Var
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import SKIP, AttrStmt, Block, For, Seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import refresh_binders, rewrite, substitute
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.same import Same
from verified_tir.schedule.rule_builders import annotated, labelled, rescoped, unlabelled, unwrapped, with_attributes


def test_label_and_unwrap() -> None:
    gives(program("A[0] = 1"), labelled((), "b"), 'with T.sblock("b"):\n    A[0] = 1')
    gives(accepted(program("A[0] = 1"), labelled((), "b")), unwrapped(()), "A[0] = 1")
    gives(program('with T.attr("", "pragma", 1):\n    A[0] = 1'), unwrapped(()), "A[0] = 1")
    refused(program("A[0] = 1"), unwrapped(()), "neither a label nor an attribute")


def test_a_block_that_means_something_does_not_go() -> None:
    text = 'for i in range(4):\n    with T.sblock("b"):\n        vi = T.axis.spatial(4, i)\n        A[vi] = 1'
    refused(program(text), unwrapped((0,)), "neither a label")


def test_remove_labels_flattens() -> None:
    inner = accepted(program("A[0] = 1\nA[1] = 2\nB[0] = 3"), labelled((0,), "x"), labelled((), "y"))
    gives(inner, unlabelled, "A[0] = 1\nA[1] = 2\nB[0] = 3")


def test_a_label_around_several_statements() -> None:
    f = program("A[0] = 1\nA[1] = 2\nB[0] = 3")
    both = 'with T.sblock("b"):\n    A[0] = 1\n    A[1] = 2\nB[0] = 3'
    gives(f, labelled((0,), "b", 2), both)
    gives(accepted(f, labelled((0,), "b", 2)), unwrapped((0,)), "A[0] = 1\nA[1] = 2\nB[0] = 3")
    whole = accepted(f, labelled((0,), "b", 3))
    gives(whole, unwrapped(()), "A[0] = 1\nA[1] = 2\nB[0] = 3")
    refused(f, labelled((1,), "b", 3), "there are no 2 statements after this one")
    refused(program("A[0] = 1"), labelled((), "b", 2), "there are no 1 statements after this one")


def test_annotate() -> None:
    f = program("for i in range(4):\n    A[i] = 1")
    marked = accepted(f, annotated((), (("hint", 1),)))
    assert 'for i in range(4, annotations={"hint": 1}):' in script(marked) or "hint" in script(marked)
    gives(marked, annotated((), ()), "for i in range(4):\n    A[i] = 1")
    refused(f, annotated((0,), (("hint", 1),)), "it has no annotations")


def test_attributes() -> None:
    f = parse_func('@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    T.func_attr({"x": 1})\n    A[0] = 1\n')
    assert accepted(f, with_attributes(())).attrs == ()
    assert accepted(f, with_attributes(())).body is f.body


def test_what_means_something_stays() -> None:
    f = program("A[0] = 1\nfor i in range(2):\n    B[i] = A[i]")
    more = "they differ in more than labels"
    other = program("A[0] = 2\nfor i in range(2):\n    B[i] = A[i]").body
    refused(f, Same((), other), more)
    first, loop = f.body.stmts  # type: ignore[attr-defined]
    for new in (first, Seq((loop, first)), Seq((first, loop, first)), SKIP):
        refused(f, Same((), new), more)
    renamed, _ = refresh_binders(loop)
    refused(f, Same((1,), renamed), more)  # a variable keeps its identity
    longer = For(loop.var, loop.min, loop.extent + 1, loop.body)
    refused(f, Same((1,), longer), more)


def test_all_at_once() -> None:
    f = program("A[0] = 1\nfor i in range(2):\n    B[i] = A[i]")
    first, loop = f.body.stmts  # type: ignore[attr-defined]
    marked = For(loop.var, loop.min, loop.extent, Block.label("in", loop.body), "parallel", "", (("note", 1),))
    new = AttrStmt("key", "node", const(1), Block.label("all", Seq((Seq((first,)), Block.label("loop", marked)))))
    made = steps(f, Same((), new, (("attribute", 2),)))
    assert made.after.body is new and made.after.attrs == (("attribute", 2),)
    assert made.derivation[-1].obligations == ()
    back = accepted(made, Same((), f.body, ()))
    assert back is f


TWO = "t = T.alloc_buffer((1,), 'float32')\nu = T.alloc_buffer((1,), 'float32')\n"


def test_blocks_keep_who_they_are() -> None:
    """Else a licence to sum into one of them would become one to sum into the other."""
    f = program(f"{TWO}t[0] = T.float32(1)\nu[0] = T.float32(2)")
    t, u = buffer(f, "t"), buffer(f, "u")
    swapped = rewrite(f.body, {t.data: u.data, u.data: t.data}.get)  # type: ignore[arg-type]
    refused(f, Same((), swapped), "is not fresh")
    handed_on = rewrite(f.body, {t.data: Var.fresh("w", t.data.type), u.data: t.data}.get)  # type: ignore[arg-type]
    refused(f, Same((), handed_on), "is not fresh")
    one = Var.fresh("one", PointerType(t.dtype, "shared"))
    both = rewrite(f.body, lambda n: one if n in (t.data, u.data) else None)
    refused(f, Same((), both), "they differ in more than")
    typed = Var.fresh("t", PointerType(DType.parse("int8"), "shared"))
    refused(f, Same((), substitute(f.body, {t.data: typed})), "differs from t in more than its scope")
    bare_handle = Var.fresh("t", DType.parse("handle"))
    refused(f, Same((), substitute(f.body, {t.data: bare_handle})), "differs from t in more than its scope")
    of_any_type = f.with_body(substitute(f.body, {t.data: bare_handle}))
    refused(of_any_type, Same((), substitute(of_any_type.body, {bare_handle: one})), "in more than its scope")


def test_a_licence_goes_with_the_block() -> None:
    f = program(f"{TWO}t[0] = T.float32(1)\nu[0] = T.float32(2)")
    blocks = {n: buffer(f, n).data for n in "tu"}
    new = {n: Var.fresh(n, PointerType(buffer(f, n).dtype, "shared")) for n in "tu"}
    both = Same((), substitute(f.body, {blocks[n]: new[n] for n in "tu"}))
    for licensed in ("t", "u", "tu"):
        made = steps(licensed_for(f, *licensed), both)
        assert [n for n in "tu" if new[n] in made.licensed] == [*licensed]
    made = steps(licensed_for(f, "t"), rescoped((0,), "shared"), rescoped((), "shared"))
    assert buffer(made.after, "t").data in made.licensed and buffer(made.after, "u").data not in made.licensed


def test_an_opaque_call_is_told_where_its_arguments_live() -> None:
    text = "t = T.alloc_buffer((4,), 'int32')\nt[0] = 1\nT.evaluate(T.call_extern('int32', 'fill', {}))\nB[0] = t[0]"
    for argument in ("t.data", "T.address_of(t[0])"):
        refused(program(text.format(argument)), rescoped((), "shared"), "the address of t escapes to an opaque call")
    named = text.replace("T.evaluate", "p: T.let[T.handle] = t.data\nT.evaluate").format("p")
    refused(program(named), rescoped((), "shared"), "the address of t escapes to an opaque call")
    accepted(program(text.format("B.data")), rescoped((), "shared"))


def test_a_call_in_an_annotation_writes_nothing() -> None:
    """A and C, which are only read, may be one array; to write what stands in A already would need two."""
    f = program("for i in range(4):\n    B[i] = A[i] + C[i]", AB + ', C: T.Buffer((4,), "int32")')
    a = buffer(f, "A")
    call = Call(a.dtype, "anything", ())
    noted = accepted(f, annotated((), (("note", call),)))
    again = Insert((), store(a, load(a, 0), 0), "before")
    refused(f, again, "A would be written, which was only read")
    refused(noted, again, "A would be written, which was only read")
