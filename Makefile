# Every habit has one word. `make help` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
PIP := $(PYTHON) -m pip install --quiet --disable-pip-version-check
PIP_FAILED := { echo 'setup: pip could not install the Python packages into .venv, its words are above; if it reached no package index, see to the network or set PIP_INDEX_URL to a mirror, then the same make again' >&2; exit 3; }
LONGHAUL := .venv/bin/longhaul
KERNELS := 6.12 6.1
DEBUG_KERNEL := 6.12-debug
# What the first time takes of a disk, in MB, at the most: measured by make newcomer
VENV_MB := 700
KERNEL_MB := 1900
CACHE := $${LONGHAUL_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/longhaul}
# A half build is removed before the next one begins, so its room counts as free.
kernel-room = hash=$$(kmod/sandbox/build.sh --hash $1 2>/dev/null); [ -e "$(CACHE)/kernels/$$hash" ] || [ -e "$(CACHE)/kernels/.build-$$hash" ] || ./setup.sh --room "$(CACHE)" $(KERNEL_MB) 'building the guest kernel $1' 'set LONGHAUL_CACHE to a folder of a larger disk'
C_SOURCES := $(wildcard orchestrator/agent/*.[ch] orchestrator/agent/*/*.[ch] tests/stock/*.c)
WEB := dashboards/web
# make test: these mostly wait or use one processor, and hold nothing against the clock, so two go at a time, the longest first; the others
# have the machine for themselves, by the real clock or because they use all of it
BESIDE := $(addprefix test-,live stock-kernel containers service) check $(addprefix test-,packaging contract)
ALONE := $(addprefix test-,unit guest api browser mininet hosts)
# A worker that is free takes the next file, so the files that take longest come first.
LONGEST_FIRST := $(addprefix tests/guest/,commands/test_journeys.py cluster/test_cluster.py commands/test_pages.py physics/test_wireless.py commands/test_robustness.py) \
                 tests/api/test_schemathesis.py tests/browser/test_views.py $(addprefix tests/hosts/test_,run_faults.py deployment.py journeys.py)
in-turns = $(filter $1,$(LONGEST_FIRST)) $(filter-out $(LONGEST_FIRST),$1) --dist loadfile --no-loadscope-reorder
# make test-containers: the first images of a machine take their time beside other work
IMAGES_S := 1800
# make fuzz: on which kernel, how many experiments, from which seed
KERNEL := $(firstword $(KERNELS))
FUZZ := 2000
RIGHT := 1000
WRONG := 200
SEED := 1
# make fuzz-api: for how long
MINUTES := 20
# make newcomer: of which Debian (bookworm, trixie), and who: one who may use sudo, or one who may not (sudo, user)
RELEASE := bookworm
NEWCOMER := sudo
# make reproduce: a paper or a figure, and options; without any, every paper in full, which takes hours
REPRODUCE :=

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: packages .venv/.stamp agent kernel ## install what experiments and tests need, build the agent and the default kernel

packages: ## install the system packages that are missing
	@./setup.sh

# What experiments need, and the project itself, editable; .venv/.stamp below adds what tests need, to the same environment.
.venv/.stamp-run: requirements.lock pyproject.toml
	@[ -e .venv ] || ./setup.sh --room "$$PWD/.venv" $(VENV_MB) 'installing the Python packages'
	@python3 -m venv .venv
	@$(PIP) --require-hashes -r requirements.lock || $(PIP_FAILED)
	@$(PIP) --no-deps -e . || $(PIP_FAILED)
	@touch $@

.venv/.stamp: requirements-dev.lock .venv/.stamp-run
	@$(PIP) --require-hashes -r requirements-dev.lock || $(PIP_FAILED)
	@touch $@

agent: packages ## build the agent
	@$(MAKE) --no-print-directory -s -C orchestrator/agent

web: $(WEB)/dist/index.html ## build the web page, which the service then serves

$(WEB)/node_modules/.stamp: $(WEB)/package-lock.json $(WEB)/package.json $(WEB)/.npmrc
	@./setup.sh web
	@cd $(WEB) && npm ci --silent
	@touch $@

$(WEB)/dist/index.html: $(WEB)/node_modules/.stamp docs/openapi.json $(WEB)/index.html $(WEB)/vite.config.ts $(shell find $(WEB)/src -type f -not -name '*.gen.ts')
	@cd $(WEB) && npm run --silent build -- --logLevel warn

wheel: .venv/.stamp web ## build the wheel into dist/, the same bytes from the same commit
	@rm -rf dist
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir dist .
	@ls dist/*.whl

sbom: .venv/.stamp ## write what it is made of into dist/sbom.cdx.json (CycloneDX): packages of Python, npm and Debian, and kernel sources
	@mkdir -p dist
	@$(PYTHON) -m docs.sbom "$$(git log -1 --format=%cI)" >dist/sbom.cdx.json
	@ls dist/sbom.cdx.json

kernel: packages ## build the default guest kernel and the modules for it
	@$(call kernel-room,$(firstword $(KERNELS)))
	@kmod/sandbox/build.sh $(firstword $(KERNELS)) >/dev/null
	@kmod/sandbox/build-modules.sh $(firstword $(KERNELS)) >/dev/null

kernels: packages ## build every guest kernel and the modules for each
	@./setup.sh kernels
	@for kernel in $(KERNELS); do $(call kernel-room,$$kernel) && kmod/sandbox/build.sh $$kernel >/dev/null && kmod/sandbox/build-modules.sh $$kernel >/dev/null || exit; done

kernel-debug: packages ## build the kernel that watches itself (KASAN, UBSAN, lockdep) and the modules for it
	@kmod/sandbox/build.sh $(DEBUG_KERNEL) >/dev/null
	@kmod/sandbox/build-modules.sh $(DEBUG_KERNEL) >/dev/null

demo: ## run the main job: cubic and htcp over 622 Mbit/s and 300 ms
	@echo 'step 1 of 5: Debian packages (the first time about a minute, 230 MB)'
	@$(MAKE) --no-print-directory packages
	@echo 'step 2 of 5: Python packages into .venv (the first time about a minute, 150 MB)'
	@$(MAKE) --no-print-directory -s .venv/.stamp-run
	@echo 'step 3 of 5: the agent, which runs inside a guest (the first time a few seconds)'
	@$(MAKE) --no-print-directory agent
	@echo 'step 4 of 5: the guest kernel and its modules (the first time about 8 minutes of processor time, so 4 minutes on two processors; 1.9 GB of disk meanwhile)'
	@$(MAKE) --no-print-directory kernel
	@echo 'step 5 of 5: the experiment (a few seconds)'
	@mkdir -p build
	@$(LONGHAUL) run demo --report build/demo.html
	@echo
	@echo 'The report is build/demo.html. The command is .venv/bin/longhaul; to call it longhaul in this shell:'
	@printf '    export PATH=%q:$$PATH\n' "$$PWD/.venv/bin"

newcomer: ## from a bare Debian and nothing else to the first chart, timed (root; RELEASE=trixie NEWCOMER=sudo, see tests/newcomer.sh)
	@./setup.sh hosts
	@tests/newcomer.sh $(RELEASE) $(NEWCOMER)

test: packages ## everything CI runs
	@$(MAKE) --no-print-directory -j 2 .venv/.stamp web
	@$(MAKE) --no-print-directory agent kernels
	@./setup.sh tests check stock containers service live
	@printf '%s\n' $(BESIDE) | xargs -P 2 -I @ sh -c 'said=$$($(MAKE) --no-print-directory @ 2>&1); code=$$?; printf "%s:\n%s\n" @ "$$said"; exit $$code'
	@for stage in $(ALONE); do $(MAKE) --no-print-directory $$stage || exit; done

test-busy: setup kernels web ## every stage of make test beside two busy loops (STAGES="test-api test-live" for some of them)
	@./setup.sh check stock containers service live
	@tests/busy.sh $(or $(STAGES),$(BESIDE) $(ALONE))

test-unit: .venv/.stamp ## tests without a guest
	@$(PYTHON) -m pytest tests/unit --numprocesses auto --maxprocesses 8

test-contract: .venv/.stamp agent ## agreements between parts
	@$(PYTHON) -m pytest tests/contract

test-api: .venv/.stamp agent kernel ## the service and its client, with real runs, valid and hostile requests; a minute of schemathesis
	@$(PYTHON) -m pytest $(call in-turns,$(wildcard tests/api/test_*.py)) --numprocesses 2

test-browser: .venv/.stamp agent kernel web ## the web page: its own tests, and journeys in Chromium against the real service
	@./setup.sh browser
	@cd $(WEB) && npm run --silent test
	@$(PYTHON) -m pytest $(call in-turns,$(wildcard tests/browser/test_*.py)) --numprocesses 2 $(BROWSER)

test-guest: .venv/.stamp agent kernels ## tests that boot guests
	@$(PYTHON) -m pytest $(call in-turns,$(wildcard tests/guest/*/test_*.py tests/fuzz/test_*.py)) --numprocesses auto --maxprocesses 8

