"""Index maps on symbolic shapes: what is found reads well, and is right for every small value of the symbols."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from tests.nightly import few
from verified_tir.index.map import IndexMap, IndexMapError, NegativeIndex, NotInjective, NotInvertible, preimage
from verified_tir.index.text import index_text, tuple_text
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const

n, m = Var.fresh("n"), Var.fresh("m")
SIZES = [dict(zip((n, m), s, strict=True)) for s in itertools.product((0, 1, 2, 3, 5, 8, 9), (0, 1, 2, 4, 5))]

# map, shape, padded shape, inverse, padding predicate
CASES = [
    (lambda i: [i // 4, i % 4], (n,), "[(n + 3) // 4, 4]", "lambda io, ii: [4 * io + ii]", "4 * io + ii >= n"),
    (
        lambda i: [(i + 2) // 8, (i + 2) % 8], (n,),
        "[(n + 9) // 8, 8]", "lambda io, ii: [8 * io + ii - 2]", "8 * io + ii < 2 or 8 * io + ii >= n + 2",
    ),
    (lambda i, j: [i * n + j], (m, n), "[n * m]", "lambda axis0: [axis0 // n, axis0 % n]", "False"),
    (
        lambda i, j, k: [(i * n + j) * m + k], (5, n, m),
        "[5 * n * m]", "lambda axis0: [axis0 // m // n, axis0 // m % n, axis0 % m]", "False",
    ),
    (
        lambda i, j: [(i * n + j) // 4, (i * n + j) % 4], (m, n), "[(n * m + 3) // 4, 4]",
        "lambda axis0, axis1: [(4 * axis0 + axis1) // n, (4 * axis0 + axis1) % n]", "4 * axis0 + axis1 >= n * m",
    ),
    (lambda i: [n - 1 - i], (n,), "[n]", "lambda i: [n - i - 1]", "False"),
    (lambda i: [(i + 1) % n], (n,), "[n]", "lambda i: [(i - 1) % n]", "False"),
    (lambda i: [2 * i], (n,), "[2 * n - 1]", "lambda i: [i // 2]", "i % 2 != 0"),
    (lambda i, j: [j, i], (n, 7), "[7, n]", "lambda j, i: [i, j]", "False"),
    (
        lambda b, c, h, w: [b, c // 16, h, w, c % 16], (n, m, 14, 14), "[n, (m + 15) // 16, 14, 14, 16]",
        "lambda b, co, h, w, ci: [b, 16 * co + ci, h, w]", "16 * co + ci >= m",
    ),
    (
        lambda i, j: [i // 4, j // 8, i % 4, j % 8], (n, m), "[(n + 3) // 4, (m + 7) // 8, 4, 8]",
        "lambda io, jo, ii, ji: [4 * io + ii, 8 * jo + ji]", "4 * io + ii >= n or 8 * jo + ji >= m",
    ),
    (lambda i, j: [(i + j) % n, i], (n, n), "[n, n]", "lambda axis0, i: [i, (axis0 - i) % n]", "False"),
    (lambda i, j: [i, (i + j) % 4], (n, 4), "[n, 4]", "lambda i, axis1: [i, (axis1 - i) % 4]", "False"),
    (
        lambda i: [i // 32, i // 4 % 8, i % 4], (n,), "[(n + 31) // 32, 8, 4]",
        "lambda i0, i1, i2: [32 * i0 + 4 * i1 + i2]", "32 * i0 + 4 * i1 + i2 >= n",
    ),
    (lambda i, j: [i * ((n + 3) // 4) + j], (m, (n + 3) // 4), "[m * ((n + 3) // 4)]",
     "lambda axis0: [axis0 // ((n + 3) // 4), axis0 % ((n + 3) // 4)]", "False"),
]  # fmt: skip


@pytest.mark.parametrize(("func", "shape", "padded", "inverse", "predicate"), CASES, ids=[c[2] + c[3] for c in CASES])
def test_reads_well(func, shape, padded, inverse, predicate):
    f = IndexMap.from_func(func, len(shape))
    assert tuple_text(f.padded_shape(shape)) == padded
    assert str(f.inverse(shape)) == inverse
    assert index_text(f.padding_predicate(shape)[1]) == predicate
    agrees(f, shape)


@pytest.mark.parametrize(
    ("func", "shape"),
    [
        (lambda i: [i % 8], (n,)),
        (lambda i: [i // 2], (n,)),
        (lambda i, j: [i + j], (n, m)),
        (lambda i, j: [i * 4 + j], (m, n)),
        (lambda i, j: [i * n + j], (n, m)),
        (lambda i, j: [i], (n, m)),
        (lambda i, j: [i * j], (n, m)),
        (lambda i: [3], (n,)),
    ],
)
def test_collisions_come_with_the_symbols_they_need(func, shape):
    f = IndexMap.from_func(func, len(shape))
    with pytest.raises(NotInjective) as error:
        f.inverse(shape)
    witness = error.value
    go = compiled([v.name for v in (*witness.symbols, *f.inputs)], tuple_text(f.outputs))
    box = compiled([v.name for v in witness.symbols], tuple_text([const(0) + e for e in shape]))(
        *witness.symbols.values()
    )
    for point in (witness.first, witness.second):
        assert all(0 <= x < extent for x, extent in zip(point, box, strict=True))
        assert tuple(go(*witness.symbols.values(), *point)) == witness.output
    assert witness.first != witness.second


def test_negative_outputs_come_with_a_witness():
    f = IndexMap.from_func(lambda i: [i - n // 2], 1)
    with pytest.raises(NegativeIndex) as error:
        f.padded_shape((n,))
    (size,) = error.value.symbols.values()
    assert error.value.point[0] in range(size)
    assert error.value.point[0] - size // 2 == error.value.value < 0


def test_what_nobody_can_invert_is_refused_with_a_reason():
    f = IndexMap.from_func(lambda i, j: [i * i * n + j * j * m, i * j + i], 2)
    with pytest.raises((NotInvertible, NotInjective)):
        f.inverse((n, m))


def compiled(names, text):
    environment = {"select": lambda c, a, b: a if c else b, "min": min, "max": max}
    return eval(f"lambda {', '.join(names)}: {text}", environment)


def agrees(f: IndexMap, shape) -> None:
    """Shape, inverse and predicate against enumeration, for each of the small sizes."""
    symbols = [n.name, m.name]
    extents = [e if isinstance(e, Expr) else const(e) for e in shape]
    inputs = [v.name for v in f.inputs]
    go = compiled([*symbols, *inputs], tuple_text(f.outputs))
    box = compiled(symbols, tuple_text(extents))
    padded = compiled(symbols, tuple_text(f.padded_shape(shape)))
    inverse = f.inverse(shape)
    hits = [v.name for v in inverse.inputs]
    back = compiled([*symbols, *hits], tuple_text(inverse.outputs))
    _, condition = f.padding_predicate(shape)
    is_padding = compiled([*symbols, *hits], index_text(condition))
    for size in SIZES:
        s = (size[n], size[m])
        images = set()
        for point in itertools.product(*[range(e) for e in box(*s)]):
            image = tuple(go(*s, *point))
            images.add(image)
            assert all(0 <= y < e for y, e in zip(image, padded(*s), strict=True))
            assert tuple(back(*s, *image)) == point
        for y in itertools.islice(itertools.product(*[range(e) for e in padded(*s)]), 400):
            assert bool(is_padding(*s, *y)) == (y not in images)
            back(*s, *y)  # safe to evaluate on padding


def draw(rng: random.Random) -> tuple[IndexMap, tuple[Expr | int, ...]]:
    """A random map on a shape with symbols, its outputs' extents known by construction."""
    shape = rng.choice([(n,), (n,), (n, m), (m, n), (n, 4), (3, n), (n, 2, m)])
    inputs = tuple(Var.fresh("ijk"[a]) for a in range(len(shape)))
    dims: list[tuple[Expr, Expr]] = [
        (v, e if isinstance(e, Expr) else const(e)) for v, e in zip(inputs, shape, strict=True)
    ]
    for _ in range(rng.randint(1, 4)):
        k, c = rng.randrange(len(dims)), rng.choice([2, 3, 4])
        e, extent = dims[k]
        match rng.choice(["split", "split", "fuse", "fuse", "swap", "shift", "reverse", "rotate", "stride", "skew"]):
            case "split":
                dims[k : k + 1] = [(e // c, (extent + c - 1) // c), (e % c, const(c))]
            case "fuse" if k + 1 < len(dims):
                other, size = dims[k + 1]
                dims[k : k + 2] = [(e * size + other, extent * size)]
            case "swap":
                rng.shuffle(dims)
            case "shift":
                dims[k] = (e + c, extent + c)
            case "reverse":
                dims[k] = (extent - 1 - e, extent)
            case "rotate":
                dims[k] = ((e + c) % extent, extent)
            case "stride":
                dims[k] = (c * e, c * extent)
            case "skew" if len(dims) > 1:
                o = (k + 1) % len(dims)
                dims[k] = (e + dims[o][0], extent + dims[o][1])
    return IndexMap(inputs, tuple(e for e, _ in dims)), shape


@pytest.mark.nightly
def test_random_symbolic_maps(capsys):
    rng = random.Random(7)
    counts: Counter[str] = Counter()
    total = few(30, 150)
    for number in range(total):
        f, shape = draw(rng)
        try:
            agrees(f, shape)
            counts["answered"] += 1
        except IndexMapError as problem:
            counts[type(problem).__name__] += 1
        except Exception as problem:
            raise AssertionError(f"map {number}: {f} on {tuple_text(shape)}: {problem!r}") from problem
    with capsys.disabled():
        print(f"\n{total} random symbolic maps: {dict(counts)}")
    assert counts["NotInjective"] == 0  # every move is injective
    assert counts["answered"] >= total * 13 // 15


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("func", "shape"),
    [
        (lambda i, j: [i * ((m + 1) // 2) + (m - 1 - j) // 2 + (m - 1 - j) % 2, (m - 1 - j) % 2], (n, m)),
        (lambda i, j: [2 * ((i + 3) % m) + j, j + (i + 3) % m], (m, n)),
        (lambda i, j: [(i * (2 * m + 3) + 2 * j + 3) // 2, (i * (2 * m + 3) + 2 * j + 3) % 2], (n, m)),
    ],
)
def test_several_equations_and_division_by_a_symbol(func, shape):
    agrees(IndexMap.from_func(func, 2), shape)


def test_several_equations_that_say_too_little():
    with pytest.raises((NotInjective, NotInvertible)):
        IndexMap.from_func(lambda i, j: [2 * ((i + 3) % m) + 2 * j, j + (i + 3) % m], 2).inverse((m, n))


def test_preimages():
    i, j, x = Var.fresh("i"), Var.fresh("j"), Var.fresh("x")
    loops = [(i, const(2), n), (j, const(0), const(4))]
    found = preimage(loops, [(4 * i + j + 1, x)])
    assert tuple_text(list(found.values())) == "[(x + 3) // 4 - 3 + 2, (x + 3) % 4]"
    with pytest.raises(NotInjective):
        preimage(loops, [(3 * i + j + 1, x)])


@pytest.mark.nightly
def test_a_divisor_that_may_be_zero_is_refused():
    with pytest.raises(NotInvertible):
        IndexMap.from_func(lambda i: [i // m, i % m], 1).inverse([n])
