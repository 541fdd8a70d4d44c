# Every habit has one word. `make help` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
LONGHAUL := .venv/bin/longhaul
KERNELS := 6.12 6.1
DEBUG_KERNEL := 6.12-debug
AGENT_SOURCES := $(wildcard orchestrator/agent/*.c orchestrator/agent/*.h)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: packages .venv/.stamp agent kernel ## install what is missing, build the agent and the default kernel

packages: ## install the system packages that are missing
	@./setup.sh

.venv/.stamp: requirements-dev.lock pyproject.toml
	python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

agent: packages ## build the agent
	@$(MAKE) --no-print-directory -s -C orchestrator/agent

kernel: packages ## build the default guest kernel and the modules for it
	@kmod/sandbox/build.sh $(firstword $(KERNELS)) >/dev/null
	@kmod/sandbox/build-modules.sh $(firstword $(KERNELS)) >/dev/null

kernels: packages ## build every guest kernel and the modules for each
	@for kernel in $(KERNELS); do kmod/sandbox/build.sh $$kernel >/dev/null && kmod/sandbox/build-modules.sh $$kernel >/dev/null || exit; done

kernel-debug: packages ## build the kernel that watches itself (KASAN, UBSAN, lockdep) and the modules for it
	@kmod/sandbox/build.sh $(DEBUG_KERNEL) >/dev/null
	@kmod/sandbox/build-modules.sh $(DEBUG_KERNEL) >/dev/null

demo: setup ## run the main job: cubic and htcp over 622 Mbit/s and 300 ms
	@mkdir -p build
	@$(LONGHAUL) run demo --report build/demo.html

test: setup kernels check test-unit test-contract test-guest ## everything CI runs

test-unit: .venv/.stamp ## tests without a guest
	@$(PYTHON) -m pytest tests/unit

test-contract: .venv/.stamp agent ## agreements between parts
	@$(PYTHON) -m pytest tests/contract

test-guest: .venv/.stamp agent kernels ## tests that boot guests
	@$(PYTHON) -m pytest tests/guest

check: .venv/.stamp ## format, lint, types, import contracts
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy --no-error-summary
	@.venv/bin/lint-imports --no-logo >/dev/null || .venv/bin/lint-imports
	@clang-format --dry-run -Werror orchestrator/agent/*.c orchestrator/agent/*.h

fmt: .venv/.stamp ## format everything
	@.venv/bin/ruff format --quiet .
	@.venv/bin/ruff check --quiet --fix .
	@clang-format -i orchestrator/agent/*.c orchestrator/agent/*.h

docs: .venv/.stamp ## write the pages of docs/ that list things, from the code
	@$(PYTHON) docs/generate.py

lock: ## pin the dependencies anew (needs uv)
	uv pip compile --quiet --generate-hashes --no-header --python-version 3.11 pyproject.toml -o requirements.lock
	uv pip compile --quiet --generate-hashes --no-header --python-version 3.11 --extra dev pyproject.toml -o requirements-dev.lock

bench: setup ## measure speed, as ratios within one run (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.bench $(BENCH)

clean: ## remove what was built here (kernels stay in the cache)
	rm -rf .venv build *.egg-info
	@$(MAKE) --no-print-directory -s -C orchestrator/agent clean

.PHONY: help setup packages agent kernel kernels kernel-debug demo test test-unit test-contract test-guest check fmt docs lock bench clean
