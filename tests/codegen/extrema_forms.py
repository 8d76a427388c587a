"""Programs with two minima or maxima of one constant, the inner one of which passes NaN on."""

from __future__ import annotations

HEAD = """
@T.prim_func
def main(A: T.Buffer((8,), "{t}"), B: T.Buffer((8,), "{t}")):
"""
FORMS = {
    "operators": "    for i in range(8):\n        B[i] = T.{op}(T.{op}({c}, A[i]), {c})",
    "lets": "    for i in range(8):\n        x: T.let[T.{t}] = {c}\n        B[i] = T.{op}(T.{op}(x, A[i]), x)",
    "a local buffer": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = {c}
        t[1] = T.{op}(t[0], A[i])
        B[i] = T.{op}(t[1], t[0])""",
    "an unrolled loop": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = {c}
        t[1] = A[i]
        B[i] = {c}
        for k in range(3):
            B[i] = T.{op}(B[i], t[k % 2])""",
    "selects": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, A[i])
        B[i] = T.Select(x {sign}= {c}, x, {c})""",
    "if_then_else": """\
    for i in range(8):
        x: T.let[T.{t}] = T.if_then_else({c} {sign} A[i], {c}, A[i])
        B[i] = T.if_then_else(x {sign} {c}, x, {c})""",
    "branches": """\
    for i in range(8):
        B[i] = A[i]
        if {c} {sign} B[i]:
            B[i] = {c}
        x: T.let[T.{t}] = B[i]
        B[i] = {c}
        if x {sign} {c}:
            B[i] = x""",
    "equal values": """\
    for i in range(8):
        B[i] = A[(i + 1) % 8]
        if A[i] == {c}:
            B[i] = T.{op}(T.{op}(A[i], A[7 - i]), A[i])""",
    "casts": """\
    for i, k in T.grid(8, 1):
        x: T.let[T.{t}] = T.Cast("{t}", k)
        B[i] = T.{op}(T.{op}(x, A[i]), x)""",
}
FOUND = {  # constants that LLVM finds, where the program has none; and choices that it finds to be maxima
    "two comparisons": """\
    for i in range(8):
        B[i] = A[7 - i]
        if A[i] <= {c} and A[i] >= {c}:
            B[i] = T.{op}(T.{op}(A[i], A[7 - i]), A[i])""",
    "two branches": """\
    for i in range(8):
        B[i] = A[7 - i]
        if A[i] <= {c}:
            x: T.let[T.{t}] = A[i]
            if x >= {c}:
                B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "clamped": """\
    for i in range(8):
        x: T.let[T.{t}] = T.max(T.min(A[i], {c}), {c})
        B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "clamped from the left": """\
    for i in range(8):
        x: T.let[T.{t}] = T.max({c}, T.min(A[i], {c}))
        B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "integers": """\
    for i in range(8):
        n: T.let[T.int32] = T.Cast("int32", A[i] > {c})
        x: T.let[T.{t}] = T.Cast("{t}", n - n)
        B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "a magnitude": """\
    for i in range(8):
        x: T.let[T.{t}] = T.min(T.fabs(A[i]), T.{t}(0.0))
        B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "arms by another name": """\
    for i in range(8):
        a: T.let[T.{t}] = A[i]
        x: T.let[T.{t}] = T.Select({c} {sign} a, {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "parts of arms by another name": """\
    for i in range(8):
        a: T.let[T.{t}] = A[i]
        x: T.let[T.{t}] = T.Select({c} {sign} a * T.{t}(2.0), {c}, A[i] * T.{t}(2.0))
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a negation": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select(not ({c} {sign} A[i]), A[i], {c})
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a condition by name": """\
    for i in range(8):
        p: T.let[T.bool] = {c} {sign} A[i]
        x: T.let[T.{t}] = T.Select(p, {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "two arms": """\
    for i in range(8):
        if {c} {sign} A[i]:
            B[i] = {c}
        else:
            B[i] = A[i]
        B[i] = T.{op}(B[i], {c})""",
}
CHOICES = {  # choices that LLVM finds to be maxima, or constants, by another way
    "an arm in memory": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = A[i]
        x: T.let[T.{t}] = T.Select({c} {sign} t[0], {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a sum in memory": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = A[i] * T.{t}(2.0)
        x: T.let[T.{t}] = T.Select({c} {sign} t[0], {c}, A[i] * T.{t}(2.0))
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a constant in memory": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = {c}
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], t[0], A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a constant arm that is computed": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c} * T.{t}(0.5) + {c} * T.{t}(0.5), A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "factors in another order": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i] * A[7 - i], {c}, A[7 - i] * A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a product by one": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i] * T.{t}(1.0), {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "two negations": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, -(-A[i]))
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a comparison of negations": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select(-A[i] {sign} -{c}, {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a comparison of a difference": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} - A[i] {sign} T.{t}(0.0), {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a comparison of a difference in memory": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = {c} - A[i]
        x: T.let[T.{t}] = T.Select(t[0] {sign} T.{t}(0.0), {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a comparison in another type": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select(T.Cast("float64", {c}) {sign} T.Cast("float64", A[i]), {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "arms in another type": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Cast("{t}", T.Select({c} {sign} A[i], T.Cast("float64", {c}), T.Cast("float64", A[i])))
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "the result in another type": """\
    for i in range(8):
        x: T.let[T.float64] = T.Select({c} {sign} A[i], T.Cast("float64", {c}), T.Cast("float64", A[i]))
        B[i] = T.Cast("{t}", T.Select(x {sign} T.Cast("float64", {c}), x, T.Cast("float64", {c})))""",
    "a condition in memory": """\
    p = T.alloc_buffer((1,), "bool")
    for i in range(8):
        p[0] = {c} {sign} A[i]
        x: T.let[T.{t}] = T.Select(p[0], {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a condition that is a number": """\
    p = T.alloc_buffer((1,), "int32")
    for i in range(8):
        p[0] = T.Cast("int32", {c} {sign} A[i])
        x: T.let[T.{t}] = T.Select(p[0] != 0, {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a condition that is a float": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = T.Select({c} {sign} A[i], T.{t}(3.0), T.{t}(0.0))
        x: T.let[T.{t}] = T.Select(t[0] > T.{t}(2.0), {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "an index": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = A[i]
        t[1] = {c}
        x: T.let[T.{t}] = t[T.Cast("int32", {c} {sign} A[i])]
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "the index of a store": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = A[i]
        t[T.Select({c} {sign} A[i], 0, 1)] = {c}
        x: T.let[T.{t}] = t[0]
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a loop of one iteration or none": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = A[i]
        for k in range(T.Cast("int32", {c} {sign} A[i])):
            t[0] = {c}
        x: T.let[T.{t}] = t[0]
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a while loop": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = A[i]
        while {c} {sign} t[0]:
            t[0] = {c}
        x: T.let[T.{t}] = t[0]
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a branch that copies": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = A[i]
        t[1] = {c}
        if {c} {sign} A[i]:
            t[0] = t[1]
        x: T.let[T.{t}] = t[0]
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a sum of choices": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], T.{t}(-0.0), A[i]) + T.Select({c} {sign} A[i], {c}, T.{t}(-0.0))
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a product of choices": """\
    for i in range(8):
        y: T.let[T.{t}] = T.Select({c} {sign} A[i], T.{t}(0.5), T.{t}(1.0))
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c} * T.{t}(2.0), A[i]) * y
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "the result in memory": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, A[i])
        t[0] = x
        B[i] = T.Select(x {sign} {c}, t[0], {c})""",
    "the outer one by negations": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, A[i])
        B[i] = T.Select(-{c} {sign} -x, x, {c})""",
    "the outer one by a condition in memory": """\
    p = T.alloc_buffer((1,), "bool")
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, A[i])
        p[0] = x {sign} {c}
        B[i] = T.Select(p[0], x, {c})""",
    "the outer one by an index": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, A[i])
        t[0] = {c}
        t[1] = x
        B[i] = t[T.Cast("int32", x {sign} {c})]""",
    "the outer one by a loop": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, A[i])
        B[i] = {c}
        for k in range(T.Cast("int32", x {sign} {c})):
            B[i] = x""",
    "the outer one by a product": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c} * T.{t}(2.0)) * T.Select(x {sign} {c}, T.{t}(1.0), T.{t}(0.5))""",
    "solved for a constant": """\
    for i in range(8):
        B[i] = A[7 - i]
        if -A[i] == -{c}:
            B[i] = T.{op}(T.{op}(A[i], A[7 - i]), A[i])""",
    "equal in another type": """\
    for i in range(8):
        B[i] = A[7 - i]
        if T.Cast("float64", A[i]) == T.Cast("float64", {c}):
            B[i] = T.{op}(T.{op}(A[i], A[7 - i]), A[i])""",
}
CONVERTED = {  # single choices, of which LLVM moves a conversion out
    "arms": """\
    for i in range(8):
        B[i] = T.Cast("{t}", T.Select(A[i] {sign} {c}, T.Cast("{w}", {c}), T.Cast("{w}", A[i])))""",
    "arms and operands": """\
    for i in range(8):
        x: T.let[T.{w}] = T.Cast("{w}", A[i])
        B[i] = T.Cast("{t}", T.Select(x {sign} T.Cast("{w}", {c}), T.Cast("{w}", {c}), x))""",
    "an operator": """\
    for i in range(8):
        B[i] = T.Cast("{t}", T.{op}(T.Cast("{w}", {c}), T.Cast("{w}", A[i])))""",
    "a branch": """\
    x = T.alloc_buffer((1,), "{w}")
    for i in range(8):
        x[0] = T.Cast("{w}", A[i])
        if A[i] {sign} {c}:
            x[0] = T.Cast("{w}", {c})
        B[i] = T.Cast("{t}", x[0])""",
    "the result": """\
    x = T.alloc_buffer((1,), "{w}")
    for i in range(8):
        x[0] = T.Cast("{w}", T.Select(A[i] {sign} {c} and i < 8, {c}, A[i]))
        B[i] = T.Cast("{t}", x[0])""",
    "a negation": """\
    for i in range(8):
        x: T.let[T.{w}] = T.Select({c} {sign} A[i] * T.{t}(-1.0), T.Cast("{w}", {c}), T.Cast("{w}", A[i]))
        B[i] = T.Cast("{t}", x)""",
}
