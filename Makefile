# Two commands matter: `make demo` and `make test`. The rest is for working on the project.

CARGO ?= cargo
BUILT := $(or $(CARGO_TARGET_DIR),target)/debug
QUESTION ?= What is this repository, and what is it written in?

.PHONY: demo build test test-instructions bridge-all test-conformance conformance-real test-attack attack test-other-hands other-hands soak test-providers-setup test-mcp-setup test-acp-setup test-pages-setup test-rust test-python test-typescript test-pi-host test-web test-drivers torture test-quick-starts test-pages pi-examples lint generate made-up-revision interop bench docs release-check clean help

help: ## Lists the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'

demo: ## Asks the reference agent about this repository through the typed client. No key, no network.
	$(CARGO) build --quiet -p agentese-cli
	$(CARGO) run --quiet -p agentese --example demo -- "$(QUESTION)" $(BUILT)/agentese --mode rpc --provider scripted --no-session
	@echo "To go on: a page, $(BUILT)/agentese web -- $(BUILT)/agentese --mode rpc --provider scripted; with your key, ANTHROPIC_API_KEY=… $(BUILT)/agentese web"

# `make test` runs its parts side by side: most of them wait more than they compute. tools/ci/part keeps the output of a part together.
PARTS := lint test-rust test-conformance test-python test-typescript test-pi-host test-web test-drivers test-quick-starts test-attack test-other-hands docs release-check
JOBS ?= 3
PART = $(and $(SIDE_BY_SIDE),tools/ci/part $@)
ifdef SIDE_BY_SIDE
# These two build the npm package, which tests of other parts use at the same time.
test-quick-starts: test-drivers
release-check: test-quick-starts
endif

# All Rust code is built by this one call, and by `cargo test --workspace`, which selects the same features. A call that
# names packages selects other features of the dependencies, and compiles these and their dependents again.
build: ## Builds programs and examples, with the features of the tests.
	$(PART) $(CARGO) build --quiet --workspace --bins --examples

test: ## Runs all checks and tests, in all languages. JOBS=1: one part after the other.
	@$(MAKE) --no-print-directory --silent --keep-going --jobs=$(JOBS) SIDE_BY_SIDE=1 $(PARTS)

# Most of these tests wait for processes and sockets, more of them than there are cores at a time.
THREADS ?= 6

test-rust: build test-providers-setup test-mcp-setup test-acp-setup test-pages-setup ## Tests Rust: unit, integration and doc tests; recordings; schemas; generated files.
	$(PART) env RUST_TEST_THREADS=$(THREADS) $(CARGO) test --workspace --no-fail-fast

test-instructions: ## Counts the instructions of hot paths in an optimised build; COUNTS=write stores new counts. Needs valgrind; compiles for minutes.
	env AGENTESE_COUNTS=$(COUNTS) $(CARGO) test --profile counted -p agentese-server --test instructions

# Dialects of which the reference agent passes the whole set.
PASSED := pi pi@1.5 pi@1.6 omp pisces operator opal

# Patience, because other parts, and a case with lines of 64 MiB, delay timed steps.
test-conformance: build ## Plays the sets of the conformance suite against the reference agent; see docs/conformance.md.
	$(PART) sh -ec 'for dialect in $(PASSED); do \
		$(BUILT)/agentese-conformance run --dialect $$dialect --jobs 2 --patience 6 -- $(BUILT)/agentese --mode rpc --dialect $$dialect; \
	done; \
	$(BUILT)/agentese-conformance run --dialect acp --jobs 2 --patience 6 -- $(BUILT)/agentese --mode acp; \
	$(BUILT)/agentese-conformance run --profile agentese-acp-bridge --jobs 2 --patience 6 -- $(BUILT)/agentese bridge --to acp --from pi -- $(abspath $(BUILT))/agentese --mode rpc'

# Attacks on the reference agent: all in pi, and attacks about other dialects in these.
ATTACKS = sh -ec '$(BUILT)/agentese-conformance attack --dialect pi --seconds $(1) $(2) -- $(BUILT)/agentese --mode rpc; \
	$(BUILT)/agentese-conformance attack --dialect opal --seconds $(3) $(2) --only opal tools -- $(BUILT)/agentese --mode rpc --dialect opal; \
	$(BUILT)/agentese-conformance attack --dialect pisces --seconds $(3) $(2) --only subagents -- $(BUILT)/agentese --mode rpc --dialect pisces'

