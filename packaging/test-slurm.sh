#!/usr/bin/env bash
# Runs rarefy.sbatch as it is, with a stand-in for srun that starts the ranks as processes of this host, and compares with one process.
#
#     packaging/test-slurm.sh target/release/rarefy
#
# The ranks are connected as GPUs are and need a driver and NCCL: those of tests/suite, in C, which need no GPU. The flow is computed on the CPU.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# = 1 ] || { echo "usage: test-slurm.sh PROGRAM"; exit 2; }
RAREFY=$(realpath "$1")
export RAREFY
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "error: $*"
    cat "$folder"/*.log 2> /dev/null || true
    exit 1
}

# The libraries.
mkdir "$folder/lib" "$folder/bin"
for library in libcuda.so:fake_driver.c libnccl.so.2:fake_nccl.c; do
    cc -O1 -w -shared -fPIC -pthread -o "$folder/lib/${library%:*}" "$here/../tests/suite/${library#*:}" -ldl
done

# srun: variables of a step with a rank on each of RANKS hosts, which are addresses of this one.
cat > "$folder/bin/srun" <<'SRUN'
#!/usr/bin/env bash
set -uo pipefail
echo $$ > "$SRUN_PID"
[ "$1" = --kill-on-bad-exit=1 ] || { echo "srun: not known here: $1"; exit 2; }
shift
export SLURM_STEP_NUM_TASKS=$RANKS SLURM_LOCALID=0 SLURM_STEP_TASKS_PER_NODE="1(x$RANKS)" SLURM_STEP_NODELIST="127.0.0.[1-$RANKS]"
ranks=()
for ((rank = 0; rank < RANKS; rank++)); do
    SLURM_PROCID=$rank "$@" &
    ranks+=($!)
done
# scancel and the end of the time reach the ranks, as in Slurm.
trap 'kill -TERM "${ranks[@]}" 2> /dev/null' TERM
code=0
for ((ended = 0; ended < RANKS; )); do
    wait -n -p process "${ranks[@]}"
    status=$?
    # A wait that a signal has ended is taken up again.
    [ -n "${process:-}" ] || continue
    ended=$((ended + 1))
    left=()
    for rank in "${ranks[@]}"; do
        [ "$rank" = "$process" ] || left+=("$rank")
    done
    ranks=("${left[@]}")
    if [ $status != 0 ] && [ $code = 0 ]; then
        code=$status
    fi
done
exit $code
SRUN
chmod +x "$folder/bin/srun"

# A job: number, ranks, arguments.
job() {
    local number=$1 ranks=$2
    shift 2
    env -u RAREFY_SECRET -u RAREFY_NCCL -u RAREFY_DEVICE -u CUDA_VISIBLE_DEVICES \
        PATH="$folder/bin:$PATH" LD_LIBRARY_PATH="$folder/lib" RAREFY_TRANSPORT=nccl RANKS="$ranks" SLURM_JOB_ID="$number" RUN="$folder/run" SRUN_PID="$folder/srun.pid" \
        bash "$here/rarefy.sbatch" "$@"
}

same() {
    local file count=0
    for file in "$folder"/alone/*.npy "$folder"/alone/*.csv; do
        cmp -s "$file" "$folder/run/${file##*/}" || fail "${file##*/} differs from that of one process"
        count=$((count + 1))
    done
    [ $count -gt 5 ] || fail "$count files"
}

cd "$folder"
flow=(cavity --kn 0.5 --cells 16 --velocities 8 --reduced --backend cpu --quiet)
"$RAREFY" "${flow[@]}" --steps 400 --out alone

echo "== two ranks have the bits of one process"
job $$ 2 "${flow[@]}" --steps 400 > two.log 2>&1 || fail "the job failed"
same
grep -q '"launcher": "srun"' run/run.json || fail "run.json does not name srun"
rm -r run

echo "== the same line goes on from a checkpoint, with more ranks"
job $$ 2 "${flow[@]}" --steps 200 --checkpoint-every 100 > begun.log 2>&1 || fail "the job failed"
job $$ 3 "${flow[@]}" --steps 400 > resumed.log 2>&1 || fail "the resumed job failed"
same
rm -r run

echo "== at the signal before its end a job leaves a checkpoint"
job $$ 2 "${flow[@]}" --steps 100000000 --checkpoint-every 100 > stopped.log 2>&1 &
for ((k = 0; k < 600; k++)); do
    [ -e run/checkpoint.rarefy ] && break
    sleep 0.1
done
kill -TERM "$(cat srun.pid)"
wait $! && fail "a job that was stopped ended with success"
grep -q 'checkpoint' stopped.log || fail "no line names the checkpoint"
[ -e run/checkpoint.rarefy ] || fail "no checkpoint"

echo "== a wrong argument ends the job with the code of rarefy"
code=0
job $$ 2 cavity --cels 8 > refused.log 2>&1 || code=$?
[ $code = 2 ] || fail "exit code $code"
echo "== rarefy.sbatch: passed"
