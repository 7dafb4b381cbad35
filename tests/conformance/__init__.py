"""The official conformance suite, run against a server that offers all it asks for."""
