#!/usr/bin/env python3
"""A sweep of Siding on a Ray cluster: the same bytes as from one process.

    siding_ray.py -o flow.jsonl -- siding sim --figure flow
    siding sim --figure flow --points flow.jsonl          # the report

Everything behind `--` is the command line of a sweep, any command that takes --points and --shard. Each shard is a Ray task that
runs the command and sends a point's line as soon as it is made. This program keeps the lines in OUT.partial, so that neither
the loss of a worker nor its own end loses a point: a shard that is tried again, and a later run, get the points that are there.
When all are there, OUT is written in the order of the sweep.

The command must be found under its name, and the files that it reads under theirs, on every node. Needs Python 3.9 and the
package of requirements.txt.
"""

import argparse
import collections
import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Seconds between looks at the points file of a shard.
POLL_S = 0.1
# Exit codes: those of `siding`.
OK, USAGE, ENVIRONMENT, INTERRUPTED = 0, 2, 4, 130


class Refused(Exception):
    """The command itself says no: another try would end the same way."""


def point_of(line):
    return json.loads(line)["point"]


def die_with_parent():
    """The command ends when its Ray worker is killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def make_shard(command, cwd, name, known, index, n_shards):
    """Runs one shard. Yields who runs it, then lists of new lines, and at last the command's message if it refuses to run."""
    yield {"host": os.uname().nodename, "pid": os.getpid()}
    folder = tempfile.mkdtemp(prefix="siding-shard-")
    try:
        path = os.path.join(folder, "points.jsonl")
        with open(path, "wb") as out:
            out.write(known)
        sent = set(known.splitlines())
        with open(path, "rb") as points, open(os.path.join(folder, "stderr"), "w+b") as stderr:
            points.seek(len(known))
            process = subprocess.Popen(
                [*command, "--points", path, "--shard", f"{index}/{n_shards}"],
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                preexec_fn=die_with_parent,
            )
            try:
                cut = b""
                while True:
                    has_ended = process.poll() is not None
                    *lines, cut = (cut + points.read()).split(b"\n")
                    if lines:
                        sent.update(lines)
                        yield lines
                    if has_ended:
                        break
                    time.sleep(POLL_S)
            finally:
                process.kill()
                process.wait()
            # A file with all points of its shard has been replaced by a sorted one.
            with open(path, "rb") as whole:
                text = whole.read()
            lines = [line for line in text[: text.rfind(b"\n") + 1].splitlines() if line not in sent]
            if lines:
                yield lines
            # 1 is for findings, which are results. Killed processes are tried again.
            if process.returncode not in (0, 1) and process.returncode > 0:
                stderr.seek(0)
                message = stderr.read().decode(errors="replace").strip().replace(path, name)
                yield {"refused": message or f"exit code {process.returncode}"}
            if process.returncode < 0:
                raise RuntimeError(f"the command was ended by signal {-process.returncode}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Points:
    """The header, and the lines of results by point, in OUT.partial as they come."""

    def __init__(self, out):
        self.out, self.partial = out, out + ".partial"
        self.header, self.order, self.lines = None, [], {}
        self.file = open(self.partial, "ab")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"{self.partial}: another process is writing to it") from None
        for path in (self.out, self.partial):
            if os.path.exists(path):
                with open(path, "rb") as file:
                    text = file.read()
                # A last line without an end is one that an interruption has cut.
                for line in text[: text.rfind(b"\n") + 1].splitlines():
                    self.take(line, path)
        self.file.truncate(0)
        self.file.write(self.text())
        self.file.flush()

    def take(self, line, origin):
        """Returns whether the line is new. Results that differ, or are of different sweeps, are an error."""
        if line == self.header:
            return False
        try:
            value = json.loads(line)
            if self.header is None:
                self.order = value["points"]
                self.header = line
                return True
            point = value["point"]
        except (ValueError, KeyError, TypeError):
            raise Refused(f"{origin}: this is not a points file") from None
        if point in self.lines and self.lines[point] != line:
            raise Refused(f"{origin}: the point `{point}` has two different results")
        is_new = point not in self.lines
        self.lines[point] = line
        return is_new

    def add(self, lines, origin):
        """Takes new lines and writes them; returns how many points they are."""
        had_header = self.header is not None
        new = [line for line in lines if self.take(line, origin)]
        self.file.write(b"".join(line + b"\n" for line in new))
        self.file.flush()
        return len(new) - (not had_header and bool(new))

    def missing(self, index, n_shards):
        """Points of a shard that have no result: shards get points in turns."""
        return [point for point in self.order[index - 1 :: n_shards] if point not in self.lines]

    def text(self, index=1, n_shards=1):
        """The file of a shard as it is when sorted."""
        if self.header is None:
            return b""
        lines = [self.lines[point] for point in self.order[index - 1 :: n_shards] if point in self.lines]
        return b"".join(line + b"\n" for line in [self.header, *lines])

    def finish(self):
        """Writes OUT under another name and renames it, so that it is always whole."""
        whole = self.out + ".new"
        with open(whole, "wb") as file:
            file.write(self.text())
            file.flush()
            os.fsync(file.fileno())
        os.rename(whole, self.out)
        os.remove(self.partial)
        self.file.close()


