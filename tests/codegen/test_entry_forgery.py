"""Arguments that lie: whatever a class in Python says of itself, nothing crashes, and nothing read-only is written.

Most attempts are made around a kernel that only notes its arguments (``Recorder``), so that a lie that gets through is
seen, not suffered.  The worst are made once more around a real kernel, each in a process of its own.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.codegen.entry_support import Recorder, SlowCalls, slow_calls
from verified_tir import Schedule, build, parse_func
from verified_tir.semantics.interpreter import ArgumentError, run

__all__ = ["slow_calls"]

COUNT = 6
COPY = """
@T.prim_func
def f(A: T.Buffer((6,), "int32"), x: T.int32, B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = A[i] + x
"""
SCALE = """
@T.prim_func
def f(x: T.float32, B: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = x
"""


@pytest.fixture(scope="module")
def copy() -> Recorder:
    return Recorder(COPY)


def integers(count: int = COUNT) -> Any:
    return np.arange(count, dtype=np.int32)


def address(array: Any) -> int:
    found: int = np.ndarray.view(array, np.ndarray).ctypes.data
    return found


# -- subclasses of arrays ---------------------------------------------------------------------------------------------


class Shape(np.ndarray):
    shape = property(lambda self: (COUNT,))  # type: ignore[assignment]
    ndim = property(lambda self: 1)  # type: ignore[assignment]
    size = property(lambda self: COUNT)  # type: ignore[assignment]


class Strides(np.ndarray):
    strides = property(lambda self: (4,))  # type: ignore[assignment]


class Kind(np.ndarray):
    dtype = property(lambda self: np.dtype(np.int32))  # type: ignore[assignment]
    itemsize = property(lambda self: 4)  # type: ignore[assignment]


class Writeable:
    writeable = aligned = c_contiguous = True


class Flags(np.ndarray):
    flags = Writeable()  # type: ignore[assignment]


class Everything(Shape, Strides, Kind, Flags):
    """A liar in all respects."""


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def misaligned() -> Any:
    raw = np.zeros(4 * COUNT + 8, np.uint8)
    start = -address(raw) % 4 + 1
    return raw[start : start + 4 * COUNT].view(np.int32)


FORMS: dict[str, Callable[[], Any]] = {
    "too short": lambda: integers(3),
    "too long": lambda: integers(7),
    "empty": lambda: integers(0),
    "two dimensions": lambda: integers().reshape(2, 3),
    "no dimension": lambda: np.zeros((), np.int32),
    "every other": lambda: integers(12)[::2],
    "backwards": lambda: integers()[::-1],
    "all one element": lambda: np.broadcast_to(np.int32(1), (COUNT,)),
    "bytes": lambda: np.zeros(COUNT, np.int8),
    "floats": lambda: np.zeros(COUNT, np.float32),
    "other byte order": lambda: np.zeros(COUNT, np.dtype(np.int32).newbyteorder()),
    "objects": lambda: np.zeros(COUNT, object),
    "records": lambda: np.zeros(COUNT, [("a", np.int16), ("b", np.int16)]),
    "misaligned": misaligned,
    "read-only": lambda: read_only(integers()),
    "immutable": lambda: np.frombuffer(bytes(4 * COUNT), np.int32),
}


@pytest.mark.parametrize("liar", [None, Shape, Strides, Kind, Flags, Everything], ids=lambda c: c and c.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_an_array_is_what_it_is(copy: Recorder, form: str, liar: type[np.ndarray] | None) -> None:
    """None of these is accepted where it is written, by whichever way."""
    given = FORMS[form]()
    given = given if liar is None else given.view(liar)
    calls = copy.calls
    for call in (lambda: copy(integers(), 1, given), lambda: copy(integers(), 1, B=given)):
        with pytest.raises((TypeError, ValueError), match=r"\bB\b"):
            call()
    assert copy.calls == calls


@pytest.mark.parametrize("liar", [np.ndarray, Shape, Strides, Kind, Flags, Everything, np.memmap, np.recarray])
def test_a_right_array_of_a_subclass_is_taken_as_it_is(copy: Recorder, liar: type[np.ndarray]) -> None:
    a, b = integers(), integers()
    for named in ({}, {"B": b.view(liar)}):
        copy(a.view(liar), 1, *([] if named else [b.view(liar)]), **named)
        assert copy.seen == [address(a), 1, address(b)]


def test_matrices_and_masked_arrays_count_by_their_memory(copy: Recorder) -> None:
    a, b = integers(), integers()
    masked = np.ma.masked_array(b, mask=[True] * COUNT)
    for named in ({}, {"B": masked}):
        copy(a, 1, *([] if named else [masked]), **named)
        assert copy.seen == [address(a), 1, address(b)]
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix(b)
    with pytest.raises(ValueError, match="of 1 dimensions"):
        copy(a, 1, matrix)


def test_an_interface_of_an_array_is_not_asked(copy: Recorder) -> None:
    asked = []

    class Interface(np.ndarray):
        @property
        def __array_interface__(self) -> Any:  # type: ignore[override]
            asked.append(1)
            return {"data": (4096, False), "shape": (COUNT,), "typestr": "<i4", "version": 3}

    a, b = integers(), integers()
    copy(a.view(Interface), 1, B=b.view(Interface))
    assert copy.seen == [address(a), 1, address(b)]
    assert asked == []


def test_overlap_is_not_asked_of_the_arrays(copy: Recorder) -> None:
    class Apart(np.ndarray):
        def __array_function__(self, *args: Any) -> Any:
            return False

    a = integers(7)
    with pytest.raises(ValueError, match="A and B share memory"):
        copy(a[:6].view(Apart), 1, B=a[1:].view(Apart))
    with pytest.raises(ValueError, match="A and B share memory"):
        copy(a[:6].view(Apart), 1, a[1:].view(Apart))


# -- objects ----------------------------------------------------------------------------------------------------------


class Interface:
    __array_interface__ = {"data": (4096, False), "shape": (COUNT,), "typestr": "<i4", "version": 3}  # noqa: RUF012


class Converts:
    def __array__(self, *args: Any, **named: Any) -> Any:
        return integers()


class Poses:
    """Says that it is an array."""

    __class__ = np.ndarray  # type: ignore[assignment]
    shape, strides, ndim, size, dtype, flags = (COUNT,), (4,), 1, COUNT, np.dtype(np.int32), Writeable()
    __array_interface__ = Interface.__array_interface__


class Capsule:
    def __init__(self, given: Callable[[], Any], device: Any = (1, 0)) -> None:
        self.given, self.device = given, device

    def __dlpack__(self, **named: Any) -> Any:
        return self.given()

    def __dlpack_device__(self) -> Any:
        return self.device


def used() -> Any:
    capsule = integers().__dlpack__()
    np.from_dlpack(Capsule(lambda: capsule))
    return capsule


OBJECTS = {
    "interface": (Interface, TypeError),
    "array": (Converts, TypeError),
    "class": (Poses, TypeError),
    "bytes": (lambda: bytes(4 * COUNT), TypeError),
    "view of bytes": (lambda: memoryview(bytes(4 * COUNT)).cast("i"), ValueError),
    "view that is too short": (lambda: memoryview(bytearray(8)).cast("i"), ValueError),
    "view of pointers": (lambda: memoryview(bytearray(8 * COUNT)).cast("P"), (TypeError, BufferError)),
    "view backwards": (lambda: memoryview(integers())[::-1], ValueError),
    "read-only file": (lambda: memoryview(mmap.mmap(-1, 4 * COUNT, access=mmap.ACCESS_READ)).cast("i"), ValueError),
    "ctypes, shorter": (ctypes.c_int32 * 3, ValueError),
    "ctypes, other type": (ctypes.c_float * COUNT, TypeError),
    "ctypes, other byte order": (ctypes.c_int32.__ctype_be__ * COUNT, TypeError),  # type: ignore[attr-defined]
    "ctypes, pointers": (ctypes.c_void_p * COUNT, (TypeError, BufferError)),
    "ctypes, number": (lambda: ctypes.c_int32(1), ValueError),
    "numpy scalar": (lambda: np.int32(1), TypeError),
    "capsule of nothing": (lambda: Capsule(lambda: None), BufferError),
    "capsule that was used": (lambda: Capsule(used), BufferError),
    "capsule of a shorter array": (lambda: Capsule(lambda: integers(3).__dlpack__()), ValueError),
    "capsule of read-only memory": (
        lambda: Capsule(lambda: read_only(integers()).__dlpack__(max_version=(1, 0))),
        ValueError,
    ),
    "capsule of another device": (lambda: Capsule(lambda: integers().__dlpack__(), (2, 0)), BufferError),
    "an array for a device": (lambda: Capsule(integers), BufferError),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_an_object_is_refused_by_either_way(copy: Recorder, case: str) -> None:
    made, expected = OBJECTS[case]
    calls = copy.calls
    for call in (lambda: copy(integers(), 1, made()), lambda: copy(integers(), 1, B=made())):
        with pytest.raises(expected, match="B"):  # type: ignore[arg-type]
            call()
    assert copy.calls == calls


def test_honest_objects_are_taken(copy: Recorder) -> None:
    held = integers()
    for given in (memoryview(held), Capsule(held.__dlpack__)):
        copy(integers(), 1, given)
        assert copy.seen[2] == address(held)
    words = (ctypes.c_int32 * COUNT)()
    copy(integers(), 1, words)
    assert copy.seen[2] == ctypes.addressof(words)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes export buffers since Python 3.12")
def test_a_class_exports_what_its_view_is(copy: Recorder) -> None:
    class Exports:
        def __init__(self, view: memoryview) -> None:
            self.view = view

        def __buffer__(self, flags: int) -> memoryview:
            return self.view

    held = integers()
    copy(integers(), 1, Exports(memoryview(held)))
    assert copy.seen[2] == address(held)
    for wrong in (memoryview(bytes(4 * COUNT)).cast("i"), memoryview(held)[:3]):
        with pytest.raises((ValueError, TypeError), match="B "):
            copy(integers(), 1, Exports(wrong))


# -- numbers ----------------------------------------------------------------------------------------------------------


class Changes:
    """Another number each time."""

    def __init__(self, *values: Any) -> None:
        self.values: Iterator[Any] = iter(values)

    def __index__(self) -> int:
        return next(self.values)  # type: ignore[no-any-return]


class OwnInt(int):
    def __lt__(self, other: object) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __eq__ = __lt__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __index__(self) -> int:
        return 2**40

    def __mod__(self, other: object) -> Any:
        return 3

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_a_number_is_asked_for_once(copy: Recorder) -> None:
    a, b = integers(), integers()
    copy(a, Changes(5, 2**40), b)
    assert copy.seen[1] == 5
    with pytest.raises(OverflowError, match=f"x = {2**40} does not fit int32"):
        copy(a, Changes(2**40, 5), b)


def test_a_subclass_of_int_is_the_number_that_it_holds(copy: Recorder) -> None:
    copy(integers(), OwnInt(7), integers())
    assert copy.seen[1] == 7
    with pytest.raises(OverflowError, match=f"x = {2**35} does not fit"):
        copy(integers(), OwnInt(2**35), integers())


def test_what_is_no_number(copy: Recorder) -> None:
    class Bool:
        __class__ = bool  # type: ignore[assignment]

    class Text:
        def __index__(self) -> Any:
            return str(7)

    for wrong in (True, np.True_, Bool(), Text(), 1.0, np.float32(1), integers(1).view(Shape), "7", None):
        with pytest.raises(TypeError, match="x is a scalar of type int32"):
            copy(integers(), wrong, integers())


def test_floats_of_subclasses() -> None:
    f = Recorder(SCALE)
    b = np.zeros(COUNT, np.float32)

    class Own(float):
        def __float__(self) -> float:
            return 2.5

    class Fails(float):
        def __float__(self) -> float:
            raise OverflowError("none")

    class Poses:
        __class__ = float  # type: ignore[assignment]

        def __float__(self) -> Any:
            return "2.5"

    class bfloat16:
        def __float__(self) -> float:
            return 2.5

    f(Own(1.5), b)
    assert f.seen[0] == int(np.float32(2.5).view(np.uint32))
    with pytest.raises(OverflowError):
        f(Fails(1.5), b)
    for wrong in (True, Poses(), bfloat16(), np.zeros(()), 1j):
        with pytest.raises(TypeError, match="x is a scalar of type float32"):
            f(wrong, b)


# -- between the check and the use ------------------------------------------------------------------------------------


def test_an_array_that_changes_while_the_others_are_looked_at(copy: Recorder, slow_calls: SlowCalls) -> None:
    """``x`` is looked at after ``A``: what it then does to the array object, the check does not see."""

    class Acts:
        def __init__(self, act: Callable[[], None]) -> None:
            self.act = act

        def __index__(self) -> int:
            self.act()
            return 1

    for change in (
        lambda a: setattr(a, "dtype", np.int8),
        lambda a: setattr(a, "shape", (2, 3)),
        lambda a: setattr(a.flags, "writeable", False),
        lambda a: a.__setattr__("dtype", np.dtype([("x", "i4")])),
    ):
        a, b = integers(), integers()
        start = address(a)
        copy(a, Acts(lambda: change(a)), b)
        assert copy.seen == [start, 1, address(b)]
    a, b = integers(), integers(3)
    with pytest.raises(ValueError, match="B is"):
        copy(a, Acts(lambda: setattr(a, "dtype", np.int8)), b)
    raw = bytearray(4 * COUNT)
    with pytest.raises(BufferError, match="re-sized"):
        copy(memoryview(raw).cast("i"), Acts(raw.clear), b)


# -- the library's other doors ----------------------------------------------------------------------------------------

PADDED = Schedule("""
@T.prim_func
def f(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = A[i]
""")


def test_what_is_packed_is_a_plain_array() -> None:
    PADDED.transform_layout("A", lambda i: (i // 4, i % 4), pad_value=0)
    f = build(PADDED)
    packed = f.pack("A", integers().view(Everything))
    assert type(packed) is np.ndarray
    assert packed.tolist() == [[0, 1, 2, 3], [4, 5, 0, 0]]
    unpacked = f.unpack("A", packed.view(Everything))
    assert type(unpacked) is np.ndarray
    assert unpacked.tolist() == [0, 1, 2, 3, 4, 5]
    for wrong in (integers(3).view(Shape), integers(8).view(Everything)):
        with pytest.raises(ValueError, match="A has shape"):
            f.pack("A", wrong)
        with pytest.raises(ValueError, match="A has "):
            f.unpack("A", wrong)
    for wrong in (Interface(), Poses()):
        with pytest.raises(TypeError, match="A is an array"):
            f.pack("A", wrong)
    with pytest.raises(TypeError, match="integer"):
        f.pack("A", integers(), n=1.5)


def test_the_interpreter_takes_plain_arrays() -> None:
    func = parse_func(COPY)
    a = integers()
    left = run(func, {"A": a.view(Everything), "x": OwnInt(7), "B": integers().view(Everything)})
    assert left.arrays["B"].tolist() == (a + 7).tolist()
    for wrong in (integers(3).view(Shape), np.zeros(COUNT, np.int8).view(Kind), Poses()):
        with pytest.raises(ArgumentError):
            run(func, {"A": wrong, "x": 1, "B": integers()})


# -- in a process of its own ------------------------------------------------------------------------------------------

ATTEMPTS = '''
import ctypes, os, sys
import numpy as np
from tests.codegen.test_entry_forgery import Writeable
from verified_tir import Schedule, build

N = 1 << 22
class Everything(np.ndarray):
    shape = property(lambda self: (N,))
    strides = property(lambda self: (4,))
    ndim = property(lambda self: 1)
    size = property(lambda self: N)
    dtype = property(lambda self: np.dtype(np.int32))
    flags = Writeable()
    __array_interface__ = property(lambda self: {"data": (4096, False), "shape": (N,), "typestr": "<i4", "version": 3})
class Object:
    __array_interface__ = {"data": (4096, False), "shape": (N,), "typestr": "<i4", "version": 3}
class Poses(Object):
    __class__ = np.ndarray
    shape, strides, ndim, size, dtype, flags = (N,), (4,), 1, N, np.dtype(np.int32), Writeable()
class Acts:
    def __init__(self, act): self.act = act
    def __index__(self):
        self.act()
        return 1
f = build(Schedule(f"""
@T.prim_func
def f(A: T.Buffer(({N},), "int32"), x: T.int32, B: T.Buffer(({N},), "int32")):
    for i in range({N}):
        B[i] = A[i] + x
"""))
right, frozen = np.zeros(N, np.int32), bytes(4 * N)
changing = np.zeros(N, np.int32)
ATTEMPTS = {
    "short": lambda: f(np.zeros(3, np.int32).view(Everything), 1, B=right),
    "short, written": lambda: f(right, 1, B=np.zeros(3, np.int32).view(Everything)),
    "bytes": lambda: f(right, 1, B=np.frombuffer(frozen, np.int32).view(Everything)),
    "narrow": lambda: f(right, 1, B=np.zeros(N, np.int8).view(Everything)),
    "address": lambda: f(right, 1, B=Object()),
    "pose": lambda: f(right, 1, Poses()),
    "changing": lambda: f(changing, Acts(lambda: setattr(changing, "dtype", np.int8)), B=np.zeros(2, np.int32)),
    "pack": lambda: f.pack("B", Object()),
    "unpack": lambda: f.unpack("B", Poses()),
}
for name, attempt in ATTEMPTS.items():
    child = os.fork()
    if not child:
        try:
            attempt()
        except (TypeError, ValueError):
            os._exit(10 if frozen.count(0) == len(frozen) else 12)
        except BaseException as unexpected:
            print(name, repr(unexpected), file=sys.stderr)
            os._exit(13)
        os._exit(11)
    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sep=": ")
f(right, 1, changing.view(type("Plain", (np.ndarray,), {})))
assert changing.all()
'''


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each attempt is made in a forked process")
def test_a_real_kernel_survives() -> None:
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", ATTEMPTS],
        capture_output=True, text=True, cwd=root, env={**os.environ, "PYTHONPATH": path}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == 9
    assert all(line.endswith(": 10") for line in said), done.stdout + done.stderr  # refused, and nothing was written
