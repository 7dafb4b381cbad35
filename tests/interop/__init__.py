"""Clients that nobody here wrote, against a server that was written here."""
