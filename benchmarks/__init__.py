"""Benchmarks of poe against other packages and against plain textbook code.

`python -m benchmarks` runs every case and writes benchmarks/results.
"""
