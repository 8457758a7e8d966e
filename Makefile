# From a fresh clone with only Python, `make demo` and `make test` set up what they need and run.
#
#   make demo      three racks, real clients, an outage, and who was served by which rack
#   make test      what a stranger runs to trust a clone: unit, property and conformance tests, recorded answers, one session
#                  of Spark, one real client; PYTEST_ARGS="tests/unit -k fetch" for some of them
#   make check     within a minute: format, lint, types, import directions, the unit tests of what changed; ALL=1 for all of them
#   make nightly   every suite: real clients, stores, Spark clusters, browser, docs, wheel, fuzz, torture, bench;
#                  SUITES="docs wheel" for some, and the summary has the last result of each
#   make bench     speed and sizes, beside our peers; BENCH="--large pipeline" for one, up to 1 GB
#   make fuzz      properties, mutated bytes at every message and version, atheris; fresh seeds, for FUZZ_SECONDS
#   make torture   attacks on a server, each within a bound, in 15 minutes; TORTURE="answers" for one family
#   make answers   asks three real brokers of Kafka all scenarios of tests/answers, and records what they answer
#   make notebook  the notebooks of examples/notebooks, run from first cell to last
#   make docs      the pages as one site in build/site, every link checked
#   make wheel     the sdist and the wheel, checked, and the wheel tried in an empty environment
#   make native    the codec in Rust, into .venv; cargo builds it
#   make setup     everything a developer needs, in .venv
#   make clean     removes .venv and caches
#
# PYTHON=... chooses the interpreter (3.11 or newer); VENV=... another place for the environment.

VENV ?= .venv
FUZZ_SECONDS ?= 60
PYTEST_ARGS ?=
BENCH ?=
TORTURE ?=
SUITES ?=
ALL ?=

# Where this is set, each process compiles all that it imports: half of the time that collecting the tests takes, and half
# of that in which `kafka-rack serve` starts.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
DEMO_READY := $(VENV)/.ready-demo
DEV_READY := $(VENV)/.ready-dev
RELEASE_READY := $(VENV)/.ready-release
NOTEBOOK_READY := $(VENV)/.ready-notebook
DOCS_READY := $(VENV)/.ready-docs
NEEDS_PYTHON := a Python of version 3.11 or newer is missing; install it (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python) or name it: make PYTHON=/path/to/python3
NEEDS_VENV := has no venv module; install it (Debian, Ubuntu: apt-get install python3-venv)
NEEDS_PACKAGES := the packages of constraints.txt could not be installed, as $(VENV)/install.log says; mostly a way to a Python package index is missing: set PIP_INDEX_URL or PIP_FIND_LINKS to one that this machine reaches
NEEDS_JAVA := Spark needs Java 17 or newer: install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME
NEEDS_CHROMIUM := the tests of the dashboard drive Chromium, and are skipped without it: install it with its driver (Debian: apt-get install chromium chromium-driver)

# Installs packages of Debian, with a second and a third try, as mirrors fail for a moment. In a subshell; its status tells.
APT_INSTALL = { [ "$$(id -u)" = 0 ] && command -v apt-get && for pause in 5 20 0; do \
	apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $(1) && exit 0; sleep $$pause; done; exit 1; } >/dev/null 2>&1
PIP_INSTALL = { $(BIN)/pip install $(1) || { sleep 10; $(BIN)/pip install $(1); }; }

NEEDS_CARGO := the native codec is built by cargo 1.83 or newer: install Rust; all works without it, more slowly

.PHONY: setup native java chromium clients demo test check nightly format lint types imports bench torture answers fuzz notebook \
	notebook-ready docs docs-ready wheel release-ready newest-spark newest-spark-there constraints clean

setup: $(DEV_READY) java

# The pipeline's tests run Spark. Where Java is missing and may be installed, it is; else they fail and say the same.
java:
	@java -version >/dev/null 2>&1 || [ -n "$$JAVA_HOME" ] || ( $(call APT_INSTALL,openjdk-17-jre-headless) ) || \
		echo '$(NEEDS_JAVA)'

# The tests of the dashboard drive a browser. Where it is missing and CI may install it, it is; else they are skipped.
chromium:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		( [ -n "$$CI" ] && $(call APT_INSTALL,chromium chromium-driver) ) || echo '$(NEEDS_CHROMIUM)'

demo: $(DEMO_READY)
	@$(BIN)/kafka-rack demo

# Other languages' clients. What Debian has of them CI may install; tests say what else is missing. Each alone: where a
# program came from elsewhere, as Node with its own npm, Debian's package of it conflicts, and the others would be lost.
clients:
	@for pair in kcat=kcat mvn=maven javac=default-jdk-headless node=nodejs npm=npm; do \
		command -v "$${pair%%=*}" >/dev/null || ( [ -n "$$CI" ] && $(call APT_INSTALL,"$${pair#*=}") ) || true; \
	done

check: $(DEV_READY)
	@$(BIN)/python -m tests.suites check $(if $(ALL),--all)

test: $(DEV_READY)
	@$(BIN)/python -m tests.suites test $(PYTEST_ARGS)

nightly: $(DEV_READY)
	@$(BIN)/python -m tests.suites nightly $(SUITES)

format: $(DEV_READY)
	@$(BIN)/ruff format --check --quiet . || { echo "format: run '$(BIN)/ruff format'"; exit 1; }

lint: $(DEV_READY)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/python -m tests.lint

types: $(DEV_READY)
	@$(BIN)/mypy --no-error-summary

imports: $(DEV_READY)
	@$(BIN)/lint-imports --no-cache --no-logo