test-attack: build ## Runs a short part of `make attack`: each attack once.
	$(PART) $(call ATTACKS,16,--starts 30,1)

test-other-hands: build ## Runs a sample of `make other-hands`, and checks requests to models against the types that the owners of the APIs publish.
	$(PART) ./conformance/interop/requests/run
	$(PART) ./conformance/defects/independent/run $(BUILT)/agentese-conformance $(BUILT)/agentese --sample 30 --seed 7 --jobs 4

other-hands: build ## Runs all independent defects, written from the documents alone; see docs/conformance-matching.md.
	./conformance/defects/independent/run $(BUILT)/agentese-conformance $(BUILT)/agentese --jobs 6

bridge-all: build ## Tests the bridge with all 20 pairs of dialects, of which `make test` plays a few; see docs/bridge.md.
	AGENTESE_BRIDGE=all $(CARGO) test --workspace --test bridge

SECONDS ?= 120
SEED ?=

attack: build ## Attacks the reference agent, for SECONDS, from SEED; see docs/attack.md.
	$(call ATTACKS,$(SECONDS),$(and $(SEED),--seed $(SEED)),30)

soak: build ## Runs the long random tests; `make test` has a part of each. Half an hour.
	$(BUILT)/agentese-conformance attack --dialect pi --seconds 600 -- $(BUILT)/agentese --mode rpc
	AGENTESE_KILLS=4000 $(CARGO) test --workspace --test kills -- --nocapture
	AGENTESE_STORMS=500 $(CARGO) test --workspace --test extensions -- --nocapture random_failures
	AGENTESE_CYCLES=10000 $(CARGO) test --workspace --test transport_cycles -- --nocapture
	$(BUILT)/agentese-conformance-defects run --dialect pi

conformance-real: ## Plays the sets of pi and omp against the real pi and the real omp. Needs the npm registry.
	./conformance/real

# npm lists the installed packages there: `npm ci` runs again if package-lock.json is newer.
NPM_HAS := node_modules/.package-lock.json

%/$(NPM_HAS): %/package-lock.json
	cd $* && npm ci --no-audit --no-fund --silent
	@touch $@

test-providers-setup: server/tests/aimock/$(NPM_HAS) ## Installs the mock of the model APIs for the tests of the providers.

test-mcp-setup: server/tests/mcp/$(NPM_HAS) ## Installs the third-party MCP servers for the tests of the agent.

test-acp-setup: cli/tests/acp/$(NPM_HAS) ## Installs the JSON Schema of ACP, with which the frames of `--mode acp` are compared.

test-python: build ## Tests Python: the wheel from the source distribution, stubs, mypy, pyright, pytest.
	$(PART) ./sdk-python/test --package

test-typescript: build sdk-ts/$(NPM_HAS) ## Tests TypeScript: types, codec, client, examples, and the types of the programs of `make interop`.
	@$(PART) sh -ec 'npm --prefix sdk-ts test; for programs in agents/typescript revisions; do \
		sdk-ts/node_modules/.bin/tsc --noEmit -p conformance/interop/$$programs; \
	done'

DRIVERS := "$(BUILT)/examples/conformance_driver" \
	"sdk-python/.venv/bin/python sdk-python/examples/conformance_driver.py" \
	"node sdk-ts/build/examples/conformance_driver.js"

test-drivers: build test-python test-typescript ## Plays the recorded agents to the client libraries, and a few seeds of `make torture`; see docs/conformance-clients.md.
	@$(PART) sh -ec 'for driver in $(DRIVERS); do for dialect in pi omp pisces operator opal; do \
		echo "$$dialect: $$driver"; \
		$(BUILT)/agentese-conformance run --client --patience 6 --dialect $$dialect -- $$driver; \
		$(BUILT)/agentese-conformance torture --client --patience 6 --seed 1 --seeds 20 --dialect $$dialect -- $$driver; \
	done; done'

SEEDS ?= 700

torture: build test-python test-typescript ## Plays an agent that does everything that the documents allow to the clients: SEEDS sessions in each dialect and language.
	@set -e; for driver in $(DRIVERS); do for dialect in pi omp pisces operator opal; do \
		echo "$$dialect: $$driver"; \
		$(BUILT)/agentese-conformance torture --client --seed $(or $(SEED),1) --seeds $(SEEDS) --dialect $$dialect -- $$driver 2>/dev/null; \
	done; done

