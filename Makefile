# Everything a checkout needs, on a machine with stable Rust, Python 3.11 or later and make.

PYTHON ?= python3
VENV ?= .venv
# A trace for `make demo`, and what has to be said about it, such as TRACE_OPTIONS="--format mqsim".
TRACE ?=
TRACE_OPTIONS ?=
# The folder of real traces for `make artifact`; without it stand-ins, or none.
TRACES ?=
# Options of `make mount-demo`, such as MOUNT=--quick.
MOUNT ?=
# Options of `make soak`.
SOAK ?=
# Options of the programs of `make fuzz`: FUZZ="trace config", FUZZ="--without pages".
FUZZ ?=
# The profile of the extension module: dev has overflow checks and debug assertions, and shares what tests of Rust compile.
PROFILE ?= release
# Options of `make audit`: AUDIT=--strict.
AUDIT ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCS_INSTALLED := $(VENV)/.docs-installed
AUDITOR := $(VENV)/audit/bin/pip-audit
BUILT := $(VENV)/.built
# The extension module, which has no tests in Rust, is among them so that its dependencies have the features with which it is built.
TESTED_IN_RUST := --workspace --locked
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find -L crates -type f)

# Cargo and maturin must agree on the interpreter, or each would rebuild what the other has built.
export PYO3_PYTHON := $(abspath $(BIN)/python)
# Images of containers set it; then each of the hundreds of processes of the tests would compile all Python that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help environment build demo mount-demo artifact compile-tests test laws fuzz soak bench docs lint lint-rust format schema audit lock clean

help:
	@echo "make build   virtual environment in $(VENV), softsense built into it"
	@echo "make demo    compare the read policies on a paper's drive and on one of today, in out/demo and out/demo-today; TRACE=file"
	@echo "             and TRACE_OPTIONS=... replay a trace"
	@echo "make mount-demo  files on four drives that are served and grow old; MOUNT=--quick; results in out/mount-demo"
	@echo "make artifact  every figure and claim of every paper, with hashes, in out/artifact: an hour; TRACES=folder of real traces"
	@echo "make test    all Rust and Python tests"
	@echo "make laws    the long tests: what is predicted of error floors is what is counted, half an hour"
	@echo "make fuzz    some minutes of broken inputs, odd command lines and requests, kills and full disks, the same ones every time"
	@echo "make soak    hours of them: ten million for each parser; SOAK=\"--inputs N TARGET...\" for fewer"
	@echo "make bench   benchmarks, and instructions of a request where there is valgrind"
	@echo "make docs    documentation site in out/site; warnings are errors"
	@echo "make lint    formats, lints, types, generated files up to date"
	@echo "make format  format Rust and Python"
	@echo "make schema  regenerate schema/*.schema.json, and types for editors in records.pyi"
	@echo "make audit   licences, and advisories where their lists can be had"
	@echo "make lock    renew requirements.lock, requirements-run.lock and requirements-docs.lock"
	@echo "make clean   remove the virtual environment and everything built"

# For those who build and lint at once, as .ci/run does: both need it, and only one may make it.
environment: $(INSTALLED)

build: $(BUILT)

# Stamps, so that a second run neither installs nor builds, nor needs a network.
$(INSTALLED): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "softsense needs Python 3.11 or later: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@touch $@

$(BUILT): $(INSTALLED) $(SOURCES)
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile $(PROFILE) --locked
	@touch $@

demo: $(BUILT)
	$(BIN)/softsense compare configs/mlc-25nm.toml $(if $(TRACE),--trace "$(TRACE)" $(TRACE_OPTIONS)) --out out/demo
	$(BIN)/softsense compare configs/tlc-client.toml $(if $(TRACE),--trace "$(TRACE)" $(TRACE_OPTIONS)) --out out/demo-today

mount-demo: $(BUILT)
	$(BIN)/python examples/mount_demo.py $(MOUNT)

# The store lets it be interrupted, and go on. Pictures and numbers are the same bytes wherever this build runs.
artifact: $(BUILT)
	$(BIN)/softsense reproduce all --full $(if $(TRACES),--traces "$(TRACES)") --store out/artifact.store --out out/artifact
	$(BIN)/softsense --version > out/artifact/VERSION
	cd out/artifact && find . -type f ! -name SHA256SUMS ! -name results.json ! -name ".*" | LC_ALL=C sort | xargs sha256sum > SHA256SUMS

compile-tests: $(INSTALLED)
	cargo test $(TESTED_IN_RUST) --no-run

