# Sourced by the cases' scaffolds, in the empty project of a run: makes it a git project, and puts loopkit's
# environment into the run's HOME (EVAL_LOOPKIT_DATA in case.yaml), since an eval hides the client's own data folder,
# and the network, from the shell. What script/setup has prepared is copied; without it loopkit prepares a new one.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
data=$HOME/.cache/loopkit
mkdir -p "$data"

dev=$(readlink "$root/.venv" 2>/dev/null || :)
ready=${dev%/*/env}/data-$(cksum <"$root/requirements.lock" | tr ' ' '-')
if [ -n "$dev" ] && cmp -s "$root/requirements.lock" "$ready/env/requirements.lock"; then
  cp -Rp "$ready/env/." "$data/env"
  # what is compiled lies by the place of its source, and is good as long as that has its time
  for from in "$ready/env" "$root"; do
    place=$(CDPATH='' cd -- "$from" && pwd -P)
    to=$data/pyc$([ "$from" = "$root" ] && printf %s "$root" || printf %s "$data/env")
    if [ -d "$ready/pyc$place" ]; then mkdir -p "$to" && cp -Rp "$ready/pyc$place/." "$to"; fi
  done
else
  LOOPKIT_DATA=$data "$root/bin/loopkit" --version >/dev/null
fi

git init -q -b main
printf '# A project\n' >README.md
git add README.md
git commit -q -m Start