test-service: .venv/.stamp agent kernel ## the record on PostgreSQL, and runs while everything is killed, the short form
	@./setup.sh service
	@$(PYTHON) -m pytest tests/database tests/chaos

test-chaos: .venv/.stamp agent kernel ## 200 runs while everything is killed 20 times (CHAOS="--chaos-seed 2" for another order)
	@./setup.sh service
	@$(PYTHON) -m pytest tests/chaos --timeout 0 -s --chaos-runs 200 --kills 20 $(CHAOS)

test-live: .venv/.stamp agent kernel ## runs streamed to a real Prometheus, killed and started again meanwhile; its configuration, rules and alerts
	@./setup.sh live
	@$(PYTHON) -m pytest tests/live

test-mininet: .venv/.stamp agent kernel ## real Mininet, in guests and on this host (root); by the real clock, so nothing beside it
	@$(PYTHON) -m pytest tests/mininet

test-packaging: .venv/.stamp agent kernel web ## the wheel, twice the same and installed where nothing else is; versions; what it is made of
	@$(PYTHON) -m pytest tests/packaging

test-containers: .venv/.stamp agent kernels web ## images of the Dockerfile and labs of the compose file, by podman (root, no registry)
	@./setup.sh containers
	@tests/containers/enter.sh $(PYTHON) -m pytest tests/containers --timeout $(IMAGES_S) $(CONTAINERS)