answers: $(DEV_READY)
	@$(BIN)/python -m tests.answers record --all

bench: $(DEV_READY)
	@$(BIN)/python -m tests.bench $(BENCH)

torture: $(DEV_READY)
	@$(BIN)/python -m tests.torture $(TORTURE)

# atheris is built for Linux and some Pythons only, so it is no part of the developers' packages.
ATHERIS := atheris==3.0.0
fuzz: $(DEV_READY)
	@$(BIN)/python -c 'import atheris' 2>/dev/null || \
		$(BIN)/pip install --quiet --only-binary :all: $(ATHERIS) 2>/dev/null || \
		echo '$(ATHERIS) has no wheel for this machine or cannot be reached; the other fuzzers take its time'
	@$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

# Leaves them with their outputs in build/notebooks, from where `make docs` takes them.
notebook-ready: $(NOTEBOOK_READY)
notebook: $(NOTEBOOK_READY)
	@$(BIN)/python -m tests.notebooks

# Warnings are errors: a link or an anchor that leads nowhere, a page that the navigation leaves out.
docs-ready: $(DOCS_READY)
docs: $(DOCS_READY)
	@$(BIN)/python -m sphinx -c website -b html -W --keep-going -q -E . build/site
	@echo "build/site/index.html"

# What an index would be given, and what it would give to others.
release-ready: $(RELEASE_READY)
wheel: $(RELEASE_READY)
	@$(BIN)/python -m tests.wheel

# The newest Spark that pyproject.toml allows; all else of the versions of constraints.txt, as far as that Spark takes them.
# Filters are handed over by newer ones than that of constraints.txt alone, and so are asked here.
SPARK_TESTS := tests/pipeline/test_decode.py
SPARK_TESTS_NEED := --editable '.[spark,fuzz]' pytest pytest-asyncio pytest-timeout
newest-spark: java
	@$(MAKE) --no-print-directory VENV=$(VENV)/newest-spark newest-spark-there
newest-spark-there: | $(BIN)/pip
	@grep -vE '^(pyspark|py4j)==' constraints.txt >$(VENV)/constraints.txt
	@$(call PIP_INSTALL,--upgrade --constraint $(VENV)/constraints.txt $(SPARK_TESTS_NEED)) >$(VENV)/install.log 2>&1 || { echo '$(NEEDS_PACKAGES)'; exit 1; }
	@$(BIN)/python -c 'import pyspark; print("Spark", pyspark.__version__)'
	@$(BIN)/python -m pytest --quiet $(SPARK_TESTS) $(PYTEST_ARGS)

# pip has maturin build it. Remove it again with `.venv/bin/pip uninstall kafka-rack-native`.
native: $(DEMO_READY)
	@command -v cargo >/dev/null || { echo '$(NEEDS_CARGO)'; exit 1; }
	@CARGO_TARGET_DIR=build/cargo $(BIN)/pip install --quiet --force-reinstall --no-deps ./native
	@$(BIN)/kafka-rack --version

# The newest versions that pyproject.toml allows, worked out without installing them.
PIN := import json, sys; \
	found = (entry["metadata"] for entry in json.load(sys.stdin)["install"]); \
	pins = sorted(one["name"].lower().replace("_", "-") + "==" + one["version"] for one in found); \
	print(*(pin for pin in pins if not pin.startswith("kafka-rack==")), sep="\n")
constraints: $(DEV_READY)
	@mkdir -p build
	@$(BIN)/pip install --quiet --dry-run --ignore-installed --report build/report.json '.[dev,release,notebook,docs]'
	@{ sed -n '/^#/p' constraints.txt; $(BIN)/python -c '$(PIN)' <build/report.json; } >build/constraints.txt
	@mv build/constraints.txt constraints.txt

$(DEMO_READY): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Setting up $(VENV) (once)"
	@$(call PIP_INSTALL,--constraint constraints.txt --editable '.[clients]') >$(VENV)/install.log 2>&1 || { echo '$(NEEDS_PACKAGES)'; exit 1; }
	@touch $@

$(DEV_READY): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Setting up $(VENV) for developers (once)"
	@$(call PIP_INSTALL,--constraint constraints.txt --editable '.[dev]') >$(VENV)/install.log 2>&1 || { echo '$(NEEDS_PACKAGES)'; exit 1; }
	@touch $@ $(DEMO_READY)

# Apart from the developers' packages, as only one step of CI needs each of these.
$(RELEASE_READY): $(DEV_READY)
	@$(call PIP_INSTALL,--constraint constraints.txt --editable '.[release]') >$(VENV)/install-release.log 2>&1 || { echo '$(NEEDS_PACKAGES)'; exit 1; }
	@touch $@

$(NOTEBOOK_READY): $(DEV_READY)
	@$(call PIP_INSTALL,--constraint constraints.txt --editable '.[notebook]') >$(VENV)/install-notebook.log 2>&1 || { echo '$(NEEDS_PACKAGES)'; exit 1; }
	@touch $@

$(DOCS_READY): $(DEV_READY)
	@$(call PIP_INSTALL,--constraint constraints.txt --editable '.[docs]') >$(VENV)/install-docs.log 2>&1 || { echo '$(NEEDS_PACKAGES)'; exit 1; }
	@touch $@

$(BIN)/pip:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python; do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
		python=; \
	done; \
	if [ -z "$$python" ]; then echo '$(NEEDS_PYTHON)'; exit 1; fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then echo "$$python $(NEEDS_VENV)"; exit 1; fi; \
	"$$python" -m venv $(VENV)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
