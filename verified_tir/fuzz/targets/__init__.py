"""What a campaign can test: one module a target.  Those that test this project alone are in ``tests/fuzz/targets``."""
