# haulout: see `make help`. Everything runs with the Node that package-lock.json pins.
SHELL := /bin/sh
NODE := node_modules/.bin/node
KUBECONFIG ?= .cluster/kubeconfig
INSTALLED := node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help demo test bench soak audit e2e-kubelet bundle image run cluster cluster-down generate format clean install check-tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: install ## the whole of it on a cluster of its own, in a minute
	@$(NODE) hack/demo.ts

test: install ## all checks: types, lint, format, unit and end-to-end tests, chart
	@$(NODE) hack/test.ts

bench: install ## measure drains beside kubectl drain (ARGS=volumes: this row only; --fill: into the docs)
	@$(NODE) hack/bench.ts $(ARGS)

soak: install ## faults, kills, fuzzing and scale in their long form (ARGS=faults: this form only; --seed N: again)
	@$(NODE) --disable-warning=ExperimentalWarning hack/soak.ts $(ARGS)

run: install ## run the operator from source against KUBECONFIG (default .cluster/kubeconfig)
	@PATH="$(CURDIR)/node_modules/.bin:$$PATH" bin/haulout run --allow-excess-rights --kubeconfig "$(KUBECONFIG)"

cluster: install ## start a real control plane with 4 fake nodes (or kind: CLUSTER=kind)
	@$(NODE) hack/cluster/up.ts

cluster-down: install ## stop it
	@$(NODE) hack/cluster/down.ts

e2e-kubelet: install ## the image on real kubelets: needs root on Debian (part of make test; KUBELET_FILL=1: its figures into the README)
	@$(NODE) --experimental-vm-modules --disable-warning=ExperimentalWarning node_modules/jest/bin/jest.js --config test/e2e-kubelet/jest.config.mjs

bundle: install ## the operator in one file, dist/haulout.mjs
	@$(NODE) hack/bundle.ts

image: install ## the image for amd64 and arm64 as an OCI archive in dist/ (Debian with buildah; elsewhere: Containerfile)
	@$(NODE) --disable-warning=ExperimentalWarning hack/image.ts

audit: install ## ask the registry of npm for known weaknesses of the packages, and for their signatures
	@npm audit --omit=dev --audit-level=moderate
	@npm audit --audit-level=high
	@npm audit signatures

generate: install ## write all generated files anew (types, chart copies, reference)
	@$(NODE) hack/generate.ts

format: install ## format all sources
	@$(NODE) node_modules/@biomejs/biome/bin/biome format --write src test hack

clean: ## stop all clusters and remove all that was made, but not the built cluster programs in .cache
	@if [ -x $(NODE) ]; then $(NODE) --disable-warning=ExperimentalWarning hack/kubelet/down.ts; fi
	@for dir in .cluster .cluster-*; do \
	  if [ -x $(NODE) ] && [ -d $$dir ]; then $(NODE) hack/cluster/down.ts --dir $$dir >/dev/null; fi; \
	done
	@rm -rf dist coverage .cluster .cluster-* node_modules

install: check-tools $(INSTALLED) ## install the pinned packages where they are not

$(INSTALLED): package-lock.json
	@# npm empties the directory that a link leads to, and others may be working with it.
	@[ ! -L node_modules ] || { echo "make: node_modules is a link: run npm ci where it leads to, or remove it" >&2; exit 1; }
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

check-tools:
	@for tool in node npm go git; do \
	  command -v $$tool >/dev/null 2>&1 || { echo "make: $$tool is missing, please install it" >&2; exit 1; }; \
	done
