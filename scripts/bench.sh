#!/bin/sh
# Runs the benchmarks of the given packages and prints the median of every figure.
# On a shared machine one run says little: each benchmark runs COUNT times, on one
# processor, and all of them in one go, so that figures may be compared.
#
# sh scripts/bench.sh ./router/... ./activities/...
set -eu

out=$(mktemp)
trap 'rm -f "$out"' EXIT

if ! "${GO:-go}" test -run '^$' -bench "${BENCH:-.}" -cpu 1 -p 1 -count "${COUNT:-5}" \
	-benchtime "${BENCHTIME:-300ms}" -timeout 60m "$@" >"$out" 2>&1; then
	cat "$out" >&2
	exit 1
fi

awk '
/^pkg: / { pkg = $2 }
/^Benchmark/ && NF > 3 {
	name = pkg " " $1
	if (!(name in runs)) names[++total] = name
	runs[name]++
	for (i = 3; i < NF; i += 2) {
		if (runs[name] == 1) units[name] = units[name] " " $(i + 1)
		value[name, $(i + 1), runs[name]] = $i
	}
}
END {
	for (n = 1; n <= total; n++) {
		name = names[n]
		split(name, part, " ")
		if (part[1] != shown) { shown = part[1]; print shown }
		print "  " part[2]
		many = split(units[name], unit, " ")
		for (u = 1; u <= many; u++) {
			count = 0
			for (r = 1; r <= runs[name]; r++) if ((name, unit[u], r) in value) {
				v = value[name, unit[u], r] + 0
				for (k = count++; k > 0 && sorted[k] > v; k--) sorted[k + 1] = sorted[k]
				sorted[k + 1] = v
			}
			printf "    %14.10g %s\n", sorted[int((count + 1) / 2)], unit[u]
		}
	}
}' "$out"
