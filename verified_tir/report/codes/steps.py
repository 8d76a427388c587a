"""VT03: a primitive does not apply to the program."""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes.page import COPY, ROWS, STAGES, SUM, Page, on, program

_AB = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
_TWICE = program("for i in range(16):\n    B[i] = A[i]\nfor i in range(16):\n    B[i] = B[i] * 2.0", _AB)
_TRIANGLE = program("for i in range(4):\n    for j in range(i + 1):\n        B[i] = B[i] + A[j]", _AB)
_SYMBOLIC = program(
    "for i in range(n):\n    B[i] = A[i]", 'A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32'
)
_BLOCK = program(
    'for i in range(16):\n    with T.sblock("b"):\n        v = T.axis.spatial(16, i)\n        B[v] = A[v]', _AB
)
_SAME_NAME = program(
    'for i in range(2):\n    with T.sblock("first"):\n        t = T.sblock_alloc_buffer((1,), "float32")\n        '
    "t[0] = A[i]\n"
    '        B[i] = t[0]\nfor j in range(2):\n    with T.sblock("second"):\n        t = T.sblock_alloc_buffer((1,), '
    '"float32")\n'
    "        t[0] = A[j]\n        B[j + 2] = t[0]",
    _AB,
)
_VECTORS = program(
    'for i in range(4):\n    with T.sblock("b"):\n        v = T.axis.spatial(4, i)\n'
    "        B[v * 4 : v * 4 + 4] = A[T.Ramp(v * 4, 1, 4)] + A[T.Ramp(v * 4, 1, 4)]",
    _AB,
)
_VIEW = program(
    'V = T.decl_buffer((16,), "int32", data=A.data)\nfor i in range(16):\n    with T.sblock("b"):\n'
    "        v = T.axis.spatial(16, i)\n        B[v] = V[v]",
    'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")',
)
_OPAQUE = program(
    't = T.alloc_buffer((16,), "float32")\nfor i in range(16):\n    with T.sblock("call"):\n        v = '
    "T.axis.spatial(16, i)\n"
    '        t[v] = T.call_extern("float32", "f", A[v])\nfor j in range(16):\n    B[j] = t[j]',
    _AB,
)
_HALVED = program(
    't = T.alloc_buffer((8,), "float32")\nfor i in range(16):\n    with T.sblock("half"):\n        t[i // 2] = A[i]\n'
    "for j in range(8):\n    B[j] = t[j]",
    _AB,
)
_LOCAL_VIEW = program(
    't = T.alloc_buffer((16,), "float32")\nV = T.decl_buffer((4, 4), "float32", data=t.data)\nfor i in range(16):\n'
    '    with T.sblock("b"):\n        t[i] = A[i]\nfor j in range(4):\n    B[j] = V[j, 0]',
    _AB,
)

