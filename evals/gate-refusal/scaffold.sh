#!/bin/sh
. "$(dirname -- "$0")/../prepare.sh"
cat >verify.sh <<'END'
test "$(sh greet.sh Ann)" = 'hello Ann'
END
cat >edges.sh <<'END'
test "$(sh greet.sh)" = 'hello nobody' || { echo "without a name: expected 'hello nobody'" >&2; exit 1; }
END
git add verify.sh edges.sh
git commit -q -m 'Checks'
