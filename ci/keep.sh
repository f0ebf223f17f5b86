#!/bin/sh
# Keeps a run log on a branch of its own, with those of before and the page of all of them: keep.sh LOG BRANCH
# Figures are shown relative to the base of each run, since absolute ones change with the machine.
# The job that measured may have left anything in its place: a link to what is nobody's to publish, or no end of it.
set -eu
log=$1 branch=$2
if [ -L "$log" ] || [ ! -f "$log" ] || [ "$(wc -c < "$log")" -gt 67108864 ]; then
  echo "$log is no run log of at most 64 MiB, and is not kept." >&2
  exit 3
fi
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/prony-history-XXXXXX")
git worktree add --quiet --detach "$folder"
trap 'git worktree remove --force "$folder"' EXIT
(
  cd "$folder"
  if git fetch --quiet --depth=1 origin "refs/heads/$branch"; then
    git checkout --quiet --detach FETCH_HEAD
  else
    git checkout --quiet --orphan "prony-history-$$"
    git rm -r --quiet --force .
  fi
  mkdir -p runs
  cp "$log" "runs/$(date -u +%Y-%m-%dT%H%M%S).jsonl"
  prony history runs --relative-to base --format html -o index.html
  prony history runs --relative-to base > history.txt
  git add --force runs index.html history.txt
  git -c user.name=Prony -c user.email=prony@localhost commit --quiet --message "A run log of ${GITHUB_SHA:-HEAD}"
  git push --quiet origin "HEAD:refs/heads/$branch"
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    { echo '```text'; cat history.txt; echo '```'; } >> "$GITHUB_STEP_SUMMARY"
  fi
)
