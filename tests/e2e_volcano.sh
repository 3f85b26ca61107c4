#!/usr/bin/env bash
# Execute on real Volcano, one line per case.
# usage: tests/e2e_volcano.sh FOLDER   FOLDER holds Volcano's programs scheduler, controller-manager and webhook-manager,
#        and its CRDs in the folder crds. CASE=WORD,… runs the cases with one of the words in their name.
set -euo pipefail
not_run() {
  echo "real Volcano: NOT RUN ($1)"
  exit 3
}
folder=${1:-}
[ -n "$folder" ] || not_run "VOLCANO_BIN names no folder with Volcano's programs"
[ -d "$folder" ] || not_run "VOLCANO_BIN: $folder is no folder"
for program in scheduler controller-manager webhook-manager; do
  [ -x "$folder/$program" ] || not_run "VOLCANO_BIN: $folder has no program $program"
done
compgen -G "$folder/crds/*.yaml" > /dev/null || not_run "VOLCANO_BIN: $folder/crds has no CRDs"
VOLCANO_BIN=$(cd "$folder" && pwd)
export VOLCANO_BIN
cd "$(dirname "$0")/.."
cargo test --test real_volcano -- --ignored --nocapture
