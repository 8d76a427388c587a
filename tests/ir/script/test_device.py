"""Programs for a device: read, printed and read again, refused wherever their meaning is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.script.test_tvm_spellings import lines, program, refusal
from verified_tir import NotApplicable, Schedule, parse_func
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.script import ScriptError, parse, script
from verified_tir.semantics.errors import Unsupported
from verified_tir.semantics.interpreter import run
from verified_tir.validate import Unknown, validate


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("T.device_entry()\nA[0] = 1.0", "T.device_entry()\nA[0] = T.float32(1.0)"),
        ("T.attr({'tirx.device_entry': T.bool(True)})\nA[0] = 1.0", "T.device_entry()\nA[0] = T.float32(1.0)"),
        ("bx = T.cta_id([4])\nA[bx] = 1.0", "bx = T.cta_id([4])\nA[bx] = T.float32(1.0)"),
        ("bx, by = T.cta_id_in_cluster([2, i], preferred=[2, 2], dtype='uint32')\nB[bx, by] = 0.0",
         'bx, by = T.cta_id_in_cluster([2, i], preferred=[2, 2], dtype="uint32")\nB[bx, by] = T.float32(0.0)'),
        ("if i > 0:\n    T.lane_id([32])\n    w = T.warp_id()\n    A[w] = 0.0\nA[1] = 0.0",
         "if i > 0:\n    v = T.lane_id([32])\n    w = T.warp_id()\n    A[w] = T.float32(0.0)\nA[1] = T.float32(0.0)"),
        ("p = T.cta_id_in_pair()\nT.evaluate(p)", "p = T.cta_id_in_pair()\nT.evaluate(p)"),
    ],
)  # fmt: skip
def test_the_threads_of_a_device(text: str, meant: str) -> None:
    assert lines(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Tx.copy(A[0:4], B[i, :4], dispatch='tma', bar=7)",
         'T.tile.copy(A[0:4], B[i:i + 1, 0:4], dispatch="tma", bar=7)'),
        ("Tx.cta.fill(A, 1.0)", "T.cta.fill(A, T.float32(1.0))"),
        ("T.warp.exp2(A[2], B[0, 0])", "T.warp.exp2(A[2:3], B[0, 0])"),
        ("Tx.add(A, A, None, workspace={'smem': B}, selectors=[[i > 0, A[:]]])",
         'T.tile.add(A, A, None, workspace={"smem": B}, selectors=[[i > 0, A[0:8]]])'),
        ("T.tile.reduce(A[0:2], I.Op('tirx.tile.exp'))", 'T.tile.reduce(A[0:2], I.Op("tirx.tile.exp"))'),
        ("O = T.alloc_local((1,))\nT.wg.copy(O.source[0], A[0:1])",
         'O = T.alloc_buffer((1,), "float32", scope="local")\nT.wg.copy(O[0:1], A[0:1])'),
        ("T.hint('pipeline', depth=4, access=A[0:2])\nA[0] = 0.0",
         'with T.hint("pipeline", depth=4, access=A[0:2]):\n    A[0] = T.float32(0.0)'),
        ("with T.hint('a'):\n    A[0] = 0.0\nA[1] = 0.0",
         'with T.hint("a"):\n    A[0] = T.float32(0.0)\nA[1] = T.float32(0.0)'),
    ],
)  # fmt: skip
def test_operations_on_tiles(text: str, meant: str) -> None:
    assert lines(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("if T.cuda.elect_sync():\n    A[0] = 0.0",
         "if T.cuda.elect_sync() != T.uint32(0):\n    A[0] = T.float32(0.0)"),
        ("A[0] = T.cuda.warp_sum(A[1], width=8)", "A[0] = T.cuda.warp_sum(A[1], width=8)"),
        ("A[0] = T.cuda.func_call('f', A[1], source_code='x', return_type='float32')",
         'A[0] = T.cuda.func_call("f", A[1], source_code="x", return_type="float32")'),
        ("T.ptx[f'ld.{4}.b32'](A.ptr_to([i]), [1, 2])", 'T.ptx["ld.4.b32"](T.address_of(A[i]), [1, 2])'),
        ("O = T.alloc_local((1,))\nT.ptx.ld(O, A.data)\nT.cuda.g(O)",
         'O = T.alloc_buffer((1,), "float32", scope="local")\nT.ptx.ld(O[0], A.data)\nT.cuda.g(O.data)'),
        ("T.nki.copy(A[0:4], H[0:4], x=None)", "T.nki.copy(A[0:4], H[0:4], x=None)"),
        ("p = A.ptr_to([2])\nT.call_extern('int32', 'f', p)",
         'p: T.let[T.handle("float32")] = T.address_of(A[2])\nT.call_extern("int32", "f", p)'),
        ("m: T.let[T.handle('tensormap')] = T.tvm_stack_alloca('tensormap', 1)\nT.call_extern('int32', 'f', m)",
         'm: T.let[T.TensorMap()] = T.tvm_stack_alloca("tensormap", 1)\nT.call_extern("int32", "f", m)'),
        ("T.call_extern('int32', 'f', 0xFFFFFFFF)", 'T.call_extern("int32", "f", T.int64(4294967295))'),
    ],
)  # fmt: skip
def test_operators_of_a_device(text: str, meant: str) -> None:
    assert lines(text) == meant


def test_what_an_instruction_may_store_to_is_memory() -> None:
    text = "x: T.float32 = 0.0\n{}\nA[0] = x"
    for call in ("T.ptx.ld(x, A.data)", "T.ptx['ld.b32'](x, A.data)", "T.call_extern('int32', 'f', T.address_of(x))"):
        assert lines(text.format(call)).splitlines()[-1] == "A[0] = x[0]"
    for call in ("T.call_extern('int32', 'f', x)", "T.ptx.st(A.data, x + 1.0)"):  # a value
        assert lines(text.format(call)).splitlines()[-1] == "A[0] = x"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("S = T.alloc_buffer((4, 8), layout=T.TileLayout(T.S[(4, 8) : (1, 4)]))\nS[0, 0] = 0.0",
         'S = T.alloc_buffer((4, 8), "float32", layout=T.TileLayout(T.S[(4, 8):(1, 4)]))'),
        ("S = T.alloc_buffer((4, 8), scope='trn.sbuf', layout='PF', allocated_addr=[i, 4])\nS[0, 0] = 0.0",
         'S = T.alloc_buffer((4, 8), "float32", scope="trn.sbuf", layout="PF", allocated_addr=[i, 4])'),
        ("S = A.view(2, 4, layout=T.ComposeLayout(1, 1, 1, T.TileLayout(T.S[8])))\nS[0, 0] = 0.0",
         'S = T.decl_buffer((2, 4), "float32", data=A.data, '
         "layout=T.ComposeLayout(1, 1, 1, T.TileLayout(T.S[8])))"),
    ],
)  # fmt: skip
def test_layouts_and_addresses(text: str, meant: str) -> None:
    assert lines(text).splitlines()[0] == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("B.permute(1, 0)", "(8, 4), \"float32\", data=B.data, strides=(1, 8)"),
        ("B.sub[2, 1:7:2]", '(3,), "float32", data=B.data, strides=(2,), elem_offset=17'),
        ("B.sub[i]", '(8,), "float32", data=B.data, elem_offset=i * 8'),
        ("B.view(2, 2, 8).sub[:, 1].permute(1, 0)",
         '(8, 2), "float32", data=B.data, strides=(1, 16), elem_offset=8'),
        ("B.rearrange('(a b) c -> b a c', a=2)", '(2, 2, 8), "float32", data=B.data, strides=(8, 16, 1)'),
        ("B.sub[:, 0:4].view(2, 2, 2, 2)", '(2, 2, 2, 2), "float32", data=B.data, strides=(16, 8, 2, 1)'),
        ("B.sub[:, 0:4].view(16)", '(16,), "float32", data=B.data, layout=T.TileLayout(T.S[(4, 4):(8, 1)])'),
        ("A.tile((0, (2, -1)))[1, :]", '(4,), "float32", data=A.data, elem_offset=4'),
        ("B.tile((1, (2, 2, -1)), (0, (-1, 2)))[0, :, :, :, i]",
         '(2, 4), "float32", data=B.data, strides=(16, 1), elem_offset=i * 8'),
        ("B.tile((1, (2, 2, 2)))[:, i, :]",
         '(4, 4), "float32", data=B.data, elem_offset=i * 2, layout=T.TileLayout(T.S[(4, 2, 2):(8, 4, 1)])'),
        ("B.local(32, layout=T.TileLayout(T.S[32:2]))", '(32,), "float32", data=B.data, strides=(2,)'),
        ("A.sub[4:8].view('int64')", '(2,), "int64", data=A.data, elem_offset=2'),
        ("A.sub[4:8].view('int8')", '(16,), "int8", data=A.data, elem_offset=16'),
    ],
)  # fmt: skip
def test_views_by_methods(text: str, meant: str) -> None:
    shown = lines(f"S = {text}\nT.call_extern('int32', 'f', S.data)").splitlines()[0]
    assert shown == f"S = T.decl_buffer({meant})"


def test_a_layout_that_comes_to_strides_is_that() -> None:
    made = lines("S = T.alloc_buffer((4, 8), layout=T.TileLayout(T.S[(4, 8) : (8, 1)]))\nS[0, 0] = 0.0")
    assert made.splitlines()[0] == 'S = T.alloc_buffer((4, 8), "float32")'
    made = lines("S = T.decl_buffer((4, 2), data=A.data, layout=T.TileLayout(T.S[(4, 2) : (1, 4)]))\nS[0, 0] = 0.0")
    assert made.splitlines()[0] == 'S = T.decl_buffer((4, 2), "float32", data=A.data, strides=(1, 4))'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B.permute(0, 0)", "permute names each of the 2 axes once"),
        ("B.sub[0, 0, 0]", "B has 2 dimensions, not 3"),
        ("B.sub[::-1]", "the step of a slice is positive"),
        ("B.sub[0:5]", "the slice leaves B in dimension 0"),
        ("B.sub[0, 8]", "the index leaves B in dimension 1"),
        ("B.sub[-1]", "the index leaves B in dimension 0"),
        ("A.view('int8', layout='default')", "a view of another type has no layout"),
        ("B.rearrange('a b -> b', a=4)", "rearrange names the axes"),
        ("B.rearrange('(a b) c -> a b c')", "the sizes of a b do not follow"),
        ("B.rearrange('(a b) c -> a b c', a=2, b=3)", "the sizes of a b do not"),
        ("B.permute(1, 0).view(4, 8)", "a view of a buffer with strides is written"),
        ("B.tile((0, (3, -1)))[0, :]", "the factors do not follow from the extent of axis 0"),
        ("B.tile((0, (2, 2)))[:, :]", "a tile picks a place of one factor at least"),
        ("B.tile((0, (2, 2)))[2, :]", "the index leaves a factor of 2"),
        ("B.tile((0, (2, 2)))[0]", "each factor of a tile has one index"),
        ("B.tile(0, (2, 2))[0, :]", "tile takes pairs"),
        ("B.local()", "local takes the extents"),
        ("A.sub[1:5].view('int64')", "need not be a whole number of elements"),
        ("i.permute(0)", "only a buffer has views"),
    ],
)
def test_views_that_do_not_fit(text: str, message: str) -> None:
    assert message in refusal(f"S = {text}\nS[0] = 0.0")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("k = T.meta_var([A[j] for j in range(2, 4)])\nA[0] = k[1]", "A[0] = A[3]"),
        ("T.evaluate(tvm.tirx.all(*([P[j] for j in range(2)] + [P[j] for j in range(4, 6)])))",
         "T.evaluate(P[0] and P[1] and P[4] and P[5])"),
        ("n = I.meta_var(i)\nA[n] = 0.0", "A[i] = T.float32(0.0)"),
        ("T.Return(T.int32(5))", "return 5"),
        ("T.evaluate(tirx.vscale())", "T.vscale()"),
        ("Tx.select(A, A, lambda a, b: a < b)", "T.tile.select(A, A, lambda a, b: a < b)"),
        ("T.evaluate(T.address_of(h))", "T.address_of(h)"),
        ("D = T.decl_buffer((2,), 'int64', data=T.tvm_stack_alloca('shape', 2))\nD[0] = l",
         'D_data: T.let[T.handle("int64")] = T.tvm_stack_alloca("shape", 2)\n'
         'D = T.decl_buffer((2,), "int64", data=D_data)\nD[0] = l'),
        ("x: T.let[T.int32] = i\nwith T.attr({'tirx.device_entry': True}):\n    J[x] = 0",
         "x: T.let[T.int32] = i\nT.device_entry()\nJ[x] = 0"),
    ],
)  # fmt: skip
def test_what_the_text_computes(text: str, meant: str) -> None:
    assert lines(text) == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = T.meta_var([A[j] for j in J])", "a list is made for each number of a range"),
        ("k = T.meta_var([j for j in range(5000)])", "at most 1024 entries"),
        ("k = T.meta_var([j for j in range(4) if j > 1])", "ListComp has no meaning"),
        ("Tx.select(A, A, lambda a: a < i)", "i is no variable of the function"),
        ("with T.attr({'tirx.device_entry': True}):\n    A[0] = 0.0\nA[1] = 0.0", "at the level of the function"),
        ("T.evaluate(T.address_of(i + 1))", "T.address_of takes an access"),
    ],
)
def test_what_cannot_be_computed(text: str, message: str) -> None:
    assert message in refusal(text)


def test_a_persistent_function_is_one_of_a_device() -> None:
    text = program("T.device_entry()\nA[0] = 0.0").replace("@T.prim_func", "@T.prim_func(persistent=True)")
    assert '"tirx.persistent_kernel": True' in script(parse_func(text))
    with pytest.raises(ScriptError, match="persistent function is one of a device"):
        parse(text.replace("T.device_entry()", "pass"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("if i > 0:\n    T.device_entry()", "stands at the level of the function"),
        ("T.attr(0, 'pragma', 1)\nT.device_entry()", "stands at the level of the function"),
        ("bx = T.launch_thread('blockIdx.x', 4)\nT.device_entry()\nA[bx] = 0.0", "at the level of the function"),
        ("T.cta_id([])", "gives a number for each extent"),
        ("T.device_entry(1)", "at most 0 arguments"),
        ("T.attr({'tirx.device_entry': T.bool(False)})\nA[0] = 0.0", "is True"),
        ("bx, by = T.cta_id([4])\nA[bx] = 1.0", "T.cta_id gives 1 numbers, for 2 names"),
        ("bx = T.cta_id(4)\nA[bx] = 1.0", "the extents of T.cta_id are a list"),
        ("A[T.cta_id([4])] = 1.0", "T.cta_id is a statement of its own"),
        ("bx = T.cta_id([4], persistent=True)", "unknown argument persistent"),
        ("Tx.copy(A[0:4:2], A)", "a region has no gaps"),
        ("Tx.copy(B[0:2, 0:2, 0:2], A)", "B has 2 dimensions, not 3"),
        ("Tx.copy(A, A, **A)", "** has no meaning here"),
        ("T.device_entry()\nif i > 0:\n    return\nA[0] = 0.0\nfor j in range(8):\n    if j > i:\n"
         "        return\n    A[j] = 1.0", "a thread returns for itself only"),
        ("T.call_extern('int32', 'f', [1])", "a tuple cannot be an argument"),
        ("T.hint('a', 'b')", "T.hint takes one message"),
        ("A[0] = T.cuda.unheard(A[1])", "T.cuda.unheard is unknown"),
        ("T.ptx[f'ld.{i}'](A[0])", "an f-string is made of constants"),
        ("C = T.alloc_buffer((4,), layout='x')", "a layout other than the default"),
        ("C = T.alloc_buffer((4,), layout=T.TileLayout(T.S[i]))", "a layout is written with constants; i is none"),
        ("C = T.alloc_buffer((4,), layout=T.float32(1))", "a layout is a string, or T.TileLayout"),
        ("C = T.alloc_buffer((4, 8), layout=T.TileLayout(T.S[8]))\nwith T.sblock():\n"
         "    D = T.match_buffer(C[0:2, 0:2], (2, 2))\n    D[0, 0] = 0.0", "where the elements of C lie"),
        ("with T.sblock():\n    D = T.match_buffer(B[0:2, 0:2], (2, 2), layout=T.TileLayout(T.S[4]))\n"
         "    D[0, 0] = 0.0", "the region lies as B does; leave layout= out"),
        ("with T.sblock():\n    D = T.match_buffer(B[0:2, 0:2], (2, 2), allocated_addr=[1])\n    D[0, 0] = 0.0",
         "leave allocated_addr= out"),
        ("C = T.alloc_buffer((4, 8), layout='PF')\nD = C.view(32)\nD[0] = 0.0", "does not say where the elements"),
    ],
)  # fmt: skip
def test_near_misses(text: str, message: str) -> None:
    assert message in refusal(text)


REFUSED = [
    "T.device_entry()\nA[0] = 1.0",
    "tx = T.thread_id([8])\nA[tx] = 1.0",
    "T.tile.copy(A[0:8], B[0, 0:8])",
    "C = T.alloc_buffer((8,), layout=T.TileLayout(T.S[8:2]))\nC[0] = 0.0",
    "C = T.alloc_buffer((8,), allocated_addr=[0])\nC[0] = 0.0",
]


@pytest.mark.parametrize("text", REFUSED)
def test_nothing_is_proved_or_run_of_what_is_not_followed(text: str) -> None:
    head = "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32'), B: T.Buffer((4, 8), 'float32')):\n"
    func = parse_func(head + "\n".join(f"    {line}" for line in text.splitlines()))
    with pytest.raises(NotApplicable, match=r"has no meaning here|nothing here follows"):
        Schedule(func)
    with pytest.raises(Unsupported):
        run(func, {"A": np.zeros(8, np.float32), "B": np.zeros((4, 8), np.float32)})
    assert isinstance(validate(func, func).verdict, Unknown)


def test_a_function_of_a_device_says_strides_as_a_layout() -> None:
    # TVM drops layouts where a function is marked s_tir, and where it is not, takes the default one besides strides
    views = "S = B.permute(1, 0)\nV = T.alloc_buffer((4,), strides=(2,))\nS[0, 0] = V[0]"
    here, device = (script(parse_func(program(head + views))) for head in ("", "T.device_entry()\n"))
    assert "@T.prim_func(s_tir=True)" in here and "strides=(1, 8)" in here
    assert "@T.prim_func\n" in device and "layout=T.TileLayout(T.S[(8, 4):(1, 8)])" in device
    assert 'T.alloc_buffer((4,), "float32", strides=(2,), layout=None)' in device
    assert structural_equal(parse_func(device), parse_func(program("T.device_entry()\n" + views)))


def test_a_parameter_with_a_layout() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32', layout=T.TileLayout(T.S[8:2])), m: T.TensorMap()):\n    {}"
    func = parse_func(text.format("A[0] = 0.0"))
    assert 'T.Buffer((8,), "float32", layout=T.TileLayout(T.S[8:2])), m: T.TensorMap()' in script(func)
    assert structural_equal(func, parse_func(script(func)))
    with pytest.raises(NotApplicable, match="where the elements of A lie"):
        Schedule(text.format("pass"))


METADATA = """metadata = tvm.ir.load_json('''{"root_index": 5, "nodes": [{"type": "ffi.String", "data": "ir.StringImm"},
  {"type": "ffi.String", "data": "two words"}, {"type": "None"},
  {"type": "ir.StringImm", "data": {"span": 2, "value": 1}}, {"type": "ffi.Array", "data": [3]},
  {"type": "ffi.Map", "data": [0, 4]}]}''')
"""


def test_an_offset_of_its_own_keeps_the_layout() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), layout=T.TileLayout(T.S[8:2]), offset_factor=4)):\n    A[0] = 0.0"
    assert "elem_offset=A_elem_offset, layout=T.TileLayout(T.S[8:2])" in script(parse_func(text))


def test_strings_of_metadata() -> None:
    text = METADATA + program('assert i > 0, ("ValueError", ["no ", metadata["ir.StringImm"][0]])')
    assert 'assert i > 0, "no two words"' in script(parse_func(text))
    for wrong, message in (
        (text.replace("[0]])", "[1]])"), "position 1 lies outside"),
        (text.replace('metadata["ir.StringImm"]', 'metadata["tirx.IndexMap"]'), "has no strings of the class"),
        (text.replace('"root_index": 5', '"root_index": 9'), "not the graph of objects"),
    ):
        with pytest.raises(ScriptError, match=message):
            parse(wrong)


def test_another_namespace_is_no_module() -> None:
    assert "only T.name" in refusal("T.evaluate(I.foo(1))")