test-hosts: .venv/.stamp agent kernel ## deployments and runs on stand-ins of physical hosts, by the real clock (root)
	@./setup.sh hosts
	@tests/hosts/kernel/build.sh 6.12-standin >/dev/null && kmod/sandbox/build-modules.sh 6.12-standin >/dev/null && tests/hosts/tree.sh >/dev/null
	@$(PYTHON) -m pytest $(call in-turns,$(wildcard tests/hosts/test_*.py)) --numprocesses 3 $(HOSTS)

fuzz: .venv/.stamp agent ## experiments nobody would write, against what must always hold; right and wrong runs, against the bars of fidelity (FUZZ=2000 RIGHT=1000 WRONG=200 SEED=1 KERNEL=6.12)
	@kmod/sandbox/build.sh $(KERNEL) >/dev/null && kmod/sandbox/build-modules.sh $(KERNEL) >/dev/null
	@$(PYTHON) -m pytest tests/fuzz --timeout 0 --numprocesses $$(nproc) --kernel $(KERNEL) --runs $(FUZZ) --right $(RIGHT) --wrong $(WRONG) --from-seed $(SEED) --remember

fuzz-api: .venv/.stamp agent kernel ## schemathesis against the service, for as long as one likes (MINUTES=20 SEED=1)
	@$(PYTHON) -m tests.api.fuzzing $(MINUTES) $(SEED)

test-stock-kernel: .venv/.stamp ## the modules on Debian's own kernels, booted in qemu without KVM
	@./setup.sh check stock
	@for kernel in $(KERNELS); do tests/stock/fetch.sh $$kernel >/dev/null || exit; done
	@$(PYTHON) -m pytest tests/stock

check: .venv/.stamp check-kmod check-web ## format, lint, types, import contracts
	@./setup.sh tests
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy --no-error-summary
	@cd playbooks && PATH="$(CURDIR)/.venv/bin:$$PATH" LC_ALL=C.UTF-8 ansible-lint --offline -q --config-file ansible-lint.yml endpoints.yml restore.yml run.yml controller.yml
	@.venv/bin/lint-imports --no-logo >/dev/null || .venv/bin/lint-imports
	@clang-format --dry-run -Werror $(C_SOURCES)

