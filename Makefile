# `make help` lists the usual targets, `make help-all` lists all.

SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
PIP := $(PYTHON) -m pip install --quiet --disable-pip-version-check
PIP_FAILED := { echo 'setup: pip could not install the Python packages into .venv, its messages are above; if it reached no package index, check the network or set PIP_INDEX_URL to a mirror, then run the same make again' >&2; exit 3; }
LONGHAUL := .venv/bin/longhaul
KERNELS := 6.12 6.1
# Kernels of more releases, for `kernel:` of an experiment; no other target needs them.
FURTHER_KERNELS := 5.10 7.3
DEBUG_KERNEL := 6.12-debug
# What requirements-service.lock has in addition to the core: the service with everything that it can use, also in images
SERVICE_EXTRAS := service postgresql cluster tuning figures
# The disk space that the first build needs at most, in MB, measured by make newcomer; that of the extras and of tests by du
VENV_MB := 250
SERVICE_MB := 350
TESTS_MB := 1200
KERNEL_MB := 1900
CACHE := $${LONGHAUL_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/longhaul}
# An unfinished build is removed before the next one begins, so its space counts as free.
kernel-room = hash=$$(kmod/sandbox/build.sh --hash $1 2>/dev/null); [ -e "$(CACHE)/kernels/$$hash" ] || [ -e "$(CACHE)/kernels/.build-$$hash" ] || ./setup.sh --room "$(CACHE)" $(KERNEL_MB) 'building the guest kernel $1' 'set LONGHAUL_CACHE to a folder on a larger disk'
# The release's kernel stays in use where `longhaul kernel install` put it.
build-kernel = code=0; kmod/release/use.sh $1 || code=$$?; [ $$code != 1 ] || { { $(call kernel-room,$1); } && kmod/sandbox/build.sh $1 >/dev/null && kmod/sandbox/build-modules.sh $1 >/dev/null && code=0; }; [ $$code = 0 ]
C_SOURCES := $(wildcard orchestrator/agent/*.[ch] orchestrator/agent/*/*.[ch] tests/stock/*.c)
WEB := dashboards/web
# make test: stages that assert no times run three at a time, the longest first; where one waits, another has its processor. The
# next run alone, because a page waits for its own drawing and real time runs on. Stand-in hosts leave a processor idle half of the
# time: stages that only compute run beside them, two at a time, and yield to them.
PARALLEL := $(addprefix test-,guest api containers service live mininet-virtual)
ALONE := $(addprefix test-,browser mininet-real)
BESIDE_HOSTS := check $(addprefix test-,unit contract stock-kernel packaging)
# The output of stages that run at once does not mix.
stages-at-once = printf '%s\n' $2 | $3 xargs -P $1 -I @ sh -c 'output=$$($(MAKE) --no-print-directory @ 2>&1); code=$$?; printf "%s:\n%s\n" @ "$$output"; exit $$code'
# A guest waits for its disk and its neighbours now and then: one worker more than processors.
WORKERS = $$(n=$$(($$(nproc) + 1)); echo $$((n < 8 ? n : 8)))
# A free worker takes the next file, so the longest files come first.
LONGEST_FIRST := $(addprefix tests/guest/,commands/test_journeys.py cluster/test_cluster.py commands/test_pages.py physics/test_wireless.py commands/test_robustness.py) \
                 tests/api/test_schemathesis.py tests/browser/test_views.py $(addprefix tests/hosts/test_,run_faults.py deployment.py journeys.py)
in-turns = $(filter $1,$(LONGEST_FIRST)) $(filter-out $(LONGEST_FIRST),$1) --dist loadfile --no-loadscope-reorder
# make test-containers: the first images take long while other stages are running
IMAGES_S := 1800
# make fuzz: kernel, numbers of experiments, first seed
KERNEL := $(firstword $(KERNELS))
FUZZ := 2000
RIGHT := 1000
WRONG := 200
SEED := 1
# make fuzz-links: how many
LINKS := 10000
# make fuzz-parts: how many
PARTS := 1000
# make fuzz-api: duration
MINUTES := 20
# make newcomer: one Debian release (bookworm, trixie, forky) and one user (sudo, user, wheel); by default all releases, from source and wheel
RELEASE :=
NEWCOMER :=
# make reproduce: a paper or a figure, and options; by default every paper in full, which takes hours
REPRODUCE :=

help: ## list the usual targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

help-all: ## list all targets, with every stage of the tests and every benchmark
	@grep -hE '^[a-z-]+:.*#[#-]' $(MAKEFILE_LIST) | sed -E 's/:.*#[#-] /\t/' | expand -t 20

setup: packages .venv/.stamp agent kernel ## install the needs of experiments and tests, build the agent and the default kernel

packages: #- install missing system packages
	@./setup.sh

# The packages for experiments, and the project itself, editable; .venv/.stamp-service adds those for the service, .venv/.stamp those for tests.
# Tests import a part of theirs, which Python compiles at its first import, on all processors; pip would compile all on one.
.venv/.stamp-run: requirements.lock pyproject.toml
	@[ -e .venv ] || ./setup.sh --room "$$PWD/.venv" $(VENV_MB) 'installing the Python packages'
	@python3 -m venv .venv
	@$(PIP) --require-hashes -r requirements.lock || $(PIP_FAILED)
	@$(PIP) --no-deps -e . || $(PIP_FAILED)
	@touch $@

.venv/.stamp-service: requirements-service.lock .venv/.stamp-run
	@[ -e $@ ] || ./setup.sh --room "$$PWD/.venv" $(SERVICE_MB) 'installing the packages of the service'
	@$(PIP) --require-hashes -r requirements-service.lock || $(PIP_FAILED)
	@touch $@

.venv/.stamp: requirements-dev.lock .venv/.stamp-run
	@[ -e $@ ] || ./setup.sh --room "$$PWD/.venv" $(TESTS_MB) 'installing the packages for tests'
	@$(PIP) --no-compile --require-hashes -r requirements-dev.lock || $(PIP_FAILED)
	@touch $@

agent: packages ## build the agent
	@kmod/release/use.sh --agent || $(MAKE) --no-print-directory -s -C orchestrator/agent

service: packages .venv/.stamp-service agent kernel web ## install what `longhaul serve`, `worker`, `tune` and `search` need, and build the page

web: $(WEB)/dist/index.html ## build the web page of the service

$(WEB)/node_modules/.stamp: $(WEB)/package-lock.json $(WEB)/package.json $(WEB)/.npmrc
	@./setup.sh web
	@cd $(WEB) && npm ci --silent
	@touch $@

$(WEB)/dist/index.html: $(WEB)/node_modules/.stamp docs/openapi.json $(WEB)/index.html $(WEB)/vite.config.ts $(shell find $(WEB)/src -type f -not -name '*.gen.ts')
	@cd $(WEB) && npm run --silent build -- --logLevel warn

# A part that is built already, here or by a release, is taken from the cache; each must have the content that release.lock pins.
parts: .venv/.stamp agent #- collect the release's kernel, modules and agent in build/parts, for the wheel
	@$(PYTHON) -m kmod.release.parts build/parts $(firstword $(KERNELS)) 2>/dev/null || { $(MAKE) --no-print-directory kernel && $(PYTHON) -m kmod.release.parts build/parts $(firstword $(KERNELS)); }

pin: .venv/.stamp agent kernels #- write kmod/sandbox/release.lock for the kernels, modules and agent as built here (on Debian 12)
	@$(PYTHON) -m kmod.release.pin $(KERNELS)

same-traces: .venv/.stamp agent kernels #- run every kept run of a home again and compare the traces, before an id keeps its runs over a change of programs (HOME_OF_RUNS=DIR)
	@LONGHAUL_HOME="$(HOME_OF_RUNS)" $(PYTHON) -m kmod.release.same_traces

release: .venv/.stamp #- build all artefacts of a tag into dist/, with hashes and signatures (TAG=v0.1.0, see docs/packaging.md)
	@./setup.sh web kernels tests
	@kmod/release/release.sh $(TAG)

wheel: .venv/.stamp web parts ## build the wheel into dist/, with the same bytes for the same commit
	@rm -rf dist
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir dist .
	@ls dist/*.whl

sbom: .venv/.stamp #- write the bill of materials dist/sbom.cdx.json (CycloneDX): packages of Python, npm and Debian, and kernel sources
	@mkdir -p dist
	@$(PYTHON) -m docs.sbom "$$(git log -1 --format=%cI)" >dist/sbom.cdx.json
	@ls dist/sbom.cdx.json

kernel: packages ## build the default guest kernel and the modules for it
	@$(call build-kernel,$(firstword $(KERNELS)))

kernels: packages ## build every guest kernel and the modules for each
	@./setup.sh kernels
	@for kernel in $(KERNELS); do { $(call build-kernel,$$kernel); } || exit; done

kernels-all: kernels #- build also the guest kernels of more releases of Linux (5.10, 7.3), and the modules for each
	@for kernel in $(FURTHER_KERNELS); do { $(call build-kernel,$$kernel); } || exit; done

kernel-debug: packages #- build the debug kernel (KASAN, UBSAN, lockdep) and the modules for it
	@kmod/sandbox/build.sh $(DEBUG_KERNEL) >/dev/null
	@kmod/sandbox/build-modules.sh $(DEBUG_KERNEL) >/dev/null

demo: ## run the demo: cubic and htcp over 622 Mbit/s and 300 ms
	@echo 'step 1 of 5: Debian packages (the first time about a minute, 230 MB)'
	@$(MAKE) --no-print-directory packages
	@echo 'step 2 of 5: Python packages into .venv (the first time about half a minute, 30 MB)'
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

newcomer: wheel ## from a bare Debian to the first chart, timed, from source and from a wheel (root; RELEASE=trixie NEWCOMER=wheel for one, see tests/newcomer.sh)
	@./setup.sh hosts
	@tests/newcomer.sh $(RELEASE) $(NEWCOMER)

test: packages ## everything CI runs
	@./setup.sh web
	@$(MAKE) --no-print-directory -j 3 .venv/.stamp web test-packages
	@$(MAKE) --no-print-directory agent kernels
	@$(call stages-at-once,3,$(PARALLEL))
	@for stage in $(ALONE); do $(MAKE) --no-print-directory $$stage || exit; done
	@($(call stages-at-once,2,$(BESIDE_HOSTS),nice -n 10)) & beside=$$!; $(MAKE) --no-print-directory test-hosts; hosts=$$?; wait $$beside && exit $$hosts

test-packages: #- install missing system packages for every stage of make test
	@./setup.sh tests check stock bpf containers service live browser hosts

test-busy: setup kernels web #- every stage of make test while two busy loops are running (STAGES="test-api test-live" for some of them)
	@$(MAKE) --no-print-directory test-packages
	@tests/busy.sh $(or $(STAGES),$(PARALLEL) $(ALONE) test-hosts $(BESIDE_HOSTS))

test-unit: .venv/.stamp ## tests without a guest
	@$(PYTHON) -m pytest tests/unit --numprocesses auto --maxprocesses 8

test-contract: .venv/.stamp agent #- agreements between parts
	@$(PYTHON) -m pytest tests/contract

test-api: .venv/.stamp agent kernels #- the service and its client, with real runs, valid and hostile requests; a minute of schemathesis
	@$(PYTHON) -m pytest $(call in-turns,$(wildcard tests/api/test_*.py tests/api/*/test_*.py)) --numprocesses 2

