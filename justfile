# The commands of CONTRIBUTING.md: `just --list`.

# Every check that a change must pass
ci:
    .ci/run

# Every test, against servers that it starts itself
test *arguments:
    tests/run {{arguments}}

# Formats the code, and lints all of it
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets --features lock-benches/peers,lock-figures/walk --locked -- -D warnings

# The site of the README and docs/, with its links checked
book:
    tests/book

# The API documentation, as docs.rs builds it
documentation:
    tests/documentation

# The tests of Lua scripts under the model checker, each model to its end
models:
    MODEL_CHECK=whole cargo test --package lock-model-check --test it

# The specification of the native wire, by TLC
specification:
    tests/specification/run

# The fault campaign, for an hour
campaign *arguments="--minutes 60 --seed 1":
    cargo run --release --package lock-chaos -- {{arguments}}

# Two replicas under load, restarts and failovers, for an hour
soak *arguments="--minutes 60":
    cargo run --release --package lock-tests --bin soak -- {{arguments}}

# Other versions of Redis, and Valkey
versions *names:
    tests/versions {{names}}

# Windows and macOS
platforms:
    tests/platforms

# A service from the template: built, tested, started
template:
    tests/template

# Measures the locks beside others, and writes docs/performance.md: 25 minutes on an idle machine
compare:
    cargo run --release --package lock-benches --features peers -- --markdown docs/performance.md

# Two replicas with Redis, Prometheus and Grafana
demo:
    docker compose --file examples/observed/compose.yaml up --build