PAGES: Final = (
    Page(
        "VT0301",
        "There is no loop of that name",
        "A loop is named by its variable in the text. The message lists the loops that there are.",
        on(COPY, 's.unroll("k")'),
        "Use one of the names, or the variable that `split`, `fuse` or `s.loops(block)` gave: it stays good when "
        "loops change.",
    ),
    Page(
        "VT0302",
        "Several loops have that name",
        "The name does not say which loop is meant.",
        on(_TWICE, 's.unroll("i")'),
        "Take the variable from `s.loops()` or `s.loops(block)`, and pass it instead of the name.",
    ),
    Page(
        "VT0303",
        "The loop is no longer there",
        "A step replaced the loop that the handle stood for; the message says which.",
        on(COPY, "(i,) = s.loops()", "s.split(i, [4, 4])", "s.unroll(i)"),
        "Use what that step returned, or take the loops anew from `s.loops()`.",
    ),
    Page(
        "VT0304",
        "That is not a loop of this schedule",
        "A loop is given by its variable or its name.",
        on(COPY, "s.unroll(3)"),
        "Pass a name, or a variable of this schedule's `s.loops()`.",
    ),
    Page(
        "VT0305",
        "There is no block of that name",
        "A block is named by `T.sblock(…)` in the program, or by `blockize`.",
        on(STAGES, 's.compute_inline("triple")'),
        "`s.blocks` lists the names.",
    ),
    Page(
        "VT0306",
        "Several blocks have that name",
        "The name does not say which block is meant.",
        on(STAGES.replace('"shift"', '"double"'), 's.compute_inline("double")'),
        "Give the blocks different names in the program.",
    ),
    Page(
        "VT0307",
        "There is no such buffer",
        'A buffer is given by its name or itself; where a block is named, also by its number: `("read", 0)`.',
        on(COPY, 's.transform_layout("C", lambda i: [i // 4, i % 4])'),
        "`s.buffers` lists the buffers as they are now.",
    ),
    Page(
        "VT0308",
        "Several buffers have that name",
        "The name does not say which buffer is meant.",
        on(_SAME_NAME, 's.transform_layout("t", lambda i: [i])'),
        "Pass the one of `s.buffers` that is meant.",
    ),
    Page(
        "VT0309",
        "There is nothing of that name",
        "A symbol, an expression, an annotation, a storage scope or a thread axis does not exist. The message lists "
        "what does.",
        on(COPY, 's.bind("i", "threadIdx")'),
        "Choose from what the message lists.",
    ),
    Page(
        "VT0310",
        "An argument of a step has the wrong form",
        "A factor, a position, a map or an order is not what the primitive takes.",
        on(COPY, 's.split("i", [None, None])'),
        "`help(Schedule.split)` (or of another primitive) says what it takes.",
    ),
    Page(
        "VT0311",
        "Factors or cuts do not fit the range of the loop",
        "The factors give too few iterations, or a cut lies outside of the loop's range.",
        on(COPY, 's.partition("i", 17)'),
        "Choose factors whose product is the extent, or let one be `None`: as many as are needed.",
    ),
    Page(
        "VT0312",
        "The loops are not perfectly nested",
        "Something other than loops and guards stands between the loops, or beside what is to be moved.",
        on(ROWS, 's.reorder("j", "i")'),
        "`fission` separates what stands between; `move_before` and `move_after` move a statement away.",
    ),
    Page(
        "VT0313",
        "The range of a loop depends on another loop",
        "The loops do not run over a box, as the primitive needs.",
        on(_TRIANGLE, 's.fuse("i", "j")'),
        "Partition or peel the outer loop until the inner one has a range of its own; `reorder` can exchange the "
        "loops of a triangle.",
    ),
    Page(
        "VT0314",
        "An extent or a start must be constant",
        "The primitive needs to know how often a loop runs.",
        on(_SYMBOLIC, 's.sample_perfect_tile("i", 2)'),
        "Split the loop by a constant factor, and use the inner loop.",
    ),
    Page(
        "VT0315",
        "The loop is marked already",
        "A loop that is bound or annotated is not split or fused any more, since nothing says which part keeps the "
        "mark.",
        on(COPY, 's.bind("i", "threadIdx.x")', 's.split("i", [4, 4])'),
        "Take the step first, and mark the loop then; `unannotate` removes an annotation.",
    ),
    Page(
        "VT0316",
        "The name is taken, or none is given",
        "A new block needs a name that no other has.",
        on(STAGES, 's.blockize("i", name="shift")'),
        "Give another `name=`.",
    ),
    Page(
        "VT0317",
        "Statements do not stand where the step needs them",
        "A block is not inside the loop, comes in the wrong order, or two statements do not stand in one sequence.",
        on(
            _TWICE.replace("(16):\n        B[i] = B", "(16):\n        B[i] = B").replace(
                "for i in range(16):\n        B[i] = B[i]", "for j in range(16):\n        B[j] = B[j]"
            ),
            's.reorder("j", "i")',
        ),
        "Bring them into that order first: `reorder`, `move_before`, `move_after`, `fission`.",
    ),
    Page(
        "VT0318",
        "That is about local buffers, and this is a parameter (or the other way round)",
        "The memory of a parameter is the caller's: its scope, strides and type are not the schedule's to change.",
        on(COPY, 's.set_scope("A", "shared")'),
        "Copy it first (`cache_read`, `cache_write`), and take the step with the copy.",
    ),
    Page(
        "VT0319",
        "The statement does not have the form that the step is about",
        "The primitive is about sums, single stores, branches with equal arms or the like, and finds something else.",
        on(_BLOCK, 's.split_write("b")'),
        "Bring it into that form first: `fission` separates statements, `decompose_reduction` the initialisation.",
    ),
    Page(
        "VT0320",
        "There is nothing to change",
        "No branch, no padding, no iteration that the step could do something about.",
        on(COPY, "s.remove_branching_through_overcompute()"),
        "Leave the step out, or name the block that is meant.",
    ),
    Page(
        "VT0321",
        "An opaque call is in the way",
        "What the call does is not known: it is called as often as before, in the same place.",
        on(_OPAQUE, 's.compute_inline("call")'),
        "Describe the call as an intrinsic (`tensorize`), or leave it where it is.",
    ),
    Page(
        "VT0322",
        "Vectors or masks are in the way",
        "The step is about one element an iteration.",
        on(_VECTORS, 's.split_write("b")'),
        "Take the step before `vectorize`.",
    ),
    Page(
        "VT0323",
        "The buffer has other views, or strides",
        "What changes the buffer would have to change its views along with it.",
        on(_LOCAL_VIEW, 's.unsafe_set_dtype("b", 0, "float16")'),
        "Take the step with a copy that has no views: `cache_read` or `cache_write`.",
    ),
    Page(
        "VT0324",
        "The intrinsic or function does not fit the nest",
        "The nest that is to be replaced is compared with the description, statement by statement; the message says "
        "what differs.",
        on(
            COPY,
            'halve = Schedule("""',
            "@T.prim_func",
            'def halve(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):',
            "    for i in range(16):",
            "        B[i] = A[i] * 0.5",
            '""")',
            's.tensorize("i", halve)',
        ),
        "Split by the extents of the intrinsic, put its loops innermost, give its buffers the scopes that it names.",
    ),
    Page(
        "VT0325",
        "The sum is one into another buffer",
        "`reassociate=` is your word that a certain sum may be rounded otherwise; it names the buffer that the sum "
        "goes into.",
        on(SUM, 's.decompose_reduction("sum", "k")', 's.reorder("l", "k", reassociate="A")'),
        "Name the buffer that is stored to.",
    ),
    Page(
        "VT0326",
        "Indices do not tell the iteration",
        "The step needs to know which iteration stored an element, and the indices do not say.",
        on(_HALVED, 's.compute_at("half", "j")'),
        "Index with every loop: no constant, sum or quotient alone.",
    ),
    Page(
        "VT0327",
        "The buffer is not used there",
        "The block or loop does not read or write the buffer in the way that the step is about.",
        on(COPY, 's.cache_read("B", "local")'),
        "Name a block or loop that does; `s.buffers` lists the buffers.",
    ),
    Page(
        "VT0328",
        "Types differ",
        "Loops, maps or elements have different types.",
        on(STAGES, 's.unsafe_set_dtype("double", 0, "float17")'),
        "Use one type for all; `T.cast` converts values.",
    ),
    Page(
        "VT0329",
        "The assumption contradicts others",
        "With it, no input would be left, and everything could be proved.",
        on(
            _SYMBOLIC.replace("    for", "    T.assume(n >= 1)\n    for"),
            'A = s.buffer("A")',
            's.assume(lambda i: A[i] >= 3.0, "A", axiom=True)',
            'A = s.buffer("A")',
            's.assume(lambda i: A[i] < 2.0, "A", axiom=True)',
        ),
        "`s.assumptions` lists what is assumed; assume less.",
    ),
    Page(
        "VT0330",
        "The index map does not fit",
        "It takes another number of indices, gives something that is no index, or is given a shape that is too small.",
        on(COPY, 's.transform_layout("A", lambda i, j: [i, j])'),
        "Give one argument for each dimension, and results that are not negative: `lambda i: [i // 4, i % 4]`.",
    ),
    Page(
        "VT0331",
        "The padding cannot have that value",
        "Padding holds a number of the buffer's type, `T.undef()`, `None` (nothing may touch it), or an expression of "
        "its own indices.",
        on(COPY, 's.transform_layout("A", lambda i: [i // 5, i % 5], pad_value="zero")'),
        "Give one of these.",
    ),
    Page(
        "VT0332",
        "That cannot be assumed in this form",
        "A condition is an expression of type bool over the buffer's own indices, and neither always true nor never.",
        on(COPY, 's.assume(lambda i: i + 1, "A", axiom=True)'),
        "Write `lambda i: A[i] >= 0`; to compare two expressions, `a.equal(b)`.",
    ),
)
