#!/bin/sh
# Measures a drive under load for `softsense calibrate`: see docs/calibrating-a-drive.md.
#
#     sh measure_under_load.sh DEVICE [FOLDER] [SECONDS]            reads alone, half an hour: nothing is written
#     sh measure_under_load.sh --destroy DEVICE [FOLDER] [SECONDS]  writes, too, some three hours: ALL DATA IS LOST
#
# Reads alone: random reads of 4 KiB at depths from 1 to 256, 200 s each. With --destroy DEVICE is written completely,
# once in order and twice at random, and then a probe of 10,000 requests a second, half of them reads, runs beside
# random writes: as many as the drive takes, then 10 to 90 % of that. FOLDER then has a JSON file of each load.
set -eu

usage() { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
destroy=
if [ "${1:-}" = --destroy ]; then destroy=1; shift; fi
[ $# -ge 1 ] || usage
device=$1 folder=${2:-loads} seconds=${3:-200}
command -v fio > /dev/null || { echo "error: found no fio, expected it to be installed" >&2; exit 2; }
[ -r "$device" ] || { echo "error: $device: cannot read: expected a device or a file that this user may read" >&2; exit 2; }
if [ -n "$destroy" ] && [ ! -w "$device" ]; then
    echo "error: $device: cannot write: expected a device or a file that this user may write, for --destroy" >&2; exit 2
fi
mkdir -p "$folder"

load() { # name, then jobs
    name=$1; shift
    fio --output-format=json+ --output="$folder/$name.json" --filename="$device" --direct=1 --ioengine=libaio --bs=4k \
        --time_based --runtime="$seconds" --randrepeat=0 --norandommap "$@"
    echo "$folder/$name.json"
}

for depth in 1 2 4 8 16 32 64 128 256; do
    load "reads_$depth" --readonly --rw=randread --iodepth="$depth" --name=reads
done
if [ -n "$destroy" ]; then
    once() { fio --name=fill --filename="$device" --direct=1 --ioengine=libaio --randrepeat=0 "$@" > /dev/null; }
    once --rw=write --bs=128k --iodepth=32
    once --rw=randwrite --bs=4k --iodepth=128 --norandommap --loops=2
    probe="--name=probe --rw=randrw --rwmixread=50 --iodepth=64 --rate_iops=5000,5000"
    writers="--name=writers --rw=randwrite --iodepth=64 --numjobs=4"
    # shellcheck disable=SC2086
    load saturated $probe $writers
    total=$(python3 -c "
import json, sys
print(round(sum(job['write']['iops'] for job in json.load(open(sys.argv[1]))['jobs'])))" "$folder/saturated.json")
    for share in 10 20 30 40 50 60 70 80 90; do
        rate=$((total * share / 100 / 4))
        # shellcheck disable=SC2086
        load "writes_$share" $probe $writers --rate_iops="$rate" --rate_process=poisson
    done
fi
echo "softsense calibrate $folder/*.json --capacity $(blockdev --getsize64 "$device" 2> /dev/null || wc -c < "$device")B"
