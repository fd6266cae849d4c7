"""A sweep as an array job of Slurm: the batch script that is given, with the arguments of each element written into it."""
import getpass
import json
import os
import re
import shlex
import subprocess

from study import grid
from study.common import Failure, publish, text_of

HEADER = re.compile(r"(?:[ \t]*(?:#.*)?\n)*")  # what begins a script: comments, among them the options of sbatch


def arguments(args, row):
    words = [args.config]
    for assignment in args.set:
        words += ["--set", assignment]
    return [*words, *grid.words_of(row["setting"]), "--set",
            f"log.dir={json.dumps(str(row['folder']), ensure_ascii=False)}"]


def script_of(args, rows, text):
    """That of one job, which takes its arguments from the number of the element."""
    lines = ["# Of launch/sweep: element N of the array trains setting N.", "case ${SLURM_ARRAY_TASK_ID-} in"]
    for i, row in enumerate(rows, 1):
        lines.append(f"{i}) log={shlex.quote(str(row['folder'] / 'output.txt'))}; set -- {shlex.join(arguments(args, row))} ;;")
    lines += ['*) echo "no element of an array: launch/sweep submits this script" >&2; exit 2 ;;', "esac", 'exec >>"$log" 2>&1', ""]
    header = HEADER.match(text).end()
    return text[:header] + "\n".join(lines) + text[header:]


def output_of(command, what, **variables):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              env={**os.environ, **variables})
    except OSError as error:
        raise Failure(f"{command[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failure(f"{what}: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout


def is_queued(job):
    """Whether an element of that array waits or runs."""
    if not job:
        return False
    listed = output_of(["squeue", "-h", "-u", getpass.getuser(), "-o", "%F"], "squeue does not say what is in the queue")
    return job in listed.split()


def submit(args, rows):
    """Writes and submits an array of these rows; returns the number of the job."""
    try:
        text = text_of(args.slurm)
    except OSError as error:
        raise Failure(f"--slurm {args.slurm} cannot be read: {error.strerror}", 2) from None
    script, logs = args.out / "array.sbatch", args.out / "slurm"
    logs.mkdir(parents=True, exist_ok=True)
    for row in rows:
        row["folder"].mkdir(parents=True, exist_ok=True)
        if row["state"] == "failed":
            (row["folder"] / "output.txt").unlink(missing_ok=True)
            row.update(state="waiting", reason=None)
    publish(script, script_of(args, rows, text))
    at_once = f"%{args.at_once}" if args.at_once else ""
    command = ["sbatch", "--parsable", f"--array=1-{len(rows)}{at_once}", f"--job-name=sweep-{args.stem}",
               f"--output={logs}/%A_%a.log", f"--ntasks-per-node={args.ranks}", f"--gpus-per-node={args.ranks}",
               *args.sbatch, str(script)]
    found = re.match(r"\d+", output_of(command, "sbatch does not take the array", GNNTRAIN_BIN=args.build))
    if not found:
        raise Failure("sbatch did not say the number of the job")
    return found[0]
