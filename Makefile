# Two commands matter: `make demo` and `make test`. The rest is for working on the project.

CARGO ?= cargo
BUILT := $(or $(CARGO_TARGET_DIR),target)/debug
QUESTION ?= What is this repository, and what is it written in?

.PHONY: demo test test-conformance conformance-real test-providers-setup test-pages-setup test-rust test-python test-typescript test-pi-host test-drivers test-quick-starts test-pages pi-examples lint generate interop bench docs release-check clean help

help: ## Lists the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'

demo: ## Asks the reference agent about this repository through the typed client. No key, no network.
	$(CARGO) build --quiet -p agentese-server --bin agentese
	$(CARGO) run --quiet -p agentese --example demo -- "$(QUESTION)" $(BUILT)/agentese --mode rpc --provider scripted --no-session

test: lint test-rust test-conformance test-python test-typescript test-pi-host test-drivers test-quick-starts docs release-check ## Everything, in all languages.

test-rust: test-providers-setup test-pages-setup ## Rust: unit, integration, doc tests; recordings; schemas; generated files.
	$(CARGO) test --workspace --no-fail-fast

test-conformance: ## The conformance suite's pi set against the reference agent; see docs/conformance.md.
	$(CARGO) build --quiet -p agentese-server --bin agentese -p agentese-conformance
	$(BUILT)/agentese-conformance run --dialect pi --jobs 2 -- $(BUILT)/agentese --mode rpc

conformance-real: ## The same set against the real pi. Needs the npm registry.
	./conformance/real

test-providers-setup: ## The mock of the model APIs that the tests of the providers ask.
	cd server/tests/aimock && npm ci --no-audit --no-fund

test-python: ## Python: the wheel from the source distribution, stubs, mypy, pyright, pytest.
	./sdk-python/test --package

test-typescript: ## TypeScript: types, codec, client.
	cd sdk-ts && npm ci --no-audit --no-fund && npm test

DRIVERS := "$(BUILT)/examples/conformance_driver" \
	"sdk-python/.venv/bin/python sdk-python/examples/conformance_driver.py" \
	"node sdk-ts/build/examples/conformance_driver.js"

test-drivers: test-python test-typescript ## The recorded agents, played to the client libraries; see docs/conformance-clients.md.
	$(CARGO) build --quiet -p agentese-conformance --bin agentese-conformance
	$(CARGO) build --quiet -p agentese --example conformance_driver
	@for driver in $(DRIVERS); do for dialect in pi omp pisces operator opal; do \
		echo "$$dialect: $$driver"; \
		$(BUILT)/agentese-conformance run --client --patience 3 --dialect $$dialect -- $$driver || exit 1; \
	done; done

test-pi-host: ## The host of pi's extensions: types, the bundle that the binary embeds, its tests.
	cd pi-host && npm ci --no-audit --no-fund && npm test

test-quick-starts: test-typescript ## The quick starts of the READMEs against the reference agent.
	./interop/quick-starts agentese

test-pages-setup: ## What drives the browser that opens exported pages.
	cd sdk-ts && { [ -d node_modules/playwright-core ] || npm ci --no-audit --no-fund; }

test-pages: test-pages-setup ## Of test-rust, the exported page and the suite's report in Chromium. Says so where there is none; REQUIRE_BROWSER=1 makes that a failure.
	$(CARGO) test --workspace --test export --test run -- --nocapture browser

lint: ## Format and lints; warnings are errors.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

generate: ## Writes the generated files.
	$(CARGO) run --quiet -p agentese-codegen

interop: ## Clients and agents of others, real pi and omp among them; see docs/interop.md. Needs the package registries.
	./interop/run

pi-examples: ## Loads the examples of pi's own package and checks the table of docs/pi-extensions.md. Needs the npm registry.
	cd pi-host && npm ci --no-audit --no-fund && npm install --no-save --prefix build/pi @mariozechner/pi-coding-agent@0.55.4
	cd pi-host && node scripts/examples.mjs build/pi/node_modules/@mariozechner/pi-coding-agent --check

docs: ## Builds the documentation site into target/site and checks its links.
	./site/build

release-check: ## Tries everything of a release that needs no account: versions, workflows, packages.
	./release/check

bench: ## Benchmarks; the figures are in docs/benchmarks.md.
	$(CARGO) bench -p agentese
	./bench/round-trip
	./bench/agent
	cd sdk-ts && npm ci --no-audit --no-fund && npm run bench
	@[ -x sdk-python/.venv/bin/python ] || { echo "the Python benchmark needs sdk-python/.venv: ./sdk-python/test makes it" >&2; exit 1; }
	cd sdk-python && .venv/bin/python bench/decoding.py

clean: ## Removes what was built.
	$(CARGO) clean
	rm -rf site/node_modules site/.venv release/.venv sdk-ts/node_modules sdk-ts/dist pi-host/node_modules pi-host/dist pi-host/build sdk-python/.venv
