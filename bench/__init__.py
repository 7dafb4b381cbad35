"""Benchmarks: ratios against named peers, measured in one run."""
