#!/usr/bin/env bash
# Counts what one durable step costs the disk: fsyncs and bytes written to the database files, over a run of 1,000
# sequential tasks at synchronous=FULL. Counts do not depend on how busy the machine is. Needs strace, on Linux.
set -euo pipefail
cd "$(dirname "$0")/../.."
tasks=${1:-1000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v strace >/dev/null || { echo "strace is not installed" >&2; exit 1; }
go build -o "$work/bench" ./internal/bench
strace -f -y -e trace=write,pwrite64,pwritev,fsync,fdatasync -o "$work/trace" \
	"$work/bench" -child long -dir "$work" -tasks "$tasks" >/dev/null
awk -v tasks="$tasks" '
	/\.db(-wal|-shm)?>/ && /(write|pwrite64|pwritev)\(/ && / = [0-9]+$/ { bytes += $NF; writes++ }
	/\.db(-wal|-shm)?>/ && /(fsync|fdatasync)\(/ { syncs++ }
	END {
		printf "%d tasks: %.2f fsyncs (at most 1.1), %.1f KB in %.1f writes (at most 16 KB) a step\n", \
			tasks, syncs / tasks, bytes / tasks / 1024, writes / tasks
	}' "$work/trace"