test-pi-host: extensions/pi-host/$(NPM_HAS) ## Tests the host of pi's extensions: types, the bundle that the binary embeds.
	$(PART) npm --prefix extensions/pi-host test

test-web: build cli/web/$(NPM_HAS) ## Tests the page of `agentese web`: types, the bundle that the binary embeds, the page in Chromium.
	$(PART) npm --prefix cli/web test

test-quick-starts: build test-typescript ## Runs the quick starts of the READMEs against the reference agent.
	$(PART) ./conformance/interop/quick-starts agentese

test-pages-setup: sdk-ts/$(NPM_HAS) ## Installs the driver of the browser for tests of exported pages.

test-pages: test-pages-setup ## Opens the exported page and the report of the suite in Chromium, as test-rust does. Skipped without a browser; REQUIRE_BROWSER=1 makes that a failure.
	$(CARGO) test --workspace --test export --test run -- --nocapture browser

lint: docs/site/$(NPM_HAS) ## Checks format and lints, also of the clients for Windows and macOS (warnings are errors), tests that measure time, and the prose of the docs.
	$(PART) sh -ec 'tools/ci/test_clocks.py --quiet; tools/ci/clocks.py; $(CARGO) fmt --all --check; $(CARGO) clippy --workspace --all-targets -- -D warnings; tools/ci/other-systems; docs/site/prose'

made-up-revision: ## Adds a revision that no agent speaks, in one file; clients, schemas, pages and the list of missing cases follow.
	./tools/ci/made-up-revision

generate: ## Writes the generated files.
	$(CARGO) run --quiet -p agentese-codegen

interop: ## Runs third-party clients and agents, the real pi and omp among them; see docs/interop.md. Needs the package registries.
	./conformance/interop/run

pi-examples: extensions/pi-host/$(NPM_HAS) ## Loads the examples of pi's own package and checks the table of docs/pi-extensions.md. Needs the npm registry.
	cd extensions/pi-host && npm install --no-save --prefix build/pi @mariozechner/pi-coding-agent@0.55.4
	cd extensions/pi-host && node scripts/examples.mjs build/pi/node_modules/@mariozechner/pi-coding-agent --check

docs: sdk-ts/$(NPM_HAS) docs/site/$(NPM_HAS) ## Builds the documentation site into target/site and checks its links.
	$(PART) ./docs/site/build

release-check: sdk-ts/$(NPM_HAS) ## Checks the parts of a release that need no account: versions, workflows, packages.
	$(PART) ./tools/release/check

bench: sdk-ts/$(NPM_HAS) ## Runs the benchmarks; the figures are in docs/benchmarks.md.
	$(CARGO) bench -p agentese
	./tools/bench/round-trip
	./tools/bench/agent
	./tools/bench/sessions
	cd sdk-ts && npm run bench
	@[ -x sdk-python/.venv/bin/python ] || { echo "the Python benchmark needs sdk-python/.venv: ./sdk-python/test makes it" >&2; exit 1; }
	cd sdk-python && .venv/bin/python bench/decoding.py

ROUNDS ?= 5

.PHONY: bench-growth
bench-growth: ## Measures the growth of the reference agent with entries, sessions, commands and deltas; writes the pictures of docs/growth.
	$(CARGO) build --quiet --release -p agentese-cli
	./tools/bench/growth

.PHONY: bench-peers
bench-peers: ## Measures the reference agent beside the real pi and omp, as installed by `make conformance-real`, in one run; writes the table of docs/benchmarks.md.
	$(CARGO) build --release --quiet -p agentese-cli
	./tools/bench/peers --rounds $(ROUNDS) --write

.PHONY: bench-clients
bench-clients: sdk-ts/$(NPM_HAS) ## Measures the three clients beside their alternatives, in one run; writes the table of docs/benchmarks.md. Needs sdk-python/.venv.
	$(CARGO) build --release --quiet -p agentese --example reading
	$(CARGO) build --release --quiet --manifest-path conformance/interop/pi-codes/Cargo.toml --target-dir $(CURDIR)/target/interop --example reading
	cd sdk-ts && npm run --silent build && npm run --silent build:test
	./tools/bench/clients --rounds $(ROUNDS) --write

clean: ## Removes build results.
	$(CARGO) clean
	rm -rf server/tests/*/node_modules docs/site/node_modules docs/site/.venv tools/release/.venv sdk-ts/node_modules sdk-ts/dist cli/web/node_modules extensions/pi-host/node_modules extensions/pi-host/dist extensions/pi-host/build sdk-python/.venv
