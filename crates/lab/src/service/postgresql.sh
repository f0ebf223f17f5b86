# A cluster of its own on {port}, in {run}: database prony of user prony, who needs no password.
set -eu
unset PGDATA PGOPTIONS PGSERVICE
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
PATH="${bin:+$bin:}$PATH"
for program in initdb postgres psql; do
  command -v "$program" >/dev/null || { echo "PostgreSQL's $program is not here: apt-get install postgresql" >&2; exit 1; }
done
data={run}/data
mkdir -m 700 "$data"
as=
if [ "$(id -u)" = 0 ]; then # as whom it refuses to run
  as="setpriv --reuid=postgres --regid=postgres --clear-groups"
  chown postgres:postgres "$data"
fi
folder=$PWD
cd "$data"
# C: the same order of texts on every machine. What a machine's crash would lose is nobody's.
$as initdb --pgdata="$data" --username=prony --auth=trust --encoding=UTF8 --locale=C --no-sync >/dev/null
$as postgres -D "$data" -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
  -c log_min_messages=fatal SETTINGS &
server=$!
ask() { psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p {port} -U prony "$@"; }
until grep -q ^ready postmaster.pid 2>/dev/null; do
  kill -0 "$server" 2>/dev/null || { wait "$server"; exit 1; }
  sleep 0.05
done
ask -d postgres -c 'CREATE DATABASE prony'
SEED
: >{run}/seeded
wait "$server"
