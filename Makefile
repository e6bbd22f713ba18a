# Two commands matter: `make demo` and `make test`. The rest is for working on the project.

CARGO ?= cargo
BUILT := $(or $(CARGO_TARGET_DIR),target)/debug
QUESTION ?= What is this repository, and what is it written in?

.PHONY: demo test test-rust test-typescript test-quick-starts lint generate interop bench clean help

help: ## Lists the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'

demo: ## Asks the reference agent about this repository through the typed client. No key, no network.
	$(CARGO) build --quiet -p agentese-server --bin agentese
	$(CARGO) run --quiet -p agentese --example demo -- "$(QUESTION)" $(BUILT)/agentese --mode rpc --provider scripted --no-session

test: lint test-rust test-typescript test-quick-starts ## Everything, in all languages.

test-rust: ## Rust: unit, integration, doc tests; recordings; schemas; generated files.
	$(CARGO) test --workspace

test-typescript: ## TypeScript: types, codec, client.
	cd sdk-ts && npm ci --no-audit --no-fund && npm test

test-quick-starts: test-typescript ## The quick starts of the READMEs against the reference agent.
	./interop/quick-starts agentese

lint: ## Format and lints; warnings are errors.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

generate: ## Writes the generated files.
	$(CARGO) run --quiet -p agentese-codegen

interop: ## Clients and agents of others, real pi and omp among them; see docs/interop.md. Needs the package registries.
	./interop/run

bench: ## Benchmarks; the figures are in docs/benchmarks.md.
	$(CARGO) bench -p agentese
	./bench/round-trip

clean: ## Removes what was built.
	$(CARGO) clean
	rm -rf sdk-ts/node_modules sdk-ts/dist
