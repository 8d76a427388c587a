"""What attributes, flags and markers promise is checked: false promises are undefined behaviour or poison."""

from __future__ import annotations

import pytest

from tests.validate.llvm.llvm_support import kernel, program
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Different, Equal, Unknown, Verdict

COPY = program('A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")', "for i in range(4):\n    B[i] = A[i]")
LOAD = "%v = load <4 x float>, ptr %A, align 4"
STORE = "store <4 x float> %v, ptr %B, align 4"
BOTH = "ptr align 4 %A, ptr align 4 %B"
LIFETIME = "declare void @llvm.lifetime.start.p0(ptr)\ndeclare void @llvm.lifetime.end.p0(ptr)\n"


def verdict_of(*lines: str, more: str = "", signature: str = BOTH) -> Verdict:
    """Of a kernel that is to copy four floats."""
    return validate_llvm(COPY, kernel(signature, *lines, more=more)).verdict


def copies(attributes: str = "nounwind", p: str = "", q: str = "") -> str:
    """A function that copies, with attributes of its own and of its parameters."""
    return f"""
define internal void @f(ptr {p} %p, ptr {q} %q) #0 {{
  %v = load <4 x float>, ptr %p, align 4
  %r = getelementptr i8, ptr %q, i64 0
  store <4 x float> %v, ptr %r, align 4
  ret void
}}
attributes #0 = {{ {attributes} }}
"""


def of_result(attribute: str, kind: str, value: str) -> str:
    return f"define internal {attribute} {kind} @f() {{\n  ret {kind} {value}\n}}\n"


def of_parameter(kind: str) -> str:
    return f"define internal void @f({kind} %x) {{\n  ret void\n}}\n"


CALL = "call void @f(ptr %A, ptr %B)"


@pytest.mark.parametrize(
    "lines, more, what",
    [
        ((LOAD, STORE, "call void @f(i32 noundef poison)"), of_parameter("i32"), "undef or poison"),
        ((LOAD, STORE, "call void @f(i32 poison)"), of_parameter("i32 noundef"), "the parameter x of f is undef"),
        ((LOAD, STORE, "%q = call i32 @f()"), of_result("noundef", "i32", "poison"), "the result of f is undef"),
        ((LOAD, STORE, "%q = call noundef i32 @f()"), of_result("", "i32", "poison"), "the call of f is undef"),
        ((LOAD, STORE, "call void @f(ptr noundef nonnull null)"), of_parameter("ptr"), "undef or poison"),
        ((LOAD, STORE, "call void @f(ptr %A)"), of_parameter("ptr noundef align 64"), "undef or poison"),
        ((LOAD, STORE, "call void @f(ptr dereferenceable(17) %A)"), of_parameter("ptr"), "bytes 0 to 17 of A"),
        ((CALL,), copies("memory(none)"), "declared to read no memory"),
        ((CALL,), copies("memory(write, argmem: none)"), "declared to read no memory"),
        ((CALL,), copies("memory(argmem: read)"), "declared to write no memory"),
        ((CALL,), copies("memory(read, inaccessiblemem: readwrite)"), "declared to write no memory"),
        ((CALL,), copies(q="readonly"), "store at an address that is declared readonly"),
        ((CALL,), copies(p="writeonly"), "load at an address that is declared writeonly"),
        ((CALL,), copies(p="readnone"), "load at an address that is declared writeonly"),
        ((LOAD, "%r = call ptr @f(ptr %A)", STORE.replace("%B", "%r")),
         "define internal ptr @f(ptr returned %x) {\n  ret ptr null\n}\n", "does not return its parameter x"),
        ((LOAD, STORE, "call void @f(i64 0)"), of_parameter("i32"), "called with other types"),
        ((LOAD, STORE, "%q = call i64 @f()"), of_result("", "i32", "0"), "called with other types"),
        ((LOAD, STORE, "call fastcc void @f(i32 0)"), of_parameter("i32"), "another calling convention"),
    ],
)  # fmt: skip
def test_false_promises(lines: tuple[str, ...], more: str, what: str) -> None:
    verdict = verdict_of(*lines, more=more)
    assert isinstance(verdict, Different), verdict
    assert what in str(verdict.after)


