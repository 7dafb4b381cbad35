"""Differential tests: generated code against an independent JSON Schema validator."""
