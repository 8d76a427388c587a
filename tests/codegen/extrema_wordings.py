"""Programs with two minima or maxima of one constant: said in two ways, or with one that comes from another array."""

from __future__ import annotations

REWORDED = {  # one value in two wordings, and what is negated between two choices
    "one value by two names": """\
    for i in range(8):
        a: T.let[T.float32] = A[i]
        B[i] = T.Select(T.max({c}, a) > {c}, T.max({c}, A[i]), {c})""",
    "one product in two orders": """\
    for i in range(8):
        B[i] = T.Select(T.max({c}, A[i]*A[7-i]) > {c}, T.max({c}, A[7-i]*A[i]), {c})""",
    "one value, in memory too": """\
    t = T.alloc_buffer((8,), "float32")
    for i in range(8):
        t[0] = A[i]
        B[i] = T.Select(T.max({c}, t[0]) > {c}, T.max({c}, A[i]), {c})""",
    "one element at two indices": """\
    for i in range(8):
        B[i] = T.Select(T.max({c}, A[i]) > {c}, T.max({c}, A[(i+8)%8]), {c})""",
    "one value, times one": """\
    for i in range(8):
        B[i] = T.Select(T.max({c}, A[i]*{c}) > {c}, T.max({c}, A[i]), {c})""",
    "one maximum in two forms": """\
    for i in range(8):
        B[i] = T.Select(T.max({c}, A[i]) > {c}, T.Select({c} > A[i], {c}, A[i]), {c})""",
    "one value by two names, in a branch": """\
    for i in range(8):
        a: T.let[T.float32] = A[i]
        B[i] = {c}
        if T.max({c}, a) > {c}:
            B[i] = T.max({c}, A[i])""",
    "one comparison the other way round": """\
    for i in range(8):
        k: T.let[T.float32] = {c}
        B[i] = T.Select(T.max(k, A[i]) > k, T.Select(not ({c} <= A[i]), {c}, A[i]), {c})""",
    "negated between": """\
    for i in range(8):
        B[i] = T.min(-T.max(T.float32(-1.0), -A[i]), {c})""",
    "multiplied by minus one between": """\
    for i in range(8):
        B[i] = T.min(T.max(T.float32(-1.0), A[i]*T.float32(-1.0))*T.float32(-1.0), {c})""",
    "subtracted between": """\
    for i in range(8):
        B[i] = T.min(T.float32(-0.0) - T.max(T.float32(-2.0), -A[i]), T.float32(2.0))""",
    "negated in memory between": """\
    t = T.alloc_buffer((8,), "float32")
    for i in range(8):
        t[0] = T.max(T.float32(-1.0), -A[i])
        t[1] = -t[0]
        B[i] = T.min(t[1], {c})""",
    "divided by minus one between": """\
    for i in range(8):
        B[i] = T.min(T.max(T.float32(-1.0), -A[i])/T.float32(-1.0), {c})""",
    "negated arms": """\
    for i in range(8):
        B[i] = T.min(-T.Select({c} > A[i], T.float32(-1.0), -A[i]), {c})""",
    "negated arms and a maximum": """\
    for i in range(8):
        B[i] = T.max(-T.Select({c} > A[i], T.float32(-1.0), -A[i]), {c})""",
    "an equal product in another order": """\
    for i in range(8):
        B[i] = A[7-i]
        if A[i]*A[(i+1)%8] == {c}:
            x: T.let[T.float32] = A[(i+1)%8]*A[i]
            B[i] = T.max(T.max(x, A[7-i]), x)""",
    "an equal product by another name": """\
    for i in range(8):
        a: T.let[T.float32] = A[i]
        B[i] = A[7-i]
        if a*A[(i+1)%8] == {c}:
            x: T.let[T.float32] = A[i]*A[(i+1)%8]
            B[i] = T.max(T.max(x, A[7-i]), x)""",
    "a bounded product in another order": """\
    for i in range(8):
        B[i] = A[7-i]
        if not (A[i]*A[(i+1)%8] > {c}):
            x: T.let[T.float32] = T.max(A[(i+1)%8]*A[i], {c})
            B[i] = T.max(T.max(x, A[7-i]), x)""",
    "a square by another name": """\
    for i in range(8):
        a: T.let[T.float32] = A[i]
        x: T.let[T.float32] = T.min(a*A[i], T.float32(0.0))
        B[i] = T.max(T.max(x, A[7-i]), x)""",
    "a square in memory": """\
    t = T.alloc_buffer((8,), "float32")
    for i in range(8):
        t[0] = A[i]
        x: T.let[T.float32] = T.min(t[0]*A[i], T.float32(0.0))
        B[i] = T.max(T.max(x, A[7-i]), x)""",
    "a square of products": """\
    for i in range(8):
        x: T.let[T.float32] = T.min((A[i]*A[7-i])*(A[7-i]*A[i]), T.float32(0.0))
        B[i] = T.max(T.max(x, A[7-i]), x)""",
    "an equal maximum in another order": """\
    for i in range(8):
        B[i] = A[7-i]
        if T.max(A[i]*A[(i+1)%8], {c}) == {c}:
            x: T.let[T.float32] = T.max(A[(i+1)%8]*A[i], {c})
            B[i] = T.max(T.max(x, A[7-i]), x)""",
    "an equal quotient at another index": """\
    for i in range(8):
        B[i] = A[7-i]
        if A[i]/A[(i+1)%8] == {c}:
            x: T.let[T.float32] = A[(i+8)%8]/A[(i+1)%8]
            B[i] = T.max(T.max(x, A[7-i]), x)""",
}
LEARNT = {  # constants that LLVM learns of another array: the type of N, and the program
    "a flag": (
        "bool",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if N[i]:
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "a flag that is not set": (
        "bool",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if not N[i]:
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "a sum": (
        "int32",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if N[i] + 1 == 4:
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "bits": (
        "int32",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if (N[i] ^ 3) == 0:
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "quotient and remainder": (
        "int32",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if N[i]//2 == 0 and N[i]%2 == 1:
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "a wider number": (
        "int32",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if T.Cast('int64', N[i]) == T.int64(3):
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "a number as a float": (
        "int32",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if T.Cast('float64', N[i]) == T.float64(3.0):
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "the least number": (
        "uint32",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if N[i] < T.uint32(1):
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "a number as a flag": (
        "int32",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if not T.Cast('bool', N[i]):
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "a loop": (
        "bool",
        """\
    for i in range(8):
        B[i] = A[7-i]
        for k in range(T.Cast('int32', N[i])):
            x: T.let[T.float32] = T.Cast('float32', N[i])
            B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "a loop under a condition": (
        "int32",
        """\
    for i in range(8):
        B[i] = A[7-i]
        if N[i] >= 1:
            for k in range(2 - N[i]):
                x: T.let[T.float32] = T.Cast('float32', N[i])
                B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "an assertion": (
        "bool",
        """\
    for i in range(8):
        B[i] = A[7-i]
        assert N[i], 'no'
        x: T.let[T.float32] = T.Cast('float32', N[i])
        B[i] = T.max(T.max(x, A[i]), x)""",
    ),
    "a float as a number": (
        "bool",
        """\
    for i in range(8):
        B[i] = A[7 - i]
        a: T.let[T.float32] = T.Select(T.fabs(A[i]) < T.float32(9.0), A[i], T.float32(0.0))
        if T.Cast("int32", a) == 1:
            x: T.let[T.float32] = T.Cast("float32", T.Cast("int32", a))
            B[i] = T.max(T.max(x, A[7 - i]), x)""",
    ),
    "a bounded product in another order": (
        "float32",
        """\
    for i in range(8):
        B[i] = A[7 - i]
        if not (A[i] * N[i] > T.float32(1.0)):
            x: T.let[T.float32] = T.max(N[i] * A[i], T.float32(1.0))
            B[i] = T.max(T.max(x, A[7 - i]), x)""",
    ),
}
