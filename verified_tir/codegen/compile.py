"""From LLVM text to object code."""

from __future__ import annotations

import llvmlite.binding as llvm

from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.order import define_order, hidden
from verified_tir.codegen.target import Target, initialize


def compile_llvm(text: str, target: Target) -> bytes:
    """The object code of a module.

    Loops over vector instructions, with constant indices, need little optimisation.  A module with other loops
    (``emit`` marks it by the metadata ``vtir.loops``) goes through all of LLVM's, the vectoriser included.

    :raises CodegenError: if LLVM refuses the text; that is a fault of whatever wrote it.
    """
    module, machine = optimise(text, target)
    code: bytes = machine.emit_object(module)
    return code


def assembly(text: str, target: Target) -> str:
    """The assembly of a module, optimised as :func:`compile_llvm` does it."""
    module, machine = optimise(text, target)
    listing: str = machine.emit_assembly(module)
    return listing


def optimised_text(text: str, target: Target) -> str:
    """The module in LLVM IR, optimised as :func:`compile_llvm` does it: what machine code is made of."""
    module, _ = optimise(text, target)
    return str(module)


def optimise(text: str, target: Target) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """The optimised module, and the machine that makes code of it."""
    initialize()
    text, definitions = hidden(text)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as refused:
        raise CodegenError(f"LLVM refuses the generated text: {refused}") from refused
    machine = target.machine()
    module.data_layout = str(machine.target_data)  # else the optimiser assumes another alignment than code is made for
    loops = "\n!vtir.loops = " in text
    options = llvm.create_pipeline_tuning_options(speed_level=3 if loops else 1)
    options.loop_vectorization = options.slp_vectorization = loops
    builder = llvm.create_pass_builder(machine, options)
    if loops:
        passes = builder.getModulePassManager()
    else:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
    passes.run(module, builder)
    define_order(module, definitions, builder, loops=loops)
    module.verify()
    return module, machine
