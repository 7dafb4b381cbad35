"""Typed clients of live servers: a listing of what a server offers → one module."""
