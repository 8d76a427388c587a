"""VT04: a claim that a step owes is false, or was not decided."""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes.page import COPY, ROWS, STAGES, SUM, Page, on, program

_AB = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
_BIG = 'A: T.Buffer((65536, 65536), "float32")'
_SHIFT = program("for i in range(15):\n    A[i] = A[i + 1]", _AB)
_LOCAL = program(
    't = T.alloc_buffer((16,), "float32")\nfor i in range(16):\n    with T.sblock("t"):\n        t[i] = A[i]\n    '
    "A[i] = 0.0\n"
    "    B[i] = t[i]",
    _AB,
)
_PADDED = (
    's.transform_layout("A", lambda i, j: [i, j // 4, j % 4]{})',
    's.sequential_buffer_access("A")',
    "s.remove_branching_through_overcompute()",
)

PAGES: Final = (
    Page(
        "VT0401",
        "After the step an access would be out of bounds",
        "The step makes the program evaluate something where it did not before, and there an index is out of range.",
        on(
            program("for i in range(20):\n    if i < 16:\n        B[i % 16] = A[i]", _AB),
            "s.remove_branching_through_overcompute()",
        ),
        "Pad the buffer by `transform_layout` with a `pad_value` and a larger `shape=`, or keep the branch.",
    ),
    Page(
        "VT0402",
        "After the step index arithmetic would overflow",
        "The new loops or indices need numbers that do not fit their type.",
        on(program("for i, j in T.grid(65536, 65536):\n    A[i, j] = 0.0", _BIG), 's.fuse("i", "j")'),
        "Count in `int64`, or bound the symbols with `T.assume`.",
    ),
    Page(
        "VT0403",
        "After the step something undefined would decide",
        "A condition, an index or a bound would depend on a value that was never stored.",
        on(
            program('t = T.alloc_buffer((4,), "int32")\nt[0] = 1\nA[0] = t[0]', 'A: T.Buffer((4,), "int32")'),
            's.assume(lambda i: t[i] > 0, "t")',
        ).replace("s.assume", 't = s.buffer("t")\ns.assume'),
        "Store to the buffer first; or take the step where it has been stored to (`before=`).",
    ),
    Page(
        "VT0404",
        "Something that must hold there does not: an assumption, a divisor, an extent",
        "The step states an assumption that does not follow from the program, or evaluates a division or an extent "
        "where it is undefined.",
        on(
            program("for i in range(n):\n    A[i] = 0.0", 'A: T.Buffer((n,), "float32"), n: T.int32'),
            'n = s.symbol("n")',
            "s.assume(n >= 1)",
        ),
        "Weaken what is stated, say where it holds (`before=`), or make it an axiom about the arguments "
        "(`axiom=True`).",
    ),
    Page(
        "VT0405",
        "After the step padding would be touched that nothing may touch",
        "A layout was changed with `pad_value=None`: its padding may be anything, and nothing may read or write it.",
        on(ROWS, *_PADDED).replace("{}", ""),
        "Give the padding a value, `pad_value=0.0` or `T.undef()`; or keep the branch.",
    ),
    Page(
        "VT0406",
        "There is a dependence",
        "Two accesses of one element, one of them a write, would change their order.",
        on(
            program("for i, j in T.grid(3, 3):\n    A[i + 1, j] = A[i, j + 1]", 'A: T.Buffer((4, 4), "float32")'),
            's.reorder("j", "i")',
        ),
        "Keep the order, separate the statements by `fission`, or read old values from a copy. If it is a sum that "
        "may be rounded otherwise: `reassociate=`.",
    ),
    Page(
        "VT0407",
        "The iterations would not be the same",
        "An iteration would be lost, done twice, or made up.",
        on(
            program("for i in range(8):\n    A[i] = 0.0\nfor j in range(16):\n    B[j] = 0.0", _AB),
            's.merge_loops("i", "j")',
        ),
        "Let both loops run over the same range: `partition`, `peel`; of a symbolic size say that it is not 0: "
        "`T.assume(n >= 1)`.",
    ),
    Page(
        "VT0408",
        "The sum would be rounded in another way",
        "Float addition is not associative: another order gives other bits. A maximum depends on the order only if "
        "there is a NaN.",
        on(SUM, 's.decompose_reduction("sum", "k")', 's.rfactor("k")'),
        'Give your word that another order will do: `reassociate="B"`; for a maximum assume that there is no NaN.',
    ),
    Page(
        "VT0409",
        "Iterations of the marked loop would race",
        "Two iterations of the loop access one element, and one of them writes it.",
        on(program("for i in range(16):\n    B[0] = B[0] + A[i]", _AB), 's.parallel("i")'),
        "Mark another loop, give each iteration a buffer of its own (`sink_allocation`), or split the sum (`rfactor`).",
    ),
    Page(
        "VT0410",
        "A store that comes or goes would change memory",
        "A branch is removed or a store erased on the ground that the store writes what is there already; it does not.",
        on(ROWS, *_PADDED).replace("{}", ", pad_value=1.0"),
        "Let the padding hold what leaves the result as it is: 0 for a sum of products.",
    ),
    Page(
        "VT0411",
        "The padding does not hold that value",
        "What is said of the padding of a result does not hold at the end. No primitive claims it falsely; here a "
        "rule of the kernel is applied by hand.",
        on(
            program(
                "for i in range(5):\n    B[i // 2, i % 2] = A[i]",
                'A: T.Buffer((6,), "float32"), B: T.Buffer((3, 2), "float32")',
            )
            .replace("B[i // 2, i % 2]", "B[i]")
            .replace("B: T.Buffer((3, 2)", "B: T.Buffer((5,)"),
            's.transform_layout("B", lambda i: [i // 2, i % 2], pad_value=T.undef())',
            "from verified_tir.kernel.rules.padding import PadValue",
            's._do("pad", (), lambda x: x.apply(PadValue(x.func.buffers[1], 0, x.func.buffers[1][0, 0])))',
        ),
        "Write the padding first: `write_padding`.",
    ),
    Page(
        "VT0412",
        "The layout is not injective, or leaves the buffer",
        "Two elements would share a place, or one would lie outside of the new shape.",
        on(STAGES, 's.transform_layout("A", lambda i: [i // 8, i % 4])'),
        "Keep both quotient and remainder of one divisor: `[i // 4, i % 4]`.",
    ),
    Page(
        "VT0413",
        "What is recomputed may not have run",
        "A value is computed again where the original may never have been computed.",
        on(
            program(
                't = T.alloc_buffer((16,), "float32")\nfor i in range(8):\n    t[i] = A[i]\nfor j in range(8):\n    '
                "B[j] = t[j]",
                _AB,
            ),
            "from verified_tir.schedule.moves import recompute",
            's._do("recompute", (), lambda x: x.apply(recompute((0, 1), (0, 0, 0), (), (), (T.int32(12),))))',
        ),
        "Choose a loop inside of that of the original.",
    ),
    Page(
        "VT0414",
        "What is copied is written while the copy is in use",
        "The copy would hold old values.",
        on(_SHIFT.replace("A[i] = A[i + 1]", "A[i + 1] = A[i]"), 's.cache_read("A", "local")'),
        "Copy at an inner loop, or copy what is written, too: `cache_inplace`.",
    ),
    Page(
        "VT0416",
        "What is passed to the function may not be used as it uses it",
        "The function may use every element of what it gets, and some of them are out of bounds or padding.",
        on(
            COPY,
            '(_, i) = s.split("i", [4, 4])',
            'eight = Schedule("""',
            "@T.prim_func",
            'def eight(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):',
            "    for i in range(4):",
            "        B[i] = A[i]",
            '""")',
            "s.tensorize(i, eight)",
        ),
        "Cover whole tiles: split evenly, or pad.",
    ),
    Page(
        "VT0417",
        "Two expressions do not have the same value",
        "The step puts one expression in the place of another, and on some input their bits differ.",
        on(_LOCAL, 's.compute_inline("t")'),
        "Write what is equal for all inputs, or assume what makes it so.",
    ),
    Page(
        "VT0418",
        "The view does not show the same elements",
        "An access through the other buffer would go to another place.",
        on(
            program(
                "for c, i in T.grid(4, 4):\n    B[c, i] = A[i, c]",
                'A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")',
            ),
            'row = Schedule("""',
            "@T.prim_func",
            'def row(X: T.Buffer((4,), "float32", strides=[1]), Y: T.Buffer((4,), "float32", strides=[1])):',
            "    for i in range(4):",
            "        Y[i] = X[i]",
            '""")',
            's.tensorize("i", row)',
        ),
        "Keep strides and offset as they are.",
    ),
    Page(
        "VT0419",
        "A value is carried from one iteration to the next",
        "The buffer would be new in each iteration, and an iteration reads what an earlier one has stored.",
        on(
            program(
                't = T.alloc_buffer((1,), "float32")\nt[0] = 0.0\nfor i in range(16):\n    B[i] = t[0]\n    t[0] = '
                "A[i]",
                _AB,
            ).replace("    t[0] = 0.0\n", ""),
            's.sink_allocation("t")',
        ),
        "Leave the allocation outside of the loop, or store to the buffer first.",
    ),
    Page(
        "VT0420",
        "The vector or the partial results are not those of the loop",
        "A vectorized store, or the groups into which a sum is split, do not cover what the loop does. No primitive "
        "claims it falsely; here a rule of the kernel is applied by hand.",
        on(
            program(
                "for i in T.vectorized(4):\n    B[i] = A[i]", 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'
            ),
            "from verified_tir.kernel.rules.vectorize import Vectorize",
            's._do("store", (), lambda x: x.apply(Vectorize((), (T.Ramp(0, 1, 4),), T.Broadcast(3, 4))))',
        ),
        "Take smaller steps: one store to a loop, indices of the form base + lane.",
    ),
    Page(
        "VT0421",
        "A later read sees the store that would be lost",
        "A store may go only where it is overwritten or never read.",
        on(
            program(
                't = T.alloc_buffer((18,), "float32")\nfor i in range(18):\n    with T.sblock("t"):\n        t[i] = '
                "A[i]\n"
                "for y in range(14):\n    B[y] = t[y]\nB[15] = t[16]",
                _AB.replace("A: T.Buffer((16,)", "A: T.Buffer((18,)"),
            ),
            's.compute_at("t", "y")',
        ),
        "Keep the store, or move its readers first.",
    ),
)
