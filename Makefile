# Names of tasks; what they do is in demo.sh and xtask/.
# YES=1 answers "yes" where packages are to be installed.

.PHONY: help demo test web build dist check unit e2e deny docs clean

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

test: check deny unit e2e

check: web
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo xtask tidy

unit: web
	cargo xtask test

# Of the static binary, which is the only one that this builds; the release's artifacts are made of it and tried.
e2e: web
	YES="$(YES)" cargo xtask e2e

deny:
	sh deny.sh

docs: build
	cargo xtask docs

clean:
	rm -rf target .prony web/node_modules web/dist/app.*
