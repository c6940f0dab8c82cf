#!/bin/sh
# Runs every test that reads a folder of cases, and counts them: a test that
# skips, because npm or a file is missing, must be seen.
# usage: corpus.sh FOLDER   (GO and P are honoured)
set -u

cd "$(dirname "$0")/.." || exit 1
if [ $# -ne 1 ] || ! [ -d "$1" ]; then
	echo 'corpus: usage: make corpus CASES=folder' >&2
	exit 2
fi
CORPUS_CASES=$(cd "$1" && pwd)
export CORPUS_CASES
go=${GO:-go}
log=$(mktemp) || exit 1
status=$(mktemp) || exit 1
trap 'rm -f "$log" "$status"' EXIT
echo 0 >"$status"

# run ARGUMENTS...: go test, without the lines that only say that a test goes on.
run() {
	{ "$go" test "$@" 2>&1 || echo 1 >"$status"; } |
		tee -a "$log" | grep -v '^=== '
}

# Packages with a test that reads the folder, and of those only such tests; in
# the judges' package all of them are.
run -count=1 -v -timeout 60m -run 'Corpus|Recorded' -p "${P:-2}" \
	$(grep -rl --include='*_test.go' --exclude-dir=.cache --exclude-dir=judges CORPUS_CASES . | xargs -n 1 dirname | sort -u)
run -C test/judges -count=1 -v -timeout 60m ./...

count() { grep -c "^ *--- $1: " "$log"; }
echo "corpus: $(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
exit "$(cat "$status")"
