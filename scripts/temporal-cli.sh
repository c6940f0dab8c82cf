#!/bin/sh
# Makes sure of a Temporal CLI: bin/temporal, else one in PATH, of at least the
# version given; else it is built into bin/ once, through Go's module proxy.
# usage: scripts/temporal-cli.sh v1.5.1
set -eu

want=${1:?usage: temporal-cli.sh vX.Y.Z}
go=${GO:-go}
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
bin=$root/bin/temporal

# version PATH prints the version as X.Y.Z. The module version stamped into the
# binary comes first: a CLI built by `go install` calls itself 0.0.0-DEV.
version() {
	v=$("$go" version -m "$1" 2>/dev/null | awk '$1 == "mod" && $2 == "github.com/temporalio/cli" { print $3; exit }')
	case $v in
	v[0-9]*) ;;
	*) v=$("$1" --version 2>/dev/null | awk '$1 == "temporal" && $2 == "version" { print $3; exit }') ;;
	esac
	v=${v#v}
	printf '%s\n' "${v%%[-+]*}"
}

# atleast HAVE WANT compares X.Y.Z field by field: as text, 1.10 is less than 1.5.
atleast() {
	awk -v have="$1" -v want="$2" 'BEGIN {
		split(have, h, "."); split(want, w, ".")
		for (i = 1; i <= 3; i++) if (h[i] + 0 != w[i] + 0) exit h[i] + 0 < w[i] + 0
	}'
}

for cli in "$bin" "$(command -v temporal || true)"; do
	if [ -n "$cli" ] && [ -x "$cli" ]; then
		have=$(version "$cli")
		if atleast "$have" "${want#v}"; then
			echo "temporal: $cli ($have)"
			exit 0
		fi
		echo "temporal: $cli is $have, at least ${want#v} is needed" >&2
	fi
done

echo "temporal: building $want into bin/ (once; a few minutes on two cores)"
mkdir -p "$root/bin"
# GOBIN refuses a cross-compiled binary, and the CLI has to run here anyway.
env -u GOOS -u GOARCH GOBIN="$root/bin" "$go" install "github.com/temporalio/cli/cmd/temporal@$want"
