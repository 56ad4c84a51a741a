#!/bin/sh
# Measures the read latencies of a drive for `softsense fit`, without writing to it: see docs/fitting-a-drive.md.
#
#     sh measure_drive.sh DEVICE [FOLDER] [READ_BYTES] [SECONDS]
#
# DEVICE, such as /dev/nvme0n1, is opened read-only, and fio is told so once more. Default: 16 KiB, five rounds of 300 s,
# one read outstanding, and one of 60 s with 16.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: measure_drive.sh DEVICE [FOLDER] [READ_BYTES] [SECONDS]" >&2
    exit 2
fi
device=$1 folder=${2:-drive} bytes=${3:-16384} seconds=${4:-300}
command -v fio > /dev/null || { echo "error: found no fio, expected it to be installed" >&2; exit 2; }
[ -r "$device" ] || { echo "error: $device: cannot read: expected a device or a file that this user may read" >&2; exit 2; }
mkdir -p "$folder"

measure() { # name, depth, seconds
    fio --name="$1" --filename="$device" --readonly --rw=randread --bs="$bytes" --direct=1 --ioengine=libaio \
        --iodepth="$2" --time_based --runtime="$3" --randrepeat=0 --norandommap \
        --write_lat_log="$folder/$1" --log_avg_msec=0 --output-format=json+ --output="$folder/$1.json"
}

for round in 1 2 3 4 5; do
    measure "round_$round" 1 "$seconds"
    # `_lat` is from submission to completion, which is what a request waits for.
    mv "$folder/round_${round}_lat.1.log" "$folder/lat_$round.log"
done
measure deep 16 60
mv "$folder/deep_lat.1.log" "$folder/deep.log"
echo "softsense fit $folder/lat_*.log --deep-log $folder/deep.json"