test-browser: .venv/.stamp agent kernels web #- the web page: its own tests, and journeys in Chromium against the real service
	@./setup.sh browser
	@cd $(WEB) && npm run --silent test
	@$(PYTHON) -m pytest $(call in-turns,$(wildcard tests/browser/test_*.py tests/browser/*/test_*.py)) --numprocesses 2 $(BROWSER)

test-guest: .venv/.stamp agent kernels #- tests that boot guests
	@$(PYTHON) -m pytest $(call in-turns,$(wildcard tests/guest/*/test_*.py tests/fuzz/test_*.py)) --numprocesses $(WORKERS)

test-kernels-all: .venv/.stamp agent kernels-all #- known answers, determinism, modules and both backends in guests of every release of Linux, the long form: some 10 minutes each
	@./setup.sh tests
	@for kernel in $(KERNELS) $(FURTHER_KERNELS); do \
		echo "guests of Linux $$kernel:"; \
		$(LONGHAUL) modules check --kernel $$kernel >/dev/null && \
		TEST_KERNELS=$$kernel $(PYTHON) -m pytest $(call in-turns,$(wildcard tests/guest/physics/test_*.py tests/guest/controls/test_*.py) $(addprefix tests/guest/user_code/test_,bpf.py foreign_sources.py) tests/mininet/test_clocks.py) -m "not real_time$$([ $$kernel = $(firstword $(KERNELS)) ] || echo ' and not default_kernel')" --numprocesses $(WORKERS) || exit; \
	done

