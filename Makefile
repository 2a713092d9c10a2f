# Everything is set up by the targets themselves, on Debian 12 as root with Rust, Go,
# Java, Node and Python there. What is built once lies in ~/.cache/remora.

SHELL := /bin/bash
CARGO ?= cargo
export CARGO_TERM_COLOR ?= never

# The demos and images show optimised programs; PROFILE=dev shares the tests' compilation.
export PROFILE ?= release
ifeq ($(PROFILE),dev)
BUILD := $(CARGO) build --locked --workspace --bins
PROGRAMS := $${CARGO_TARGET_DIR:-target}/debug
else
BUILD := $(CARGO) build --locked --profile $(PROFILE) -p remora-sidecar -p remora-operator -p remora-e2e --bins
PROGRAMS := $${CARGO_TARGET_DIR:-target}/$(PROFILE)
endif

.PHONY: help demo demo-local test soak images push clean-up fuzz test-mutations test-drivers bench audit lint unit tools cluster

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: tools ## Kubernetes, Remora and an application on two MySQL shards, then a prompt to try
	@$(BUILD) && $(PROGRAMS)/demo

demo-local: tools ## the same without Kubernetes: servers and sidecar as processes
	@$(BUILD) && $(PROGRAMS)/demo-local

test: tools ## everything that must pass, with a table of its stages
	@PROFILE=dev .ci/test

images: tools ## container images as archives, for `kind load image-archive` or `docker load`
	@e2e/images/build

push: tools ## make push REGISTRY=registry.example/team: the images to a registry of yours
	@e2e/images/push "$(REGISTRY)"

cluster: tools ## a bare Kubernetes of one node
	@PROFILE=dev e2e/cluster up

clean-up: ## ends what the demos left running and removes what they wrote
	@[ -x $(PROGRAMS)/clean-up ] || $(BUILD); $(PROGRAMS)/clean-up

lint: tools ## formatting, clippy, licences and bans
	@.ci/test format lints dependencies

unit: ## unit and golden tests
	@.ci/test unit

soak: tools ## 200 sessions over few connections, for ten minutes: make soak SOAK_SECONDS=60
	@SOAK_SECONDS="$${SOAK_SECONDS:-600}" PROFILE=dev .ci/test build soak

fuzz: ## five minutes of every fuzz target: make fuzz FUZZ_SECONDS=300
	@e2e/fuzz/run "$${FUZZ_SECONDS:-300}"

test-mutations: tools ## breaks the data plane in one place at a time; the differential test must notice
	@e2e/mutations/run

test-drivers: tools ## the drivers' own test suites through the sidecar; writes docs/compatibility.md
	@$(CARGO) build --locked --workspace --all-targets && $${CARGO_TARGET_DIR:-target}/debug/test-drivers

bench: tools ## loads beside the peers; writes bench/RESULTS.md: make bench PARTS="idle busy"
	@bench/run $(PARTS)

audit: tools ## known weaknesses of the dependencies; needs the advisory database
	@.ci/tools cargo-deny >/dev/null && .ci/deny check advisories

tools:
	@.ci/tools
