"""Measure the errors of the transcendental functions: float32 on all 2**32 arguments, float64 on many.

    python benchmarks/intrinsics/measure.py              every function
    python benchmarks/intrinsics/measure.py exp tanh     these
    python benchmarks/intrinsics/measure.py --float64 --samples 100000000

Each expansion is written as C, one statement for each step, and compiled by the C compiler ($CC, or cc).  The
reference is the C library's function, in double for float32 and in long double (64 bits of significand) for float64.
The error is the distance from the reference in units in the last place, the unit taken at the reference; that of the
smallest normal numbers holds below them.  Printed are the largest error, where it is, and how many special values
(NaN, infinities, signs of zeros) differ from the library's.  The last column says whether the package's own evaluator
gives the same bits on a sample.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from verified_tir.ir.dtype import FLOAT32, FLOAT64, DType
from verified_tir.ir.expr import Binary, Call, Cast, Expr, FloatImm, IntImm, Select
from verified_tir.semantics.intrinsics import EXPANDED, array_operation, template
from verified_tir.semantics.intrinsics.expansion import steps

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<",
    "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
REFERENCES = {
    "sigmoid": "x < 0 ? expS(x) / (1 + expS(x)) : 1 / (1 + expS(-x))",
    "rsqrt": "1 / sqrtS(x)",
    "pow": "powS(x, y)",
    "atan2": "atan2S(x, y)",
}
PRELUDE = """
#include <math.h>
#include <stdint.h>
#include <string.h>
#define VECTOR(name) __attribute__((simd("notinbranch"))) double name(double);
VECTORS
#define BITS(to, from, name) static inline to name(from a) { to r; memcpy(&r, &a, sizeof r); return r; }
BITS(int32_t, float, bits32) BITS(float, int32_t, from32) BITS(int64_t, double, bits64) BITS(double, int64_t, from64)

typedef struct { double error, at, at2; uint64_t special; } Result;

/* The distance in units of the type with so many bits of significand, whose normal numbers start at 2**least. */
static inline double ulps(REF got, REF want, int bits, int least, int most) {
    int e;
    frexpS(want, &e);
    if (e - 1 > most) e = most + 1;
    REF unit = ldexpS(1, (e - 1 < least ? least : e - 1) - bits + 1);
    REF near = isinf(got) ? copysignS(ldexpS(1, most + 1), got) : got;
    return (double)(fabsS(near - want) / unit);
}

static void note(Result *r, REF got, REF want, double x, double y, int bits, int least, int most) {
    REF limit = ldexpS(1, most + 1) - ldexpS(1, most - bits);  /* rounds to infinity from here on */
    REF tiny = ldexpS(1, least - bits);                        /* rounds to zero up to here */
    if (isnan(want) || isnan(got)) { r->special += !(isnan(want) && isnan(got)); return; }
    if (isinf(want)) { r->special += got != want; return; }
    if (want == 0 || got == 0) r->special += !signbit(got) != !signbit(want) && fabsS(want) <= tiny;
    if (isinf(got) && fabsS(want) < limit * 0.999) { r->special += 1; return; }
    if (isinf(got) && fabsS(want) >= limit) return;
    double e = ulps(got, want, bits, least, most);
    if (!(e <= r->error)) { r->error = e; r->at = x; r->at2 = y; }
}
"""
LOOPS = """
void apply(const T *x, const T *y, T *out, uint64_t n) { for (uint64_t k = 0; k < n; k++) out[k] = f(x[k] SECOND); }

void compare(const T *xs, const T *ys, uint64_t n, Result *r) {
    for (uint64_t k = 0; k < n; k++) {
        REF x = xs[k], y = ys[k];
        (void)y;
        note(r, f(xs[k] SECOND2), REFERENCE, xs[k], ys[k], WIDTH, LEAST, MOST);
    }
}