test-own-kernels: .venv/.stamp agent kernel #- kernels of the user's, compiled and bisected, the long form: some 10 minutes, the first time more
	@./setup.sh tests
	@$(PYTHON) -m pytest tests/kernels --timeout 0 -s

test-service: .venv/.stamp agent kernel #- the database on PostgreSQL, and runs while processes are killed, the short form
	@./setup.sh service
	@$(PYTHON) -m pytest tests/database tests/chaos

test-chaos: .venv/.stamp agent kernel #- 200 runs while processes are killed 20 times (CHAOS="--chaos-seed 2" for another order)
	@./setup.sh service
	@$(PYTHON) -m pytest tests/chaos --timeout 0 -s --chaos-runs 200 --kills 20 $(CHAOS)

test-live: .venv/.stamp agent kernel #- runs streamed to a real Prometheus that is killed and restarted; its configuration, rules and alerts
	@./setup.sh live
	@$(PYTHON) -m pytest tests/live

test-mininet: test-mininet-virtual #- real Mininet, in guests and on this host (root), in virtual and in real time
	@$(MAKE) --no-print-directory test-mininet-real

test-mininet-virtual: .venv/.stamp agent kernel #- real Mininet in guests, in virtual time
	@$(PYTHON) -m pytest tests/mininet -m 'not real_time' --numprocesses 2

