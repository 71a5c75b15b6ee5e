# Each target does all of its own set-up from a fresh clone, and none of it the second time.

PYTHON ?= $(shell command -v python3.11 || echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
DOCS_READY := $(VENV)/ready-docs
WORKERS ?= 2
RUN_ARGS ?= --suite quick --models GCN,GAT,GraphSAGE,GraphTransformer,GIN,MLP --seeds 0-4 --jobs 2
TEST_ARGS ?=
BENCH ?= benchmarks
INPUTS ?= 100000
SEEDS ?= 3
SANITIZED := $(abspath build/sanitized)
# Extra pip options for Torch alone, such as the index of its CPU builds.
TORCH_ARGS ?=

PIP := $(BIN)/python -m pip --disable-pip-version-check

# Two workers with two threads each fight over two cores, and sums in another order differ in the last digits.
test test-all test-pure sanitize fuzz faults: export OMP_NUM_THREADS := 1
test test-all test-pure sanitize fuzz faults: export MKL_NUM_THREADS := 1
# Hundreds of processes of tests import the package; each would compile it anew where this is set.
test test-all test-pure sanitize fuzz faults: export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all test-pure sanitize fuzz faults bench docs wheels lint format clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -e 's/:.*##/:/' | awk -F': *' '{ printf "  make %-10s %s\n", $$1, $$2 }'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "set-up 1/3: virtual environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "set-up 2/3: torch, as pinned in constraints.txt"
	@$(PIP) install --quiet --constraint constraints.txt $(TORCH_ARGS) torch
	@echo "set-up 3/3: gnz-track and everything else, as pinned in constraints.txt"
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $@

$(DOCS_READY): $(READY)
	@echo "set-up: what builds the documentation"
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

setup: $(READY)  ## make the environment in .venv

run: $(READY)  ## train the quick suite, track it and show the means
	$(BIN)/gnz run $(RUN_ARGS)
	@echo "next: source $(BIN)/activate, then: gnz report"

# A worker keeps to its half of the files, for whose fixtures it has paid, until the other one has nothing left.
test: lint  ## style, types and the fast tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TEST_ARGS)

test-all: lint  ## the same with the slow tests, and what trains once more without kernels
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not network and not gpu" $(TEST_ARGS)
	$(MAKE) test-pure

test-pure: export GNZ_KERNELS := off
test-pure: $(READY)  ## the tests of all that trains, where Torch alone computes
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/training tests/conformance tests/golden tests/end_to_end $(TEST_ARGS)

# In a copy, so that the kernels in place stay as they are. What runs beside clusters and services computes no more.
sanitize: $(READY)  ## tests of the kernels, every read and write of which g++ watches
	rm -rf $(SANITIZED)
	mkdir -p $(SANITIZED)
	cp -r pyproject.toml gnz_track tests $(SANITIZED)
	rm -rf $(SANITIZED)/gnz_track/training/acceleration/built
	CXX="g++ -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g" \
		$(BIN)/python $(SANITIZED)/gnz_track/training/acceleration/library.py
	cd $(SANITIZED) && PYTHONPATH=$(SANITIZED) ASAN_OPTIONS=detect_leaks=0 \
		LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
		$(abspath $(BIN))/python -m pytest -n $(WORKERS) --dist worksteal $(TEST_ARGS) \
		tests/training/acceleration $$(cd $(SANITIZED) && ls tests/conformance/test_*_*.py | grep -v -e executors -e ray)

fuzz: export GNZ_FUZZ_INPUTS := $(INPUTS)
fuzz: $(READY)  ## broken files and calls, 100,000 of them; INPUTS=1000 for fewer
	$(BIN)/python -m pytest tests/fuzz -q -s -k changed $(TEST_ARGS)

faults: export GNZ_FAULT_SEEDS := $(SEEDS)
faults: $(READY)  ## sweeps under fire, and what was lost, repeated or wrong; SEEDS=30 for the record
	$(BIN)/python -m pytest tests/faults -q -s -m "" $(TEST_ARGS)

bench: $(READY)  ## measure speed; every script in benchmarks/
	@ls $(BENCH)/*.py >/dev/null 2>&1 || { echo "no scripts in $(BENCH)/" >&2; exit 1; }
	@for script in $(BENCH)/*.py; do echo "$$script"; $(BIN)/python "$$script" || exit 1; done

# The theme announces its successor on every build.
docs: export NO_MKDOCS_2_WARNING := 1
docs: $(DOCS_READY)  ## build the documentation into site/; any warning is an error
	$(BIN)/python -m mkdocs build --strict
	@echo "open site/index.html; with a search: $(BIN)/python -m http.server --directory site"

# By clang of a package, for a C library of long ago: the wheel is for any Linux of this processor family.
wheels: $(READY)  ## a source distribution and a wheel with compiled kernels, into dist/
	@$(PIP) install --quiet 'build>=1.5,<2' 'ziglang>=0.15,<1'
	CXX="$(abspath $(BIN))/python -m ziglang cc" $(BIN)/python -m build

lint: $(READY)  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(READY)  ## rewrite the code in the house's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove the environment and all caches; runs and data stay
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