@pytest.mark.parametrize(
    "lines, more",
    [
        ((LOAD, STORE, "call void @f(i32 noundef 1)"), of_parameter("i32 noundef")),
        ((LOAD, STORE, "call void @f(i32 poison)"), of_parameter("i32")),
        ((LOAD, STORE, "%q = call noundef i32 @f()"), of_result("noundef", "i32", "3")),
        ((LOAD, STORE, "call void @f(ptr noundef nonnull dereferenceable(16) %A)"), of_parameter("ptr align 4")),
        ((LOAD, STORE, "call void @f(ptr dereferenceable_or_null(64) null)"), of_parameter("ptr")),
        ((CALL,), copies("memory(argmem: readwrite)", p="readonly", q="writeonly")),
        ((CALL,), copies("memory(read, argmem: readwrite)")),
        ((LOAD, "%r = call ptr @f(ptr %B)", STORE.replace("%B", "%r")),
         "define internal ptr @f(ptr returned %x) {\n  ret ptr %x\n}\n"),
        ((LOAD, STORE, "call fastcc void @f(i32 0)"), of_parameter("i32").replace("internal", "internal fastcc")),
        ((LOAD, STORE, "call void @f()"), "define internal void @f() #0 {\n  %l = alloca i32\n  store i32 1, ptr %l\n"
         "  %x = load i32, ptr %l\n  ret void\n}\nattributes #0 = { memory(none) }\n"),
    ],
)  # fmt: skip
def test_promises_that_are_kept(lines: tuple[str, ...], more: str) -> None:
    assert isinstance(verdict_of(*lines, more=more), Equal)


@pytest.mark.parametrize("call", [CALL + " #1", "call void @f(ptr %A, ptr readonly %B)"])
def test_a_call_that_promises_more_than_the_function_is_refused(call: str) -> None:
    verdict = verdict_of(call, more=copies() + "attributes #1 = { memory(none) }\n")
    assert isinstance(verdict, Unknown)
    assert "of a call" in verdict.reason or "what a call promises" in verdict.reason


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "parameters, right",
    [
        ("ptr dereferenceable(16) %A, ptr writeonly %B", True),
        ("ptr dereferenceable(20) %A, ptr %B", False),
        ("ptr writeonly %A, ptr %B", False),
        ("ptr readnone %A, ptr %B", False),
        ("ptr %A, ptr initializes((0, 16)) %B", True),
        ("ptr initializes((12, 16)) %A, ptr %B", False),
    ],
)
def test_parameters_of_the_kernel(parameters: str, right: bool) -> None:
    """What ``initializes`` covers is poison at entry: neither may it be read, nor may it stay."""
    verdict = verdict_of(LOAD, STORE, signature=parameters)
    assert isinstance(verdict, Equal if right else (Different, Unknown)), verdict


@pytest.mark.parametrize(
    "address, right",
    [
        ("getelementptr inbounds [4 x float], ptr %B, i64 1, i64 -4", True),
        ("getelementptr inbounds [4 x float], ptr %B, i64 2, i64 -8", False),
        ("getelementptr [4 x float], ptr %B, i64 2, i64 -8", True),
        ("getelementptr nuw [4 x float], ptr %B, i64 1, i64 -4", False),
        ("getelementptr inbounds {i32, [9 x float]}, ptr %B, i64 0, i32 1, i64 -1", True),
        ("getelementptr inbounds {[5 x i32], float}, ptr %B, i64 0, i32 1", False),
    ],
)
def test_each_addition_of_an_address_is_in_bounds(address: str, right: bool) -> None:
    verdict = verdict_of(LOAD, f"%p = {address}", STORE.replace("%B", "%p"))
    assert isinstance(verdict, Equal if right else Different), verdict


