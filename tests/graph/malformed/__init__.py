"""Malformed models: valid ones with one thing wrong, in every way and at every place that we could think of.

    python -m tests.graph.malformed
    python -m tests.graph.malformed --only attribute --command run --verbose

Each is given to ``vtir run``, ``vtir plan`` and ``vtir check --before``, each time in a process of its own with limits
of time and memory.  A model is refused in one line that names the node, if it is about one; or it is as valid as
before, and then its results are those of onnxruntime.  Nothing else will do: no traceback, no hang, no gigabytes, no
other numbers.
"""
