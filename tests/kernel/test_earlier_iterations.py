"""What earlier iterations of a loop left behind: contents, and elements that they cannot have touched.

Each program branches on such a fact; ``simplify`` decides the branch if the kernel knows it.
"""

import pytest

from verified_tir import Schedule

ARGUMENTS = (
    'A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32"), S: T.Buffer((1,), "int32"), C: T.Buffer((1,), "int32")'
)


def decided(body: str, arguments: str = ARGUMENTS) -> bool:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    s = Schedule(f"@T.prim_func\ndef f({arguments}):\n{lines}")
    s.simplify()
    return "C[0] = 2" not in s.script()


PROGRAMS = [
    (
        "stored in an earlier iteration",
        True,
        """
for i in range(9):
    if i >= 1:
        if B[i - 1] == A[i - 1]:
            C[0] = 1
        else:
            C[0] = 2
    B[i] = A[i]
""",
    ),
    (
        "stored later in this one",
        False,
        """
for i in range(9):
    if B[i] == A[i]:
        C[0] = 1
    else:
        C[0] = 2
    B[i] = A[i]
""",
    ),
    (
        "stored in a later iteration",
        False,
        """
for i in range(8):
    if B[i + 1] == A[i + 1]:
        C[0] = 1
    else:
        C[0] = 2
    B[i] = A[i]
""",
    ),
    (
        "stored under a condition",
        False,
        """
for i in range(9):
    if i >= 1:
        if B[i - 1] == A[i - 1]:
            C[0] = 1
        else:
            C[0] = 2
    if A[i] > 0:
        B[i] = A[i]
""",
    ),
    (
        "its source is overwritten",
        False,
        """
for i in range(9):
    if i >= 1:
        if B[i - 1] == A[i - 1]:
            C[0] = 1
        else:
            C[0] = 2
    B[i] = A[i]
    A[i] = 0
""",
    ),
    (
        "stored twice, the older value",
        False,
        """
for i in range(9):
    if i >= 2:
        if B[(i - 1) // 2] == A[i - 1]:
            C[0] = 1
        else:
            C[0] = 2
    B[i // 2] = A[i]
""",
    ),
    (
        "overwritten by the next iteration only",
        True,
        """
for i in range(1, 8):
    if i >= 2:
        if B[i - 1] == A[i - 1]:
            C[0] = 1
        else:
            C[0] = 2
    B[i] = A[i]
    B[i - 1] = 3
""",
    ),
    (
        "the first iteration sees what was before",
        True,
        """
S[0] = 5
for i in range(9):
    if i < 1:
        if S[0] == 5:
            C[0] = 1
        else:
            C[0] = 2
    S[0] = A[i]
""",
    ),
    (
        "the second one does not",
        False,
        """
S[0] = 5
for i in range(9):
    if i < 2:
        if S[0] == 5:
            C[0] = 1
        else:
            C[0] = 2
    S[0] = A[i]
""",
    ),
    (
        "a loop that runs again",
        False,
        """
S[0] = 5
for o in range(2):
    for i in range(9):
        if i < 1:
            if S[0] == 5:
                C[0] = 1
            else:
                C[0] = 2
        S[0] = A[i]
""",
    ),
    (
        "a range that begins below zero",
        False,
        """
S[0] = 5
for i in range(-3, 6):
    if i < 0:
        if S[0] == 5:
            C[0] = 1
        else:
            C[0] = 2
    S[0] = A[i + 3]
""",
    ),
    (
        "contents beside a sum",
        True,
        """
for i in range(9):
    B[i] = A[i]
    S[0] = S[0] + B[i]
if B[3] == A[3]:
    C[0] = 1
else:
    C[0] = 2
""",
    ),
    (
        "a value that went through what is written",
        False,
        """
for i in range(9):
    S[0] = A[i]
    B[i] = S[0]
if B[3] == S[0]:
    C[0] = 1
else:
    C[0] = 2
""",
    ),
    (
        "a condition on what is written",
        False,
        """
S[0] = 1
for i in range(9):
    if S[0] > 0:
        B[i] = A[i]
    S[0] = 0
if B[3] == A[3]:
    C[0] = 1
else:
    C[0] = 2
""",
    ),
    (
        "a value out of a local buffer",
        False,
        """
for i in range(9):
    t = T.alloc_buffer((1,), "int32")
    t[0] = A[i]
    B[i] = t[0]
    t[0] = 0
if B[0] == 0:
    C[0] = 1
else:
    C[0] = 2
""",
    ),
    (
        "two loops, the row so far",
        True,
        """
for i in range(3):
    for j in range(3):
        if j >= 1:
            if B[i * 3 + j - 1] == A[i * 3 + j - 1]:
                C[0] = 1
            else:
                C[0] = 2
        B[i * 3 + j] = A[i * 3 + j]
""",
    ),
    (
        "two loops, the next row",
        False,
        """
for i in range(2):
    for j in range(3):
        if B[i * 3 + j + 3] == A[i * 3 + j + 3]:
            C[0] = 1
        else:
            C[0] = 2
        B[i * 3 + j] = A[i * 3 + j]
""",
    ),
]


@pytest.mark.parametrize(("known", "body"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_earlier_iterations(known: bool, body: str) -> None:
    assert decided(body) is known
