# One line per target. `verify` never writes to the tree; `fix` and `golden` do.
.PHONY: verify test bugs golden generate package bench fix fuzz demo demo-down e2e-volcano

# Folder with the instances of the bench and their scorer; `bench` says so when it is not there.
BENCH ?= ../shared/bench
# Program that `package` packs; built in release mode unless another is given.
BINARY ?= target/release/kubectl-repack
# Seconds that `fuzz` spends on each reader and parser.
FUZZ_SECONDS ?= 60
# Folder with Volcano's programs and CRDs; `e2e-volcano` says so when it is not there.
VOLCANO_BIN ?=
# Folder of the cluster that `demo` starts.
DEMO ?= target/demo

verify: ## format, lints and the library's tests
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo test --lib --test architecture

test: ## everything
	cargo test

bugs: ## put every bug of tests/bugs/list.txt back in a copy of the tree: a test has to fail over each
	tests/bugs/prove

golden: ## rewrite the expected outputs; a changed one needs a sentence in the commit
	UPDATE=1 INSTA_UPDATE=always cargo test --no-fail-fast

generate: ## rewrite manifests/ and krew/ from the source; a test compares
	cargo run --quiet -- generate tree

fix: ## format, and the lints that can repair what they find
	cargo fmt
	cargo clippy --fix --allow-dirty --allow-staged --all-targets

bench: ## load, report and planning time per instance
	tests/bench.sh $(BENCH)

fuzz: ## readers and the quantity parser on mutated input, each for FUZZ_SECONDS
	FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test --release --test fuzz --test fuzz_api -- --nocapture

package: ## the archive for krew of this machine's platform, with its manifest, under target/package
	test "$(BINARY)" != target/release/kubectl-repack || cargo build --release --locked
	krew/package $(BINARY) target/package

demo: ## start a cluster with a fragmented pool of 20 nodes and leave it running (needs Go)
	cargo build --quiet --bin kubectl-repack --example demo
	cargo run --quiet --example demo -- up $(DEMO)

demo-down: ## end it
	cargo run --quiet --example demo -- down $(DEMO)

e2e-volcano: ## Execute on real Volcano, whose programs are in VOLCANO_BIN (needs Go)
	tests/e2e_volcano.sh "$(VOLCANO_BIN)"