@pytest.mark.parametrize(
    "before, between, after, right",
    [
        ("start", "", "end", True),
        ("end", "start", "end", True),
        ("end", "", "", False),
        ("start", "end", "", False),
    ],
)
def test_a_store_outside_a_lifetime(before: str, between: str, after: str, right: bool) -> None:
    def mark(word: str) -> tuple[str, ...]:
        return (f"call void @llvm.lifetime.{word}.p0(ptr %l)",) if word else ()

    verdict = verdict_of(
        LOAD, "%l = alloca [16 x i8], align 16", *mark(before), *mark(between),
        "store <4 x float> %v, ptr %l, align 16",
        "%w = load <4 x float>, ptr %l, align 16", STORE.replace("%v", "%w"), *mark(after), more=LIFETIME,
    )  # fmt: skip
    assert isinstance(verdict, Equal if right else Different), verdict


def test_undefined_behaviour_before_an_assertion_fails() -> None:
    func = program('A: T.Buffer((2,), "int32"), n: T.int32', 'assert n > 2, "large"\nA[0] = n')
    divides = ("%a = load i32, ptr %A, align 4", "%b = udiv i32 1, %a")
    for lines, right in (((), True), (divides, False)):
        text = kernel("ptr %A, i32 %n", *lines, "ret i32 1").replace("  ret i32 1\n  ret i32 0", "  ret i32 1")
        verdict = validate_llvm(func, text, sizes={"n": 1}).verdict
        assert isinstance(verdict, Equal if right else Different), verdict


def test_a_negative_status_is_no_failed_assertion() -> None:
    """It says that memory or a thread could not be had."""
    func = program('A: T.Buffer((2,), "int32"), n: T.int32', 'assert n > 2, "large"\nA[0] = n')
    text = "define i32 @vtir_kernel(ptr %A, i32 %n) {\n  ret i32 -1\n}\n"
    verdict = validate_llvm(func, text, sizes={"n": 1}).verdict
    assert isinstance(verdict, Different)
    assert "returns -1" in str(verdict.after)


INTEGER = program('A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")', "B[0] = A[0]")


@pytest.mark.parametrize(
    "lines",
    [
        ("%m = sub nsw i32 0, %a", "%v = sub i32 0, %m"),
        ("%m = add nsw i32 %a, 1", "%v = sub i32 %m, 1"),
        ("%r = srem i32 %a, -1", "%v = add i32 %a, %r"),
    ],
)
def test_what_only_the_least_and_the_largest_integer_show(lines: tuple[str, ...]) -> None:
    text = kernel("ptr %A, ptr %B", "%a = load i32, ptr %A, align 4", *lines, "store i32 %v, ptr %B, align 4")
    assert isinstance(validate_llvm(INTEGER, text).verdict, Different)


@pytest.mark.parametrize(
    "lines, right",
    [
        (("%c = icmp ult ptr %A, %B",), False),
        (("%c = icmp ne ptr %A, %B",), True),
        (("%i = ptrtoint ptr %A to i64", "%m = and i64 %i, 7", "%c = icmp eq i64 %m, 4"), False),
        (("%i = ptrtoint ptr %A to i64", "%m = and i64 %i, 15", "%c = icmp ne i64 %m, 0"), False),
        (("%i = ptrtoint ptr %A to i64", "%m = and i64 %i, 3", "%c = icmp eq i64 %m, 0"), True),
        (("%i = ptrtoint ptr %A to i64", "%j = ptrtoint ptr %B to i64", "%m = sub i64 %j, %i",
          "%c = icmp slt i64 %m, 0"), False),
        (("%i = ptrtoint ptr %A to i64", "%j = ptrtoint ptr %B to i64", "%m = sub i64 %j, %i",
          "%c = icmp ugt i64 %m, 64"), True),
    ],
)  # fmt: skip
def test_where_memory_lies_decides_nothing(lines: tuple[str, ...], right: bool) -> None:
    """A branch on an order of addresses, or on an alignment, that the program does not promise."""
    verdict = verdict_of(*lines, "br i1 %c, label %yes, label %no", "no:", "unreachable", "yes:", LOAD, STORE)
    assert isinstance(verdict, Equal if right else Different), verdict