check-kmod: kernel ## sparse and checkpatch over the kernel modules
	@./setup.sh check
	@kmod/check.sh

check-web: $(WEB)/node_modules/.stamp ## format, lint and types of the web page
	@cd $(WEB) && npm run --silent check

fmt: .venv/.stamp $(WEB)/node_modules/.stamp ## format everything
	@./setup.sh tests
	@.venv/bin/ruff format --quiet .
	@.venv/bin/ruff check --quiet --fix .
	@clang-format -i $(C_SOURCES)
	@cd $(WEB) && npm run --silent fmt

docs: .venv/.stamp ## write the pages of docs/ that list things, from the code
	@$(PYTHON) -m docs.generate

pictures: .venv/.stamp agent kernel web ## pictures of the web page for docs/web.md, of real runs (PICTURES="run compare" for some of them)
	@./setup.sh browser
	@$(PYTHON) -m tests.browser.pictures $(PICTURES)

dashboards: .venv/.stamp ## write the dashboards of Grafana, from their code in dashboards/grafana/boards
	@$(PYTHON) -m dashboards.grafana.boards

lock: ## pin the dependencies anew (needs uv)
	uv pip compile --universal --quiet --generate-hashes --no-header --python-version 3.11 pyproject.toml -o requirements.lock
	uv pip compile --universal --quiet --generate-hashes --no-header --python-version 3.11 --extra hosts pyproject.toml -o requirements-hosts.lock
	uv pip compile --universal --quiet --generate-hashes --no-header --python-version 3.11 --extra dev --extra hosts pyproject.toml -o requirements-dev.lock

dkms-install: ## let DKMS build the modules for this machine's kernels (KERNELVER= for another one; root)
	@$(MAKE) --no-print-directory -C kmod $@

dkms-uninstall: ## take them back
	@$(MAKE) --no-print-directory -C kmod $@

bench: setup ## measure speed, as ratios within one run (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.bench $(BENCH)

bench-limits: setup ## look for what limits a sender without a name, on every path below half a GiB (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.limits $(BENCH)

bench-page: .venv/.stamp ## write docs/benchmarks.md from what the last whole `make bench` measured
	@$(PYTHON) -m tests.bench.page

bench-cluster: setup ## two Dask workers on this machine against one (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.cluster $(BENCH)

bench-api: setup ## the service under load: lists and series by wrk, 500 followers, memory (BENCH=--help for its options)
	@./setup.sh bench
	@$(PYTHON) -m tests.bench.service $(BENCH)

bench-web: setup web ## the page in Chromium: first live point, a million points opened and panned, fifty flows live (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.web $(BENCH)

bench-live: setup ## 100,000 samples a second to a real Prometheus, and what the exporter takes of a processor (BENCH=--help for its options)
	@./setup.sh live
	@$(PYTHON) -m tests.bench.live $(BENCH)

trust: setup ## compare virtual time with Mininet's real time, and write docs/trust.md (TRUST=--help for its options)
	@$(PYTHON) -m tests.bench.trust $(TRUST)

reproduce: packages .venv/.stamp-run agent kernel ## hold what papers published against fresh runs (REPRODUCE="apptcp/fig4 --quick"), with pages in build/reproduce
	@$(LONGHAUL) reproduce $(REPRODUCE) -o build/reproduce

clean: ## remove what was built here (kernels stay in the cache)
	rm -rf .venv build dist *.egg-info $(WEB)/dist $(WEB)/node_modules
	@$(MAKE) --no-print-directory -s -C orchestrator/agent clean

.PHONY: help setup packages agent web wheel sbom kernel kernels kernel-debug demo newcomer test test-unit test-contract test-api test-browser test-guest test-service test-chaos test-mininet test-live test-stock-kernel test-packaging test-containers test-hosts fuzz fuzz-api check check-kmod check-web fmt docs pictures dashboards lock dkms-install dkms-uninstall bench bench-api bench-cluster bench-limits bench-live bench-page bench-web trust reproduce clean
