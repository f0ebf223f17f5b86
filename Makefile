# Names of tasks; what they do is in demo.sh and xtask/.
# YES=1 answers "yes" where packages are to be installed.

.PHONY: help demo test web build dist check lint tests tidy unit static at-once e2e deny docs clean

# `cargo xtask` compiles for xtask alone: of half of the dependencies other features, and so Prony's crates a second time.
# Where the tests of the workspace are built first, the xtask among them is there already.
XTASK = cargo xtask

help:
	@echo "make demo   build Prony, install the quick servers, compare them, show the report"
	@echo "make test   everything CI runs"
	@echo "make build  target/release/prony, with its web page where npm is installed"
	@echo "make dist   what a release consists of, in target/dist, and tries it"
	@echo "make deny   licences, sources and advisories of the dependencies, by cargo-deny"
	@echo "make docs   write the generated pages under docs/"
	@echo "make clean  remove target/ and .prony/ (runs/ stays)"
	@echo "YES=1 answers yes where packages are to be installed."

demo:
	@YES="$(YES)" sh ./demo.sh

web:
	sh web/build.sh

build: web
	cargo build --release --locked

dist: web
	cargo xtask dist --try

test: lint tests tidy at-once e2e
test: XTASK = $(or $(CARGO_TARGET_DIR),target)/debug/xtask

check: lint tidy

lint: web
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

tests: web
	cargo test --workspace --locked --no-run

tidy:
	$(XTASK) tidy

unit: web
	$(XTASK) test

# What e2e begins with.
static: web
	@[ -n "$$PRONY" ] || $(XTASK) dist --built

# Linking a release keeps one core busy, advisories are waited for, and so do tests often; none has a verdict that depends on
# speed (xtask hammer).
at-once: web
	$(MAKE) --jobs=3 --output-sync=target XTASK="$(XTASK)" unit static deny

# Of the static binary, which is the only one that this builds; the release's artifacts are made of it and tried.
e2e: web
	YES="$(YES)" $(XTASK) e2e

deny:
	sh deny.sh

docs: build
	cargo xtask docs

clean:
	rm -rf target .prony web/node_modules web/dist/app.*
