"""Copies of generated types, validators, stubs and the runtime for other projects."""