test-mininet-real: .venv/.stamp agent kernel #- real Mininet in guests and on this host (root), in real time
	@$(PYTHON) -m pytest tests/mininet -m real_time

test-packaging: .venv/.stamp agent kernels web #- the wheel, reproducible and installed alone; versions; the bill of materials
	@$(PYTHON) -m pytest tests/packaging

test-containers: .venv/.stamp agent kernels web #- images of the Dockerfile and labs of the compose file, with podman (root, no registry)
	@./setup.sh containers
	@tests/containers/enter.sh $(PYTHON) -m pytest tests/containers --timeout $(IMAGES_S) $(CONTAINERS)

test-hosts: .venv/.stamp agent kernel #- deployments and runs on stand-ins of physical hosts, in real time (root)
	@./setup.sh hosts live
	@tests/hosts/kernel/build.sh 6.12-standin >/dev/null && kmod/sandbox/build-modules.sh 6.12-standin >/dev/null && tests/hosts/tree.sh >/dev/null
	@$(PYTHON) -m pytest $(call in-turns,$(wildcard tests/hosts/test_*.py)) --numprocesses 3 $(HOSTS)

fuzz: .venv/.stamp agent #- random experiments checked against invariants; right and wrong runs checked against the limits of fidelity (FUZZ=2000 RIGHT=1000 WRONG=200 SEED=1 KERNEL=6.12)
	@kmod/sandbox/build.sh $(KERNEL) >/dev/null && kmod/sandbox/build-modules.sh $(KERNEL) >/dev/null
	@$(PYTHON) -m pytest tests/fuzz --timeout 0 --numprocesses $$(nproc) --kernel $(KERNEL) --runs $(FUZZ) --right $(RIGHT) --wrong $(WRONG) --from-seed $(SEED) --remember

