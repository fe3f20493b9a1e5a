#!/bin/sh
. "$(dirname -- "$0")/../prepare.sh"
cat >REVIEW.md <<'END'
# Rule of the thorough review

NOTICE, in the root, names each file that was added, one a line. A file that it does not name is a BLOCKER, verified by
`grep -q <file> NOTICE`. Nothing else is a blocker or a warning here.
END
git add REVIEW.md
git commit -q -m 'A rule for reviews'
