# Every command of this repository; CI calls the same ones. `make help` lists them.
# `run` installs the locked runtime packages only; everything else installs the locked developer packages.
SHELL := /bin/sh
.DEFAULT_GOAL := help
BIN := .venv/bin
# Three files at a time on two cores: much of a test's time is waiting for servers to start and leases to end. Browsers
# wait less. Files keep their order: the long ones are not at the end, where one would run alone.
PROCESSES ?= 3
BROWSERS ?= 2
# What failed beside others is tried once more by itself, and stands in the log as failed: to be mended, not to be lived with.
# $(call pytest,files at a time,what)
pytest = $(BIN)/pytest -m "not soak" -n $(1) --dist loadfile --no-loadscope-reorder $(2) || \
    { [ $$? -eq 1 ] && echo "Once more, one by one, what failed above:" && \
    $(BIN)/pytest -m "not soak" -x --last-failed --last-failed-no-failures none $(2); }
ENGINE ?= docker
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# What tests need besides Python packages.
NEEDED := browser oidc-provider compose kubernetes programs
export UV_NO_PROGRESS := 1

.PHONY: help run test check e2e screenshots bench matrix mutants build images clean browser oidc-provider compose kubernetes programs

help: ## list the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

run: .venv/.installed-run ## start everything: Redis-compatible server, API and console, a worker, a small demo load
	@exec $(BIN)/leaseforge dev

test: .venv/.installed-dev $(NEEDED) ## run all tests, the browser stories too (install what they need)
	$(call pytest,$(PROCESSES))
	$(call pytest,$(BROWSERS),e2e)

check: .venv/.installed-dev ## lint, format, types, import rules, templates
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djlint --check --quiet templates
	$(BIN)/djlint --lint --quiet templates

e2e: .venv/.installed-dev browser oidc-provider ## run the browser stories only
	$(call pytest,$(BROWSERS),e2e)

screenshots: .venv/.installed-dev browser ## take the pictures in docs/screenshots anew
	$(BIN)/python -m e2e.screenshots

bench: .venv/.installed-dev ## measure this machine; results land in bench/results
	$(BIN)/python -m bench

matrix: .venv/.installed-dev $(NEEDED) ## the long run: all tests on Debian's redis-server, then the soak tests on both servers
	@.ci/ensure redis
	@.ci/ensure proxies
	@[ "$$(id -u)" != 0 ] || .ci/ensure images || [ -z "$$CI" ]
	LEASEFORGE_TEST_SERVER=redis $(BIN)/pytest
	LEASEFORGE_TEST_SERVER=embedded $(BIN)/pytest -m soak || [ $$? -eq 5 ]

mutants: .venv/.installed-dev ## put faults into a copy of the engine one by one; each must be noticed by a test
	@.ci/ensure redis
	$(BIN)/python -m tests.mutants

build: .venv/.installed-dev ## make the sdist and the wheel in dist/ and try the wheel in a fresh environment
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	LEASEFORGE_TEST_WHEEL="$$(ls $(CURDIR)/dist/*.whl)" $(BIN)/pytest tests/contracts/test_wheel.py

images: ## build the container images of server and worker (ENGINE=podman for another builder)
	for target in server worker; do \
	    $(ENGINE) build --file deploy/docker/Dockerfile --target $$target --tag leaseforge-$$target:$(VERSION) \
	        --build-arg VERSION=$(VERSION) --build-arg CREATED="$$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
	        --build-arg REVISION="$$(git rev-parse HEAD 2>/dev/null || echo unknown)" . || exit; \
	done

clean: ## remove what tools made (the data of `make run` in .leaseforge stays)
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache e2e/artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

browser:
	@.ci/ensure browser

oidc-provider: .venv/.installed-dev
	@.ci/ensure oidc-provider

compose: .venv/.installed-dev
	@.ci/ensure compose

# Without the programs of these two their tests are skipped, unless CI is set.
programs:
	@for program in faketime prometheus nginx; do .ci/ensure $$program || [ -z "$$CI" ] || exit 1; done

kubernetes: .venv/.installed-dev
	@.ci/ensure kubectl || [ -z "$$CI" ]
	@.ci/ensure crd-models

.venv/.installed-run: requirements.lock pyproject.toml
	@.ci/install requirements.lock
	@touch $@

.venv/.installed-dev: requirements-dev.lock pyproject.toml
	@.ci/install requirements-dev.lock
	@touch $@ .venv/.installed-run