fuzz-links: .venv/.stamp agent #- drawn links with both emulations, every packet compared (LINKS=10000 SEED=1 KERNEL=6.12)
	@kmod/sandbox/build.sh $(KERNEL) >/dev/null && kmod/sandbox/build-modules.sh $(KERNEL) >/dev/null
	@$(PYTHON) -m pytest tests/fuzz/test_emulations.py --timeout 0 --numprocesses $$(nproc) --kernel $(KERNEL) --links $(LINKS) --from-seed $(SEED) --remember

fuzz-parts: .venv/.stamp agent #- drawn experiments in one, two and three guests, every record compared (PARTS=1000 SEED=1 KERNEL=6.12)
	@kmod/sandbox/build.sh $(KERNEL) >/dev/null && kmod/sandbox/build-modules.sh $(KERNEL) >/dev/null
	@$(PYTHON) -m pytest tests/fuzz/test_parts.py --timeout 0 --kernel $(KERNEL) --parts $(PARTS) --from-seed $(SEED) --remember

fuzz-api: .venv/.stamp agent kernel #- schemathesis against the service for a chosen time (MINUTES=20 SEED=1)
	@$(PYTHON) -m pytest tests/api/test_schemathesis.py --timeout 0 --capture no --api-minutes $(MINUTES) --from-seed $(SEED)

test-stock-kernel: .venv/.stamp #- the modules on Debian's own kernels, booted in qemu without KVM
	@./setup.sh check stock bpf
	@for kernel in $(KERNELS); do tests/stock/fetch.sh $$kernel >/dev/null || exit; done
	@$(PYTHON) -m pytest tests/stock

test-stock-kernels-all: .venv/.stamp #- the same on Debian's kernels of every release of Linux that a guest may have, the long form
	@./setup.sh check stock bpf
	@for kernel in $(KERNELS) $(FURTHER_KERNELS); do tests/stock/fetch.sh $$kernel >/dev/null || exit; done
	@TEST_KERNELS='$(KERNELS) $(FURTHER_KERNELS)' $(PYTHON) -m pytest tests/stock --timeout 0

# A new clone finds what mypy knows of the packages and of files that are the same: it compares contents, not times or paths.
check: .venv/.stamp check-kmod check-web ## format, lint, types, import contracts, word list
	@./setup.sh tests
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@MYPY_CACHE_DIR="$(CACHE)/mypy" .venv/bin/mypy --no-error-summary
	@git ls-files | $(PYTHON) -m docs.word_list
	@cd playbooks && PATH="$(CURDIR)/.venv/bin:$$PATH" LC_ALL=C.UTF-8 ansible-lint --offline -q --config-file ansible-lint.yml endpoints.yml restore.yml run.yml controller.yml
	@.venv/bin/lint-imports --no-logo >/dev/null || .venv/bin/lint-imports
	@clang-format --dry-run -Werror $(C_SOURCES)

check-kmod: kernel #- sparse and checkpatch over the kernel modules
	@./setup.sh check
	@kmod/check.sh

check-web: $(WEB)/node_modules/.stamp #- format, lint and types of the web page
	@cd $(WEB) && npm run --silent check

fmt: .venv/.stamp $(WEB)/node_modules/.stamp ## format everything
	@./setup.sh tests
	@.venv/bin/ruff format --quiet .
	@.venv/bin/ruff check --quiet --fix .
	@clang-format -i $(C_SOURCES)
	@cd $(WEB) && npm run --silent fmt

docs: .venv/.stamp ## generate the reference pages of docs/ from the code
	@$(PYTHON) -m docs.generate

pictures: .venv/.stamp agent kernel web #- take the screenshots of the web page for docs/web.md, with real runs (PICTURES="run compare" for some of them)
	@./setup.sh browser
	@$(PYTHON) -m tests.browser.pictures $(PICTURES)

