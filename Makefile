# Every target sets up what it needs in .venv and does it again only when its inputs change.
#
#   make demo     train, compress, compare, draw: writes demo-output/
#   make test     what a change can break, in a few minutes
#   make test-all every test: the slow ones, and those that need torch
#   make lint     ruff and mypy
#   make format   let ruff rewrite the sources
#   make docs     the documentation with its reference: build/site/index.html
#   make wheel    an sdist and a wheel in dist/, checked, and tried on every Python that is here
#   make wasm     the program inside web models, by clang and wasm-ld
#   make fuzz SECONDS=600      damaged and hostile files for every reader
#   make soak MINUTES=30       threads and processes on shared models, flat memory
#   make test-sanitize         the extension and exported C under AddressSanitizer and UBSan
#   make kills                 every command killed a hundred times

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# a plain install rather than an editable one: tests see what a user gets, whatever the build back end
SOURCES := pyproject.toml README.md LICENSE $(wildcard meson.build) \
           $(shell find src -type f -not -name '*.pyc' -not -name '.*')

.PHONY: help demo test test-all lint format docs wheel wasm clean fuzz soak test-sanitize kills

SECONDS ?= 600
MINUTES ?= 30
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   //p' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.demo
	$(BIN)/svmpress demo --out demo-output

# one thread each, as the tests run side by side
test test-all: export OMP_NUM_THREADS := 1
test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not torch and not slow"

test-all: $(VENV)/.test-all
	$(BIN)/python -m pytest -n 2 --dist worksteal

fuzz: $(VENV)/.test
	$(BIN)/python tests/fuzz/fuzz.py --seconds $(SECONDS)

soak: $(VENV)/.test
	$(BIN)/python tests/soak/soak.py --minutes $(MINUTES)

kills: $(VENV)/.test
	SVMPRESS_KILLS=100 $(BIN)/python -m pytest tests/faults -k killed --timeout 3600

# the sanitizers' libraries must be there before Python's own memory is
test-sanitize: $(VENV)/.test
	$(BIN)/python tests/sanitize/build.py build/sanitized
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	PYTHONMALLOC=malloc PYTHONPATH=build/sanitized OMP_NUM_THREADS=2 SVMPRESS_SANITIZE=100 \
	$(BIN)/python -m pytest -s -m "not torch" tests/sanitize tests/predictor tests/objectives/test_fused.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# made anew each time, so that a page which is gone leaves nothing behind
docs: $(VENV)/.docs
	rm -rf docs/reference build/site
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -j auto -c docs/_site -b html . build/site
	$(BIN)/python docs/_site/check.py build/site

wheel: $(VENV)/.wheel
	rm -rf dist
	$(BIN)/python -m build --installer pip --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python tests/wheel/try_wheel.py dist

clean:
	rm -rf $(VENV) build dist docs/reference demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis

# pip before 25.1 knows no dependency groups
$(VENV)/.pip:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.demo: $(VENV)/.pip $(SOURCES)
	$(PIP) install --quiet ".[plots,onnx]"
	@touch $@

$(VENV)/.test: $(VENV)/.pip $(SOURCES)
	$(PIP) install --quiet --group test ".[plots,parquet,study,onnx,skops,dask]"
	@touch $@

# torch in the version whose build for processors alone registries have; OpenCV before 5, which has no SVM
$(VENV)/.test-all: $(VENV)/.test
	$(PIP) install --quiet "torch==2.13.0" "optuna>=5.0" "greenlet>=3.0" "opencv-python-headless>=4.10,<5" "nyoka>=5.5" \
	  "pyspark>=4.0"
	@touch $@

$(VENV)/.lint: $(VENV)/.pip pyproject.toml
	$(PIP) install --quiet --group lint .
	@touch $@

$(VENV)/.docs: $(VENV)/.pip $(SOURCES)
	$(PIP) install --quiet --group docs .
	@touch $@

$(VENV)/.wheel: $(VENV)/.pip pyproject.toml
	$(PIP) install --quiet --group wheel
	@touch $@

# committed, so that nobody needs a compiler; a test builds it again where clang is of the same version. 4,096 bytes are
# what every browser compiles at once, without waiting: -Oz, and the source says which loops are unrolled all the same
WASM := src/svmpress/exports/web
CLANG_WASM := clang --target=wasm32 -msimd128 -Oz -std=c11 -ffreestanding -fno-builtin -nostdlib -Wall -Wextra -Werror \
              -Wl,--no-entry,--strip-all,-z,stack-size=4096
wasm:
	for name in values whole; do \
	  $(CLANG_WASM) -o $(WASM)/$$name.wasm src/svmpress/exports/web/$$name.c && chmod 644 $(WASM)/$$name.wasm || exit 1; \
	done