class Progress:
    """Lines on standard error: every event, and how far it is, at most once in `every_s` seconds."""

    def __init__(self, is_quiet, every_s):
        self.is_quiet, self.every_s, self.start, self.shown = is_quiet, every_s, time.monotonic(), 0.0

    def tell(self, text):
        if not self.is_quiet:
            print(text, file=sys.stderr, flush=True)

    def step(self, points, n_running):
        now = time.monotonic()
        if points.order and now - self.shown >= self.every_s:
            self.shown = now
            n, n_all = len(points.lines), len(points.order)
            self.tell(f"{n} of {n_all} points, {n_running} shards run, {now - self.start:.0f} s")


def sweep(ray, args, points, progress):
    """Runs all shards. Each may fail `args.retries` times in a row without a new point."""
    import ray.exceptions

    task = ray.remote(make_shard).options(max_retries=0, num_cpus=args.cpus, num_returns="streaming")
    cluster_cpus = int(ray.cluster_resources().get("CPU", 1))
    n_shards = args.shards or max(1, 4 * (cluster_cpus // args.cpus))
    todo = collections.deque((index, 0) for index in range(1, n_shards + 1))
    n_running_max = max(1, cluster_cpus // args.cpus)
    running, n_made, n_retried = {}, 0, 0
    # The command has taken the points of an earlier run, and so they are its own.
    is_verified = False
    while todo or running:
        while todo and len(running) < n_running_max:
            index, n_failures = todo.popleft()
            if is_verified and not points.missing(index, n_shards):
                continue
            stream = task.remote(args.command, os.getcwd(), args.output, points.text(index, n_shards), index, n_shards)
            running[stream] = (index, n_failures)
        if not running:
            continue
        ready, _ = ray.wait(list(running), num_returns=1, timeout=1)
        progress.step(points, len(running))
        for stream in ready:
            index, n_failures = running[stream]
            name = f"shard {index}/{n_shards}"
            try:
                got = ray.get(next(stream))
                if isinstance(got, dict):
                    if "refused" in got:
                        raise Refused(got["refused"])
                    progress.tell(f"{name} runs on {got['host']}, process {got['pid']}")
                    continue
                n_new = points.add(got, name)
                n_made += n_new
                running[stream] = (index, 0 if n_new else n_failures)
                continue
            except StopIteration:
                del running[stream]
                why, is_verified = None, True
            except ray.exceptions.RayTaskError as error:
                del running[stream]
                why = str(error.cause)
            except ray.exceptions.RayError as error:
                del running[stream]
                why = f"its worker is lost ({type(error).__name__})"
            missing = points.missing(index, n_shards)
            if why is None and (points.header is None or missing):
                why = f"it ended without {len(missing)} of its points"
            if why is not None and (missing or not is_verified):
                if n_failures >= args.retries:
                    raise RuntimeError(f"{name} has failed {n_failures + 1} times, at last: {why}")
                progress.tell(f"{name}: {why}; it is tried again for {len(missing)} points")
                n_retried += 1
                todo.append((index, n_failures + 1))
    return n_made, n_retried


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], usage="%(prog)s -o OUT.jsonl [options] -- COMMAND...")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.jsonl", help="the points file to write")
    parser.add_argument("--address", help="a Ray cluster, or `auto` [default: RAY_ADDRESS, or a cluster on this machine]")
    parser.add_argument("--workers", type=int, help="workers of a cluster on this machine [default: one per core]")
    parser.add_argument("--shards", type=int, help="shards [default: four for each worker]")
    parser.add_argument("--cpus", type=int, default=1, help="cores of a shard, passed on as --jobs [default: 1]")
    parser.add_argument("--retries", type=int, default=3, help="failures of a shard in a row without a new point [default: 3]")
    parser.add_argument("--every", type=float, default=5, metavar="SECONDS", help="time between lines of progress [default: 5]")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:at])
    args.command = words[at + 1 :]
    if not args.command:
        parser.error("the command of the sweep is missing; write it behind `--`")
    for name in ("workers", "shards", "cpus"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            parser.error(f"--{name}: expected 1 or more")
    for own in ("--points", "--shard"):
        if any(word == own or word.startswith(own + "=") for word in args.command):
            parser.error(f"{own} is given by this program")
    if not any(word.startswith(("--jobs", "-j")) for word in args.command):
        args.command += ["--jobs", str(args.cpus)]
    # Tasks run in other folders, so a path to the command has to be whole.
    if os.sep in args.command[0]:
        args.command[0] = os.path.abspath(args.command[0])
    return args


def main():
    args = parse_args()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    progress = Progress(args.quiet, args.every)
    try:
        points = Points(args.output)
        options = {"log_to_driver": False, "logging_level": "ERROR"}
        if args.address or os.environ.get("RAY_ADDRESS"):
            ray.init(address=args.address, **options)
        else:
            ray.init(num_cpus=args.workers, include_dashboard=False, **options)
        n_made, n_retried = sweep(ray, args, points, progress)
        points.finish()
        ray.shutdown()
    except Refused as error:
        print(f"error: {str(error).removeprefix('error: ')}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from there", file=sys.stderr)
        return INTERRUPTED
    except (RuntimeError, OSError, ConnectionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return ENVIRONMENT
    progress.tell(f"{args.output}: {len(points.order)} points, {n_made} made now, {n_retried} shards tried again")
    return OK


if __name__ == "__main__":
    sys.exit(main())
