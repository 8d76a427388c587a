"""Random ONNX models, what computes them, and where that is known to differ: for the target ``onnx``."""