# Tests of Rust beside those of Python: both wait for their longest ones on a core, and those of Python for processes. What the former
# say comes last. A shell's job ignores Ctrl-C, so it is told.
test: $(BUILT) compile-tests
	@mkdir -p out
	@cargo test $(TESTED_IN_RUST) --no-fail-fast > out/rust-tests.log 2>&1 & rust=$$!; \
		trap 'pkill -P $$rust; kill $$rust' INT TERM; \
		$(BIN)/python -m pytest -n logical --dist loadfile -m "not law and not alone"; python=$$?; \
		wait $$rust; rust=$$?; cat out/rust-tests.log; \
		test $$python = 0 && test $$rust = 0
	$(BIN)/python -m pytest -m alone

# -s, so that what was predicted and counted is seen.
laws: $(BUILT)
	cargo test $(TESTED_IN_RUST) --tests --no-fail-fast -- --ignored law_
	$(BIN)/python -m pytest -m law -s

fuzz: $(BUILT)
	$(BIN)/python fuzz/soak.py --quick --inputs 10000 $(FUZZ)
	$(BIN)/python fuzz/faults.py --times 1 killed full-disk vanished closed-pipe together
	SOFTSENSE_EXAMPLES=300 $(BIN)/python -m pytest -q tests/test_foreign_files.py

soak: $(BUILT)
	$(BIN)/python fuzz/soak.py $(SOAK)
	$(BIN)/python fuzz/faults.py
	SOFTSENSE_EXAMPLES=100000 $(BIN)/python -m pytest -q tests/test_foreign_files.py
	SOFTSENSE_KILLS=40 $(BIN)/python -m pytest -q tests/test_whole_folders.py

bench: $(INSTALLED)
	cargo bench --workspace --locked

$(DOCS_INSTALLED): $(INSTALLED) requirements-docs.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-docs.lock
	@touch $@

docs: $(BUILT) $(DOCS_INSTALLED)
	$(BIN)/python -m sphinx --builder html --fresh-env --write-all --fail-on-warning --keep-going --quiet \
		--doctree-dir out/site-cache docs out/site

lint: lint-rust $(BUILT)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/softsense config schema | diff - schema/config.schema.json
	$(BIN)/softsense config schema --sweep | diff - schema/sweep.schema.json
	$(BIN)/python schema/records.py | diff - python/softsense/records.pyi
	$(BIN)/python docs/prose.py

# Needs no build, as compilation of what is linted is one of its own.
lint-rust: $(INSTALLED)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude softsense-py --exclude softsense-fuzz --no-deps --locked --quiet

format: $(INSTALLED)
	cargo fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

schema: $(BUILT)
	$(BIN)/softsense config schema > $(VENV)/schema.json && mv $(VENV)/schema.json schema/config.schema.json
	$(BIN)/softsense config schema --sweep > $(VENV)/schema.json && mv $(VENV)/schema.json schema/sweep.schema.json
	$(BIN)/python schema/records.py > $(VENV)/records.pyi && mv $(VENV)/records.pyi python/softsense/records.pyi

$(AUDITOR):
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1 || rm -f $@

# AUDIT=--strict: it is an error where the lists of advisories cannot be had. In an environment of its own, as it needs much.
audit: $(AUDITOR)
	$(PYTHON) .ci/audit $(AUDITOR) $(AUDIT)

# pip-compile leaves out where bchlib has wheels.
MARK_BCHLIB := s/^\(bchlib==[^ ]*\)/\1 ; python_version < "3.13" and sys_platform == "linux"/
COMPILE := $(VENV)-lock/bin/pip-compile --quiet --upgrade --generate-hashes --strip-extras --no-header --annotation-style line \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host
# Under the comments with which it begins, a file of these has what was compiled.
RENEW = { sed -n '/^\#/p' $(1); sed '$(MARK_BCHLIB)' $(VENV)-lock/lock; } > $(VENV)-lock/whole && mv $(VENV)-lock/whole $(1) \
	&& rm $(VENV)-lock/lock

# Resolves the lower bounds of pyproject.toml anew, in an environment of its own; what is installed without the dev extra keeps to
# what the rest has. A version comes with the hashes of its files for all systems and Pythons.
lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet pip-tools
	$(COMPILE) --extra dev --output-file $(VENV)-lock/lock pyproject.toml
	$(call RENEW,requirements.lock)
	$(COMPILE) --constraint requirements.lock --output-file $(VENV)-lock/lock pyproject.toml
	$(call RENEW,requirements-run.lock)
	$(COMPILE) --constraint requirements.lock --extra docs --output-file $(VENV)-lock/lock pyproject.toml
	$(call RENEW,requirements-docs.lock)
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) out target .pytest_cache .ruff_cache .mypy_cache python/softsense/_core*.so
	find python tests -name __pycache__ -type d -exec rm -rf {} +
