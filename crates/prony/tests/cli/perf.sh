#!/bin/sh
# Stands in for perf: records when it was started and ended, and prints samples between, one each millisecond. Of every
# second recording one sample in two is in a function that the first has not.
case "$1" in
record)
    while [ $# -gt 0 ]; do
        case "$1" in
        --output) file=$2 ;;
        --pid) pids=$2 ;;
        esac
        shift
    done
    cut -d' ' -f1 /proc/uptime >"$file"
    [ -n "$pids" ] || exit 0
    echo "$pids" >>"$FAKE_PERF/recorded"
    grep -c . "$FAKE_PERF/recorded" >"$file.number"
    trap 'cut -d" " -f1 /proc/uptime >>"$file"; exit 0' INT
    while :; do sleep 0.01; done
    ;;
script)
    while [ $# -gt 0 ]; do
        [ "$1" != --input ] || file=$2
        shift
    done
    [ -z "$FAKE_PERF_SAYS" ] || { echo "$FAKE_PERF_SAYS"; exit 0; }
    awk -v number="$(cat "$file.number")" '
        NR == 1 { begun = $1 }
        NR == 2 {
            for (t = begun; t < $1; t += 0.001) {
                printf "%.9f: 1000000 cpu-clock: \n", t
                if (number == 2 && i++ % 2) print "\t12 burn_cpu (/srv/app)"
                print "\t13 serve (/srv/app)\n\t14 main (/srv/app)\n"
            }
        }' "$file"
    ;;
esac