dashboards: .venv/.stamp #- generate the Grafana dashboards from dashboards/grafana/boards
	@$(PYTHON) -m dashboards.grafana.boards

lock: ## update the lock files (needs uv)
	@for lock in '' '-service $(foreach extra,$(SERVICE_EXTRAS),--extra $(extra))' '-hosts $(foreach extra,$(SERVICE_EXTRAS) hosts,--extra $(extra))' '-dev --extra dev --extra all'; do \
		file=requirements$${lock%% *}.lock; \
		uv pip compile --universal --quiet --generate-hashes --no-header --python-version 3.11 $$(case "$$lock" in *' '*) echo "$${lock#* }";; esac) pyproject.toml -o "$$file" || exit; \
	done

dkms-install: #- let DKMS build the modules for this machine's kernels (KERNELVER= for another one; root)
	@$(MAKE) --no-print-directory -C kmod $@

dkms-uninstall: #- remove the modules from DKMS
	@$(MAKE) --no-print-directory -C kmod $@

bench: setup kernels-all ## measure speed, as ratios within one run (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.bench $(BENCH)

bench-limits: setup #- search for unexplained limits of senders on every path below half a GiB (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.limits $(BENCH)

bench-page: .venv/.stamp #- write docs/benchmarks.md from the last complete `make bench`
	@$(PYTHON) -m tests.bench.page

bench-cluster: setup #- compare two Dask workers on this machine with one (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.cluster $(BENCH)

bench-api: setup #- the service under load: lists and series by wrk, 500 followers, memory (BENCH=--help for its options)
	@./setup.sh bench
	@$(PYTHON) -m tests.bench.service $(BENCH)

bench-web: setup web #- the page in Chromium: first live point, millions of points opened and panned, fifty flows live, 20,000 runs listed (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.web $(BENCH)

bench-live: setup #- 100,000 samples a second to a real Prometheus, and the processor time of the exporter (BENCH=--help for its options)
	@./setup.sh live
	@$(PYTHON) -m tests.bench.live $(BENCH)

module-matrix: setup kernels-all #- try every congestion control on every kernel, with kernels for large private areas too, and write docs/module-matrix.md
	@for kernel in $(KERNELS) $(FURTHER_KERNELS); do $(LONGHAUL) kernel build wide-$$kernel || exit; done
	@$(PYTHON) -m tests.bench.module_matrix

bench-predict: setup #- predictions of 100 drawn transfers, each compared with the whole transfer (BENCH=--help for its options)
	@$(PYTHON) -m tests.bench.predictions.coverage $(BENCH)

trust: setup ## compare virtual time with Mininet's real time, and write docs/trust.md (TRUST=--help for its options)
	@$(PYTHON) -m tests.bench.trust $(TRUST)

reproduce: packages .venv/.stamp-service agent kernel ## compare the claims of papers with fresh runs (REPRODUCE="apptcp/fig4 --quick"), with pages in build/reproduce
	@$(LONGHAUL) reproduce $(REPRODUCE) -o build/reproduce

clean: ## remove everything built in this folder (kernels stay in the cache)
	rm -rf .venv build dist *.egg-info $(WEB)/dist $(WEB)/node_modules
	@$(MAKE) --no-print-directory -s -C orchestrator/agent clean

.PHONY: help help-all module-matrix setup packages agent web parts pin same-traces release wheel sbom kernel kernels kernels-all kernel-debug service demo newcomer test test-unit test-contract test-api test-browser test-guest test-service test-chaos test-mininet test-mininet-virtual test-mininet-real test-packages test-kernels-all test-stock-kernels-all test-live test-stock-kernel test-own-kernels test-packaging test-containers test-hosts fuzz fuzz-links fuzz-api check check-kmod check-web fmt docs pictures dashboards lock dkms-install dkms-uninstall bench bench-api bench-cluster bench-limits bench-live bench-page bench-predict bench-web trust reproduce clean
