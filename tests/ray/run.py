"""A sweep over Ray, over two shards and in one process: equal bytes, though the command of a shard, a worker, the client itself
and a node are ended in the middle. Called by scripts/ray-test, in the environment that has Ray.

    run.py SIDING WORK
"""

import atexit
import os
import re
import signal
import subprocess
import sys
import time

from ray.cluster_utils import Cluster

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = os.path.join(HERE, "../../clients/ray/siding_ray.py")
# 90 points, which are made in groups of eight.
SWEEP = ["sim", "--cycles", "1..30", "-n", os.environ.get("RAY_TEST_PACKETS", "400000")]
N_POINTS = 90

siding, work = os.path.abspath(sys.argv[1]), sys.argv[2]
os.chdir(work)
start = time.monotonic()


def say(text):
    print(f"{time.monotonic() - start:5.1f} s  {text}", flush=True)


def run(*words):
    subprocess.run([siding, *words], check=True, stdout=subprocess.DEVNULL)


def ray(out, *command):
    """The client on the cluster."""
    words = [sys.executable, CLIENT, "--address", cluster.address, "--shards", "4", "--every", "1", "-o", out, "--", *command]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def n_lines(path):
    """Lines of a file, which may not be there yet."""
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except FileNotFoundError:
        return 0


def read(path):
    with open(path, "rb") as file:
        return file.read()


def child_of(pid):
    """The command that a Ray worker runs; `None` if it runs none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
    except OSError:
        return None
    for child in children:
        try:
            if b"--shard" in read(f"/proc/{child}/cmdline"):
                return int(child)
        except OSError:
            continue
    return None


def node_of(pid):
    """The node whose process began a worker."""
    with open(f"/proc/{pid}/stat") as file:
        parent = int(file.read().rpartition(")")[2].split()[1])
    return next(node for node in nodes if any(info.process.pid == parent for info in node.all_processes["raylet"]))


def worker_of(line):
    """The process that a line of progress names; `None` for other lines."""
    found = re.fullmatch(r"shard \d+/\d+ runs on \S+, process (\d+)", line.strip())
    return int(found.group(1)) if found else None


run(*SWEEP, "--points", "one.jsonl")
for shard in "12":
    run(*SWEEP, "--points", f"{shard}.jsonl", "--shard", f"{shard}/2")
run("merge", "2.jsonl", "1.jsonl", "-o", "two.jsonl")
assert read("two.jsonl") == read("one.jsonl")
say("two shards: the bytes of one process")

# Two nodes with a worker each, and a head without one, all on this machine.
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
atexit.register(cluster.shutdown)
nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
cluster.wait_for_nodes()
say("a cluster of two workers runs")

# The first worker loses its command, the second one is killed itself, each after some points.
client = ray("ray.jsonl", siding, *SWEEP)
log, n_killed = [], 0
for line in client.stderr:
    log.append(line)
    worker = worker_of(line)
    if worker is None or n_killed == 2:
        continue
    n_before = n_lines("ray.jsonl.partial")
    while n_lines("ray.jsonl.partial") < n_before + 4 and client.poll() is None:
        time.sleep(0.02)
    victim = child_of(worker) if n_killed == 0 else worker
    if victim is not None:
        os.kill(victim, signal.SIGKILL)
        n_killed += 1
        say(f"killed {'the command of a worker' if n_killed == 1 else 'a worker'} after {n_lines('ray.jsonl.partial') - 1} points")
text = "".join(log)
assert client.wait() == 0 and n_killed == 2, text
assert "the command was ended by signal 9; it is tried again" in text, text
assert "its worker is lost (" in text, text
assert f"ray.jsonl: {N_POINTS} points, {N_POINTS} made now, 2 shards tried again" in text, text
assert read("ray.jsonl") == read("one.jsonl")
say("Ray, with both: the bytes of one process, no point lost")

# The client is interrupted, and the same command goes on; then a node is lost.
client = ray("again.jsonl", siding, *SWEEP)
while n_lines("again.jsonl.partial") < 12 and client.poll() is None:
    time.sleep(0.02)
client.send_signal(signal.SIGINT)
text = client.communicate()[1]
assert client.returncode == 130, text
n_before = n_lines("again.jsonl.partial") - 1
assert 0 < n_before < N_POINTS, text
say(f"interrupted the client after {n_before} points")
client = ray("again.jsonl", siding, *SWEEP)
text, is_ended = "", False
for line in client.stderr:
    text += line
    worker = worker_of(line)
    if worker is None or is_ended:
        continue
    n_then = n_lines("again.jsonl.partial")
    while n_lines("again.jsonl.partial") == n_then and client.poll() is None:
        time.sleep(0.02)
    # A machine that fails takes its workers with it.
    node = node_of(worker)
    os.kill(worker, signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)
    is_ended = True
    say(f"ended a node after {n_lines('again.jsonl.partial') - 1} points")
client.wait()
assert client.returncode == 0 and f"{N_POINTS} points, {N_POINTS - n_before} made now" in text, text
assert "its worker is lost (" in text, text
assert read("again.jsonl") == read("one.jsonl")
say("Ray, with both: the bytes of one process, no point lost")

client = ray("again.jsonl", siding, "sim", "--cycles", "1..30", "-n", "2000")
text = client.communicate()[1]
assert client.returncode == 2 and "error: again.jsonl: its points are of another sweep" in text, text
say("points of another sweep: refused")

client = ray("bad.jsonl", siding, "sim", "--cycles", "0")
text = client.communicate()[1]
assert client.returncode == 2 and "error: " in text and "tried again" not in text, text
say("a command that is refused: its own message, no second try")
