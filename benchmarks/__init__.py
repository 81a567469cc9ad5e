"""Benchmarks, one small file a question; run one with ``python -m benchmarks.NAME``."""
