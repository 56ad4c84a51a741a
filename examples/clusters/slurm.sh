#!/bin/bash
# A campaign in job arrays of Slurm: shards, merged, shards again, and the result.
#
#   PARTS=64 PASSES=2 bash slurm.sh flash.fer softsense fer flash-8/9 --relative-error 0.05
#
# The first argument is the store, on a file system that all nodes see; the rest is a command that takes --store. Options
# of sbatch for the shards are in SBATCH, such as SBATCH="--time=4:00:00 --cpus-per-task=8". Each pass is an array of
# PARTS jobs and a merge. The first shards count what they foresee, the next ones what that left open; two passes are
# enough for most campaigns of one step, a decode table needs about six. Shards that are killed, requeued or lost make
# no difference but time: the last job measures what is missing, and its output is the result.
set -euo pipefail

store=$1
shift
parts=${PARTS:-16} passes=${PASSES:-2}
command=$(printf '%q ' "$@")
of_shards="${store%.*}-*-of-$parts.${store##*.}"
after=()

submit() { sbatch --parsable "${after[@]}" "$@"; }

for ((pass = 1; pass <= passes; pass++)); do
    # ${SBATCH} is several words.
    # shellcheck disable=SC2086
    shards=$(submit --array="1-$parts" --requeue --open-mode=append ${SBATCH:-} --job-name="shards-$pass" \
        --wrap="$command --store '$store' --shard \$SLURM_ARRAY_TASK_ID/$parts --workers \${SLURM_CPUS_PER_TASK:-1} --no-progress")
    # However shards end: a merge takes what there is, and says what is missing.
    after=(--dependency="afterany:$shards")
    merge=$(submit --job-name="merge-$pass" --wrap="softsense merge '$store' $of_shards --no-progress")
    after=(--dependency="afterany:$merge")
done
result=$(submit --job-name=result --output="${store%.*}.txt" --wrap="$command --store '$store' --no-progress")
echo "submitted; job $result writes ${store%.*}.txt"
