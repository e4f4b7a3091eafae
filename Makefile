# `make` alone prints the targets. `make demo` and `make test` need Python 3.11 or newer and nothing else.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PY := .venv/bin/python
READY := .venv/.ready
PRUNE_DEMO_DIR ?= .demo
DEMO := $(abspath $(or $(PRUNE_DEMO_DIR),.demo))

.PHONY: help
help:  ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# PYTHON=... names the Python that the virtual environment is made of.
$(READY): locks/requirements.lock pyproject.toml setup.py $(wildcard parquet_core/format/compact.p* parquet_core/storage/system_calls.p* prune_assets/tables/iceberg/manifests/avro_walk.p*) .ci/make-venv .ci/uv
	@PYTHON="$(PYTHON)" .ci/make-venv

.PHONY: demo
demo: $(READY)  ## run TPC-H through Dagster and Spark and print what was skipped (SF=1 for more data)
	@$(PY) -m examples.demo

.PHONY: dev
dev: $(READY)  ## open Dagster's UI on the demo's tables and history
	@test -d "$(DEMO)/dagster_home" || { echo "$(PRUNE_DEMO_DIR): no demo has run yet; run 'make demo' first" >&2; exit 1; }
	@DAGSTER_HOME="$(DEMO)/dagster_home" PRUNE_DEMO_DIR="$(DEMO)" $(PY) -m dagster dev -w workspace.yaml

.PHONY: test
test: $(READY)  ## run every test (ARGS="-k name" for some)
	@.ci/test $(ARGS)

.PHONY: deep
deep: $(READY)  ## run the tests that take minutes: whole matrices, the whole workload (ARGS="-k taxi" for some)
	@.ci/test --deep $(ARGS)

.PHONY: matrix
matrix: $(READY)  ## run the core of the tests on Spark 3.5, 4.0, 4.1 and 4.2 (ARGS=3.5 for one; lowest and newest libraries)
	@.ci/matrix $(ARGS)

.PHONY: e2e
e2e: $(READY)  ## run Dagster and Airflow as users do and look at them in Chromium; pictures go to .e2e/ (ARGS="-k sensor")
	@.ci/e2e $(ARGS)

.PHONY: docs
docs: $(READY)  ## build the documentation into .docs/site/, warnings as errors
	@.ci/docs

.PHONY: fuzz
fuzz: $(READY)  ## damage metadata and logs, and hold plans against Spark and its peers, at random (ARGS="planner --seed 2")
	@PYTHONPATH=.:tests $(PY) tests/fuzz $(ARGS)

.PHONY: bench
bench: $(READY)  ## measure against peers, side by side (ARGS=Delta for some)
	@$(PY) -m benchmarks $(ARGS)

.PHONY: lint
lint: $(READY)  ## check style, format, GitHub's workflows and forms, and that the locks hold no addresses
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(PY) -m check_jsonschema --builtin-schema vendor.github-issue-forms $(addprefix .github/ISSUE_TEMPLATE/,bug.yml feature.yml)
	@! grep -n '://' locks/*.lock

.PHONY: types
types: $(READY)  ## check types
	@$(PY) -m mypy --show-traceback

.PHONY: format
format: $(READY)  ## rewrite the sources in the house format, and the files that are made from them
	@$(PY) -m ruff check --select I --fix --quiet
	@$(PY) -m ruff format
	@.ci/generate

.PHONY: wheel
wheel: $(READY)  ## build into dist/ the sources, from them the wheel for this Python and machine, and that for every one
	@rm -rf dist
	@.ci/uv build --quiet --no-build-isolation --python $(PY)
	@PRUNE_ASSETS_PURE=1 .ci/uv build --quiet --wheel --no-build-isolation --python $(PY) dist/*.tar.gz

.PHONY: try-wheel
try-wheel: wheel  ## install the wheels into empty environments of each Python that is here, and try them (ARGS=3.13 for one)
	@.ci/try-wheel $(ARGS)

.PHONY: lock
lock: $(READY)  ## resolve the versions of the locks again (ARGS=--upgrade for newer ones)
	@.ci/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url \
		--extra dev --python-version 3.11 $(ARGS) pyproject.toml -o locks/requirements.lock > /dev/null
	@.ci/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url \
		--group e2e --constraint locks/requirements.lock --no-annotate --python-version 3.11 $(ARGS) -o locks/e2e.lock > /dev/null
	@.ci/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url \
		--group docs --constraint locks/requirements.lock --no-annotate --python-version 3.11 $(ARGS) -o locks/docs.lock > /dev/null
