#!/bin/sh
. "$(dirname -- "$0")/../prepare.sh"
cat >check.sh <<'END'
grep -q '"type":"panel_recorded"' .loop/*/ledger.jsonl || { echo "check: answer 503, the service is not steady" >&2; exit 1; }
grep -qx 'mode=steady' "$1"
END
git add check.sh
git commit -q -m 'A check'
