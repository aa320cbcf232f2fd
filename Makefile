# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Each target makes the virtual environment and installs what it needs first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
PYTEST = $(abspath $(BIN))/python -m pytest -n $(WORKERS) --dist worksteal
# What is tested once more without the hot path in C.
IN_PYTHON := tests/engine tests/autograd tests/fuzz tests/laws/test_dtypes.py tests/laws/test_strides.py \
	tests/torch/masked tests/torch/nested tests/torch/sparse
# What is tested once more without llvmlite: every op and its derivatives on small arrays, which no kernel
# ever computes, so by one law; and on large arrays.
UNCOMPILED := tests/laws/test_laws.py::test_vjp_equals_finite_differences tests/laws/test_results.py \
	tests/laws/test_sizes.py tests/laws/test_strides.py::test_strides_are_those_of_pytorch

# PyTorch's world, of which the engine and training need nothing; and what is about the whole package,
# with it: its pages, stubs, builds, benchmarks and rings.
WORLD := src/retrograd/torch src/retrograd/as_torch.py src/retrograd/__main__.py tests/torch
WHOLE := tests/test_benchmarks.py tests/test_complex_page.py tests/test_conventions.py tests/test_layers_picture.py \
	tests/test_links.py tests/test_ops_page.py tests/test_packaging.py tests/test_pointers.py \
	tests/test_providers.py tests/test_readme.py tests/test_site.py tests/test_structure.py tests/test_stubs.py tests/data/typing \
	docs/make_*.py docs/installation.md docs/interop.md docs/programs.md docs/tutorials/from-pytorch.md

.PHONY: demo demo-distributed picture test test-laws test-rest test-python test-uncompiled test-core sanitize \
	bench fuzz mutants lint docs site release clean

demo: $(VENV)/.demo
	$(BIN)/python -m demo

# The same digits in two processes, one of which is killed and goes on.
demo-distributed: $(VENV)/.demo $(VENV)/.distributed
	$(BIN)/python -m demo.distributed

# What the README shows, made anew.
picture: demo
	cp demo/picture.jpg docs/demo.jpg

# The whole suite: laws, which are half of it, and the rest; then what is tested once more. REST names
# fewer tests of the rest.
test: test-laws test-rest test-python test-uncompiled

test-laws: $(VENV)/.test
	$(PYTEST) tests/laws

test-rest: $(VENV)/.test
	$(PYTEST) --ignore=tests/laws $(REST)

test-python: $(VENV)/.test
	RETROGRAD_NATIVE=0 $(PYTEST) $(IN_PYTHON)

test-uncompiled: $(VENV)/.test
	RETROGRAD_COMPILE=0 $(PYTEST) $(UNCOMPILED)

# The engine and training in a copy of the tree without PyTorch's world; CORE names fewer tests.
test-core: $(VENV)/.test
	copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	{ git ls-files -co --exclude-standard --deduplicate -- . $(patsubst %,':!%',$(WORLD) $(WHOLE)); \
		find src -name "*.so"; } | tar -c -T - | tar -x -C "$$copy" && cd "$$copy" && \
	PYTHONPATH="$$copy/src" $(PYTEST) $(CORE)

# The hot path in C under gcc's sanitizers. RETROGRAD_ABUSE_ROUNDS=300 lets threads meet for minutes;
# TESTS names tests other than the engine's and those that compare C with Python.
sanitize: $(VENV)/.test
	BIN=$(BIN) .ci/sanitize $(TESTS)

# With TORCH_PYTHON=path/to/python of an environment that has PyTorch, prints ratios as well, and writes
# docs/performance.md; with BEFORE=path/to/checkout, also those to that checkout.
bench: $(VENV)/.base
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/performance.py

# Random programs with C and without, and with TORCH_PYTHON in PyTorch too; prints those that differ, made small.
COUNT ?= 1000
SEED ?= 0
MINUTES ?= inf
fuzz: $(VENV)/.base
	$(BIN)/python -m tests.fuzz COUNT=$(COUNT) SEED=$(SEED) MINUTES=$(MINUTES)

# Breaks the package in 600 ways and prints those that no test notices; tests/mutants/survivors.md has them.
mutants: $(VENV)/.test
	nice $(BIN)/python -m tests.mutants SEED=$(SEED) WORKERS=$(WORKERS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/data/typing/tutorials.py build/tutorials
	$(BIN)/mypy build/tutorials
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/clang-format --dry-run --Werror $(shell find src/native -name "*.[ch]")

docs: $(VENV)/.docs
	$(BIN)/python docs/make_families.py
	$(BIN)/python docs/make_ops.py
	$(BIN)/python docs/make_complex.py
	$(BIN)/python docs/make_conventions.py
	$(BIN)/python docs/make_layers.py
	$(BIN)/python docs/make_stubs.py
	$(BIN)/python docs/make_readme.py
	$(MAKE) site

site: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --quiet

# The files of a release in dist/, each tried in an environment of its own: RELEASING.md.
release: $(VENV)/.release
	BIN=$(BIN) .ci/release

$(VENV)/.base: pyproject.toml setup.py $(shell find src/native -name "*.[ch]")
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.%: pyproject.toml $(VENV)/.base
	$(BIN)/pip install --quiet --disable-pip-version-check "retrograd[$*]"  # which is here: it is not built anew
	touch $@

clean:
	rm -rf $(VENV) build dist site demo/report.html demo/picture.jpg .mypy_cache .ruff_cache .pytest_cache
