"""Benchmarks of poe against other packages and against plain textbook code.

`python -m benchmarks` runs every case and writes benchmarks/results; `--quick` runs smaller
problems in less than two minutes and leaves the committed results alone.
"""
