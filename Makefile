# The front door: `make` builds, `make run` shows a cluster at work, `make test` tests.
# CMake and Ninja do the work below build/; every target can be run again at no cost.

BUILD ?= build
PREFIX ?= /usr/local
TYPE ?= RelWithDebInfo
WERROR ?= ON
CLIENTS ?= present
FUZZ_SECONDS ?= 10
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=

CONFIGURE = cmake -G Ninja -S . -Wno-dev --log-level=WARNING
NINJA = ninja -j $(JOBS)
SOURCES = $(shell git ls-files '*.c' '*.h')

# libmesos.so is built once a JDK is there, which may be later than the first build.
FIND_JDK = ! grep -qs 'JNI_INCLUDE:PATH=.*NOTFOUND' $(BUILD)/CMakeCache.txt || $(CONFIGURE) -B $(BUILD)

.DEFAULT_GOAL := build
.PHONY: build run spark test install deb dist asan tsan fuzz format format-check bench conformance clean help

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile
	@echo "  variables: BUILD=$(BUILD) PREFIX=$(PREFIX) TYPE=$(TYPE) CLIENTS=$(CLIENTS)|all JOBS=$(JOBS)"

# Tests need a library more, so a plain build leaves them out until somebody asks for them.
build: ## build/mesita, with what it needs
	@deploy/install-deps build
	@[ -f $(BUILD)/build.ninja ] || $(CONFIGURE) -B $(BUILD) -DCMAKE_BUILD_TYPE=$(TYPE) \
		-DMESITA_WERROR=$(WERROR) -DMESITA_TESTS=OFF $(CMAKE_FLAGS)
	@$(FIND_JDK)
	@$(NINJA) -C $(BUILD) product

run: build ## a local cluster runs a job of 24 tasks
	@deploy/demo $(BUILD)/mesita

spark: ## a local cluster runs a word count by Apache Spark
	@deploy/install-deps build java python
	@$(MAKE) -s build
	@deploy/spark $(BUILD)

test: ## every test; CLIENTS=all installs the languages of all clients
	@deploy/install-deps build test $(if $(filter all,$(CLIENTS)),python go node java containers zookeeper browser)
	@grep -qs 'MESITA_TESTS:BOOL=ON' $(BUILD)/CMakeCache.txt || $(CONFIGURE) -B $(BUILD) \
		-DCMAKE_BUILD_TYPE=$(TYPE) -DMESITA_WERROR=$(WERROR) -DMESITA_TESTS=ON $(CMAKE_FLAGS)
	@$(FIND_JDK)
	@$(NINJA) -C $(BUILD)
	@tests/run --build $(BUILD) --clients $(CLIENTS)

install: build ## into PREFIX, with links in Mesos' names
	@deploy/install $(BUILD) "$(DESTDIR)$(PREFIX)"

# With libmesos.so if a JDK is there.
deb: build ## Debian packages, in build/package
	@deploy/install-deps package
	@deploy/package/deb $(BUILD) $(REVISION)

dist: ## the sources as a tarball, the same each time, in build/package
	@deploy/package/dist $(BUILD)/package

asan: ## unit, simulation and some end-to-end tests under AddressSanitizer and UBSan
	@deploy/install-deps build test
	@[ -f $(BUILD)-asan/build.ninja ] || $(CONFIGURE) -B $(BUILD)-asan -DCMAKE_BUILD_TYPE=Debug \
		-DMESITA_SANITIZE=ON -DMESITA_WERROR=$(WERROR) -DMESITA_TESTS=ON $(CMAKE_FLAGS)
	@$(NINJA) -C $(BUILD)-asan
	@[ -f $(BUILD)/build.ninja ] || $(CONFIGURE) -B $(BUILD) -DCMAKE_BUILD_TYPE=$(TYPE) \
		-DMESITA_WERROR=$(WERROR) -DMESITA_TESTS=OFF $(CMAKE_FLAGS)
	@$(NINJA) -C $(BUILD) mesita-sim
	@tests/run --build $(BUILD)-asan --only unit,sim,e2e,clients --quick --slow 3 \
		--seeds 1200 --other $(BUILD)

tsan: ## some end-to-end tests under ThreadSanitizer
	@deploy/install-deps build test
	@[ -f $(BUILD)-tsan/build.ninja ] || $(CONFIGURE) -B $(BUILD)-tsan -DCMAKE_BUILD_TYPE=$(TYPE) \
		-DMESITA_TSAN=ON -DMESITA_WERROR=$(WERROR) -DMESITA_TESTS=OFF $(CMAKE_FLAGS)
	@$(NINJA) -C $(BUILD)-tsan mesita
	@MEMORY_SCALE=3 tests/run --build $(BUILD)-tsan --only e2e --quick --slow 3

fuzz: ## each decoder for FUZZ_SECONDS
	@deploy/install-deps build fuzz
	@[ -f $(BUILD)-fuzz/build.ninja ] || CC=clang CXX=clang++ $(CONFIGURE) -B $(BUILD)-fuzz \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo -DMESITA_FUZZ=ON -DMESITA_TESTS=OFF $(CMAKE_FLAGS)
	@$(NINJA) -C $(BUILD)-fuzz fuzz
	@tests/fuzz/run $(BUILD)-fuzz $(FUZZ_SECONDS)

format: ## lay out all sources anew
	@deploy/install-deps format
	@clang-format -i $(SOURCES)

format-check: ## fail where `make format` would change something
	@deploy/install-deps format
	@clang-format --dry-run -Werror $(SOURCES)

bench: ## a page of figures, each beside its limit; BENCH=--quick, BENCH=--only=launch
	@$(MAKE) -s build >&2
	@deploy/install-deps test
	@$(NINJA) -C $(BUILD) bench >&2
	@bench/run --mesita $(BUILD)/mesita $(BENCH)

conformance: build ## black-box tests of the suite that CONFORMANCE names
	@deploy/install-deps test
	@tests/conformance/run $(BUILD)

clean: ## forget all that was built
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz
