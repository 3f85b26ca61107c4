#!/usr/bin/env bash
# Measures load, report and planning on the reference instances and scores every plan with their scorer.
# usage: tests/bench.sh [FOLDER]   FOLDER holds instances/, to_k8s.py, score.py (default ../shared/bench)
set -euo pipefail
cd "$(dirname "$0")/.."
bench=${1:-../shared/bench}
if [ ! -d "$bench/instances" ]; then
  echo "bench: NOT RUN ($bench/instances is not there)"
  exit 0
fi
cargo build --release --quiet
binary=target/release/kubectl-repack
work=target/bench
mkdir -p "$work"
status=0
for instance in "$bench"/instances/*.json.gz; do
  name=$(basename "$instance" .json.gz)
  [ -f "$work/$name.json" ] || python3 "$bench/to_k8s.py" "$instance" > "$work/$name.json"
  "$binary" debug bench "$work/$name.json"
  "$binary" debug bench --search "$work/$name.json"
  python3 tests/bench_reference.py "$bench" "$name" "$binary" "$work/$name.json" || status=$?
  python3 tests/bench_again.py "$binary" "$work/$name.json" || status=$?
  for budget in none 2/8 2/64 10/8 10/64; do
    flags=() score=()
    if [ "$budget" != none ]; then
      flags=(--max-podgroups "${budget%/*}" --max-cards "${budget#*/}")
      score=(--podgroups "${budget%/*}" --cards "${budget#*/}")
    fi
    for algorithm in drain search; do
      "$binary" dryrun -q --snapshot "$work/$name.json" --algorithm "$algorithm" "${flags[@]}" -o json > "$work/plan.json" 2> "$work/plan.err"
      printf '%s, budget %s, ' "$algorithm" "$budget"
      python3 "$bench/score.py" "$instance" "$work/plan.json" "${score[@]}" || status=$?
    done
  done
done
exit $status
