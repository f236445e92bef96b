"""Runs the exercises of a checkout of p4lang/tutorials; see scripts/tutorials."""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from exercises import EXERCISES, Exercise

# The longest that an exercise takes, in seconds: compiling for several switches, and half a minute of traffic.
TIMEOUT = 300
# `make run` calls sudo, which need not be there: we are root.
SUDO = '#!/bin/sh\nexec env "$@"\n'
# Namespaces of its own: names of interfaces and processes meet nobody else's, and all ends with the first process.
NAMESPACES = ["unshare", "--mount", "--pid", "--net", "--fork", "--mount-proc", "--kill-child"]
SET_UP = 'ip link set lo up; mount -t sysfs sysfs /sys 2>/dev/null; exec "$@"'


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/tutorials")
    parser.add_argument("tutorials", type=Path, help="a checkout of p4lang/tutorials")
    parser.add_argument("exercises", nargs="*", help="only these folders (default: all)")
    parser.add_argument("--skeletons", action="store_true", help="without the solutions: all are to fail")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs of the exercises in this directory")
    return parser.parse_intermixed_args()


def prepare(tutorials: Path, work: Path, exercise: Exercise, with_solution: bool) -> Path:
    """Copies the tutorials, with the solution in the place of the skeleton. Returns the exercise's folder."""
    copy = work / re.sub(r"\W+", "-", exercise.title())
    shutil.copytree(tutorials, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "*.pdf", "*.png"))
    folder = copy / "exercises" / exercise.folder
    for file in (folder / "solution").glob("*"):
        if with_solution and file.is_file():
            shutil.copy(file, folder / exercise.moved.get(file.name, file.name))
    for name, text in exercise.inputs.items():
        (folder / name).write_text(text)
    return folder


def run(exercise: Exercise, folder: Path, path: str) -> str | None:
    """Runs an exercise. Returns what is wrong."""
    make = ["make", "run", *exercise.make]
    command = [exercise.script] if exercise.script else make
    lines = "".join(f"{line}\n" for line in (*exercise.lines, "exit"))
    output = folder / "output.txt"
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONUNBUFFERED": "1",
        "TERM": "dumb",
        # The control sockets of these switches are nobody else's.
        "XDG_RUNTIME_DIR": str(folder.parent.parent),
    }
    (folder / "logs").mkdir(exist_ok=True)
    with output.open("wb") as out:
        process = subprocess.Popen(
            [*NAMESPACES, "sh", "-c", SET_UP, "sh", *command],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            process.communicate(b"" if exercise.script else lines.encode(), timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"did not end in {TIMEOUT} s"
    text = output.read_text(errors="replace")
    if exercise.script:
        # The script itself ends as its last command, which is not the test.
        if not re.search(r"^OK$", text, re.M):
            return "PTF does not say OK"
        return None
    if process.returncode != 0:
        return f"{' '.join(command)} ended with {process.returncode}"
    for seen in exercise.wanted:
        file = folder / seen.file if seen.file else output
        found = file.read_text(errors="replace") if file.exists() else ""
        n = len(re.findall(seen.pattern, found, re.M))
        if n < seen.at_least or (seen.at_most is not None and n > seen.at_most):
            return f"{seen.pattern!r} is {n} times in {seen.file or 'what mininet prints'}"
    return None


def main() -> int:
    args = arguments()
    known = {exercise.folder for exercise in EXERCISES}
    there = {folder.name for folder in (args.tutorials / "exercises").iterdir() if (folder / "Makefile").exists()}
    for folder in sorted(there - known):
        print(f"error: nobody has told how to test the exercise {folder}")
    wanted = [exercise for exercise in EXERCISES if not args.exercises or exercise.folder in args.exercises]
    n_passed = 0
    with tempfile.TemporaryDirectory(prefix="siding-tutorials-") as name:
        work = Path(name)
        shims = work / "shims"
        subprocess.run([os.environ["SIDING"], "shims", str(shims)], check=True, stdout=subprocess.DEVNULL)
        if shutil.which("sudo") is None:
            sudo = shims / "sudo"
            sudo.write_text(SUDO)
            sudo.chmod(0o755)
        path = f"{shims}:{os.environ['PATH']}"
        for exercise in wanted:
            if args.skeletons and not exercise.has_skeleton:
                continue
            begin = time.monotonic()
            folder = prepare(args.tutorials, work, exercise, not args.skeletons)
            fault = run(exercise, folder, path)
            n_passed += fault is None
            seconds = time.monotonic() - begin
            print(f"{'failed' if fault else 'passed'}  {exercise.title()} ({seconds:.0f} s){': ' + fault if fault else ''}")
            sys.stdout.flush()
            if args.keep is not None:
                kept = args.keep / folder.parent.parent.name
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept)
            shutil.rmtree(folder.parent.parent)
    n_total = sum(not args.skeletons or exercise.has_skeleton for exercise in wanted)
    print(f"tutorials: {n_passed} of {n_total}")
    return 0 if n_passed == n_total and there <= known else 1


if __name__ == "__main__":
    sys.exit(main())
