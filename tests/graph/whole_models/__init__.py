"""Whole models with random weights, written by hand as exporters write them.

    python -m tests.graph.whole_models FOLDER
    python -m tests.graph.whole_models FOLDER --large

writes each model as ``NAME.onnx``, with its operands as ``NAME.OPERAND.npy``, for ``vtir run`` and ``vtir plan``.
"""
