# Every target sets up what it needs in .venv and does it again only when its inputs change.
#
#   make demo     train, compress, compare, draw: writes demo-output/
#   make test     what a change can break, in a few minutes
#   make test-all every test: the slow ones, and those that need torch
#   make lint     ruff and mypy
#   make format   let ruff rewrite the sources
#   make wasm     the program inside web models, by clang and wasm-ld

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# a plain install rather than an editable one: tests see what a user gets, whatever the build back end
SOURCES := pyproject.toml README.md LICENSE $(wildcard meson.build) \
           $(shell find src -type f -not -name '*.pyc' -not -name '.*')

.PHONY: help demo test test-all lint format wasm clean
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

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis

# pip before 25.1 knows no dependency groups
$(VENV)/.pip:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.demo: $(VENV)/.pip $(SOURCES)
	$(PIP) install --quiet ".[plots,onnx]"
	@touch $@

$(VENV)/.test: $(VENV)/.pip $(SOURCES)
	$(PIP) install --quiet --group test ".[plots,parquet,study,onnx,skops]"
	@touch $@

# torch in the version whose build for processors alone registries have; OpenCV before 5, which has no SVM
$(VENV)/.test-all: $(VENV)/.test
	$(PIP) install --quiet "torch==2.13.0" "optuna>=5.0" "greenlet>=3.0" "opencv-python-headless>=4.10,<5" "nyoka>=5.5"
	@touch $@

$(VENV)/.lint: $(VENV)/.pip pyproject.toml
	$(PIP) install --quiet --group lint .
	@touch $@

# committed, so that nobody needs a compiler; a test builds it again where clang is of the same version. 4,096 bytes are
# what every browser compiles at once, without waiting: -Oz, and the source says which loops are unrolled all the same
WASM := src/svmpress/exports/web/values.wasm
wasm:
	clang --target=wasm32 -msimd128 -Oz -std=c11 -ffreestanding -fno-builtin -nostdlib -Wall -Wextra -Werror \
	  -Wl,--no-entry,--strip-all,-z,stack-size=4096 -o $(WASM) src/svmpress/exports/web/values.c
	chmod 644 $(WASM)