/* Blocks in which nothing can be worse than what was found so far are passed over. */
void all(uint64_t first, uint64_t n, Result *r) {
    enum { BLOCK = 256 };
    static float xs[BLOCK], ys[BLOCK];
    static double wants[BLOCK];
    for (uint64_t at = first; at < first + n; at += BLOCK) {
        for (uint64_t k = 0; k < BLOCK; k++) xs[k] = from32((int32_t)(uint32_t)(at + k));
        for (uint64_t k = 0; k < BLOCK; k++) ys[k] = (float)f(xs[k] SECOND);
        for (uint64_t k = 0; k < BLOCK; k++) { double x = xs[k], y = 0; (void)y; wants[k] = REFERENCE; }
        int seen = 0;
        for (uint64_t k = 0; k < BLOCK; k++) {
            double far = fabs(ys[k] - wants[k]), size = fabs(wants[k]);
            int inside = (far <= r->error * 0x1p-24 * size) | (far <= r->error * 0x1p-149);
            seen |= !inside | ((bits32(ys[k]) < 0) != (bits64(wants[k]) < 0));
        }
        for (uint64_t k = 0; seen && k < BLOCK; k++) note(r, ys[k], wants[k], xs[k], 0, WIDTH, LEAST, MOST);
    }
}
"""


class Result(ctypes.Structure):
    """The largest error, the arguments that have it, and the number of wrong special values."""

    _fields_ = [
        ("error", ctypes.c_double), ("at", ctypes.c_double), ("at2", ctypes.c_double), ("special", ctypes.c_uint64),
    ]  # fmt: skip


def c_type(dtype: DType) -> str:
    if dtype.is_bool:
        return "int"
    return {32: "float", 64: "double"}[dtype.bits] if dtype.is_float else f"{dtype.code}{dtype.bits}_t"


def c_step(node: Expr, names: dict[Expr, str]) -> str:
    """One step as a C expression."""
    match node:
        case IntImm(type=t, value=value):
            return f"(({c_type(t)}){value & (1 << 64) - 1}ull)"
        case FloatImm(type=t, value=value):
            text = "NAN" if math.isnan(value) else "INFINITY" if math.isinf(value) else value.hex()
            return f"(({c_type(t)}){'-' if value == -math.inf else ''}{text})"
        case Binary(op=op, a=a, b=b):
            return f"{names[a]} {SYMBOLS[op]} {names[b]}"
        case Select(condition=condition, true_value=a, false_value=b):
            return f"{names[condition]} ? {names[a]} : {names[b]}"
        case Cast(type=t, value=a):
            return f"({c_type(t)}){names[a]}"
        case Call(op="reinterpret", args=(a,)):
            return f"{'bits' if a.dtype.is_float else 'from'}{a.dtype.bits}({names[a]})"
        case Call(op=op, args=args):
            name = {"abs": "fabs"}.get(op, op) + ("f" if node.dtype.bits == 32 else "")
            return f"{name}({', '.join(names[a] for a in args)})"
    raise AssertionError(type(node).__name__)


def c_source(op: str, dtype: DType) -> str:
    """A C file with the expansion as the function ``f``, and loops that measure it."""
    parameters, value = template(op, dtype)
    names: dict[Expr, str] = {p: p.name for p in parameters}
    lines = [f"static inline T f({', '.join(f'T {p.name}' for p in parameters)}) {{"]
    for node in steps(value):
        if node not in names:
            text = c_step(node, names)
            names[node] = f"t{len(names)}"
            lines.append(f"    {c_type(node.dtype)} {names[node]} = {text};")
    lines += [f"    return {names[value]};", "}"]
    narrow = dtype is FLOAT32
    two = len(parameters) == 2
    text = PRELUDE + "\n".join(lines) + LOOPS
    constants = {"REFERENCE": REFERENCES.get(op, f"{op}S(x)"), "SECOND2": ", ys[k]" if two else ""}
    constants |= {"WIDTH": "24" if narrow else "53", "LEAST": "-126" if narrow else "-1022"}
    constants |= {"MOST": "127" if narrow else "1023", "REF": "double" if narrow else "long double"}
    known = "" if two or not narrow else "exp" if op == "sigmoid" else "" if op == "rsqrt" else op
    constants |= {"T": c_type(dtype), "VECTORS": f"VECTOR({known})" if known else ""}  # glibc has vectors of these
    text = text.replace("f(xs[k] SECOND);", "f(xs[k], ys[k]);" if two else "f(xs[k]);")
    text = text.replace("f(x[k] SECOND);", "f(x[k], y[k]);" if two else "f(x[k]);")
    text = text.replace("REFERENCE", constants.pop("REFERENCE")).replace("SECOND2", constants.pop("SECOND2"))
    functions = ("exp", "sqrt", "pow", "atan2", "frexp", "ldexp", "copysign", "fabs", op)
    suffixed = "".join(f"#define {name}S {name}{'' if narrow else 'l'}\n" for name in sorted(set(functions)))
    return suffixed + "".join(f"#define {k} {v}\n" for k, v in constants.items()) + text


def compiled(op: str, dtype: DType, folder: Path) -> ctypes.CDLL:
    source, library = folder / f"{op}_{dtype}.c", folder / f"{op}_{dtype}.so"
    source.write_text(c_source(op, dtype))
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fno-trapping-math"]
    subprocess.run(
        [os.environ.get("CC", "cc"), *flags, "-shared", "-fPIC", "-o", library, source, "-lmvec", "-lm"], check=True
    )
    return ctypes.CDLL(str(library))


def samples(dtype: DType, count: int, seed: int) -> np.ndarray:
    """Random bit patterns, and random numbers near one and of every moderate size."""
    random = np.random.default_rng(seed)
    integers = np.uint32 if dtype is FLOAT32 else np.uint64
    patterns = random.integers(0, np.iinfo(integers).max, count // 2, dtype=integers, endpoint=True)
    floats = patterns.view(np.float32 if dtype is FLOAT32 else np.float64)
    moderate = random.normal(size=count // 2) * 2.0 ** random.integers(-30, 11, count // 2)
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, 5e-324, 1e-45, 3.0, -3.0, 4.0]
    both = np.concatenate([floats, moderate.astype(floats.dtype), np.array(specials, floats.dtype)])
    random.shuffle(both)
    return both


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def measure(op: str, dtype: DType, count: int, whole: bool) -> None:
    started = time.perf_counter()
    result = Result(error=0.25)
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(op, dtype, Path(folder))
        two = op in ("pow", "atan2")
        if dtype is FLOAT32 and whole and not two:
            library.all(ctypes.c_uint64(0), ctypes.c_uint64(1 << 32), ctypes.byref(result))
            count = 1 << 32
        else:
            for seed in range(0, max(1, count // 10**6)):
                x, y = samples(dtype, 10**6, 2 * seed), samples(dtype, 10**6, 2 * seed + 1)
                if op == "pow":
                    near = np.abs(x) < 1e30
                    y = np.where(
                        near & (seed % 2 == 0), y, (y / np.maximum(1, np.abs(np.log(np.abs(x) + 1e-300))))
                    ).astype(x.dtype)
                library.compare(pointer(x), pointer(y), ctypes.c_uint64(len(x)), ctypes.byref(result))
        x, y = samples(dtype, 20000, 1), samples(dtype, 20000, 2)
        out = np.empty_like(x)
        library.apply(pointer(x), pointer(y), pointer(out), ctypes.c_uint64(len(x)))
        own = array_operation(op, dtype)(*((x, y) if two else (x,)))
    integers = np.int32 if dtype is FLOAT32 else np.int64
    same = (own.view(integers) == out.view(integers)) | (np.isnan(own) & np.isnan(out))
    where = f"{result.at!r}" + (f", {result.at2!r}" if two else "")
    print(f"{op:8} {dtype!s:8} {count:>10} arguments: {result.error:.4f} ulp at {where};"
          f" special values wrong: {result.special}; same bits: {'yes' if same.all() else f'NO, {x[~same][:3]}'};"
          f" {time.perf_counter() - started:.0f} s", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("functions", nargs="*", default=sorted(EXPANDED))
    parser.add_argument("--float64", action="store_true", help="float64 in place of float32")
    parser.add_argument("--samples", type=int, default=0, help="random arguments in place of all float32")
    options = parser.parse_args()
    dtype = FLOAT64 if options.float64 else FLOAT32
    for op in options.functions:
        with np.errstate(all="ignore"):
            measure(op, dtype, options.samples or 10**7, whole=not options.samples)


if __name__ == "__main__":
    main()
