# `make demo` and `make test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test conformance interop browser generate check fidelity bench lint clean

demo: $(STAMP)
	$(BIN)/mcpgen generate
	@echo
	$(BIN)/mcpgen diff 2025-11-25 2026-07-28 --breaking || test $$? -eq 1
	@echo
	$(BIN)/mcpgen methods 2026-07-28
	@echo
	$(BIN)/python -m tests.demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 -q -m "not interop and not browser"

# The official suite; the first run installs it, with its Node, into .cache.
conformance: $(STAMP)
	$(BIN)/python -m tests.conformance

# Official SDKs, the Inspector, servers of others; the first run installs them into .cache.
interop: $(STAMP)
	$(BIN)/python -m pytest -q -m interop tests/interop

# Chromium; where CI is set it is installed if need be, and must be there.
browser: $(STAMP)
	$(BIN)/python -m pytest -q -m browser tests/browser

generate: $(STAMP)
	$(BIN)/mcpgen generate

check: $(STAMP)
	$(BIN)/mcpgen check

fidelity: $(STAMP)
	$(BIN)/python -m tests.fidelity

bench: $(STAMP)
	$(BIN)/python -m bench

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:
	rm -rf .venv .cache

# Made once, and again when the dependencies change.
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
