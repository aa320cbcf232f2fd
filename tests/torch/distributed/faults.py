"""Programs of which one rank does not do its part.

    python -m tests.torch.distributed.faults [COUNT=200] [SEED=0] [ONLY=kill,skip,...]

draws as many programs of two or three ranks. One rank skips a call, calls something else, passes
another shape, dtype or source, fails, is interrupted, killed, late, leaves, or ends without
goodbye. What is wrong is printed: a rank that hangs, a wrong value, an error that does not name the
rank, a process that is left.

NOTE [Faults]
1. A program is a list of calls, each in the group of all or in one of two ranks, and unlike the one
   before it there: a rank that skips one of several equal calls does what the others do. The last
   is a barrier of all. What each gives is compared with NumPy.
2. Ranks are forked from one process, which has loaded the package but not MPI.
3. Who is in the group of the faulty call names the rank. Others wait for these, and name someone.
"""

from __future__ import annotations

import functools
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import ml_dtypes
import numpy as np

from retrograd import distributed as dist
from retrograd.engine.tensor import new_tensor
from retrograd.torch.distributed.engine.connections import reserved

TIMEOUT = 4.0  # seconds that ranks wait for each other
STARTING = 20.0  # seconds that they may take to start
SLACK = 8.0  # seconds more that a busy machine may take
DTYPES = ["float32", "float64", "int64", "complex64", "bool", "bfloat16"]
SHAPES = [(), (3,), (2, 3), (0,), (70000,)]
ROOTED = {"broadcast", "reduce", "gather", "scatter", "broadcast_object_list"}
REDUCED = {"all_reduce", "reduce", "reduce_scatter"}
BARE = {"barrier", "all_gather_object", "broadcast_object_list"}
CALLS = sorted(ROOTED | REDUCED | BARE | {"all_gather", "all_to_all"})
JOINED = {"SUM": np.add, "MAX": np.maximum}
UNKNOWN = ("MAX", "complex64")
LENGTH = 8  # calls of a program
KEYS = ["shape", "dtype", "root", "op"]
OTHERS = ["call", *KEYS]
ENDS = ["raise", "interrupt", "kill", "kill at any time", "exit", "leave", "late"]
ALL = [*OTHERS, "skip", *ENDS]


# -- drawing ---------------------------------------------------------------------------------------


def drawn(luck, members):
    """A call: what, from or to whom, of what, and whether beside the program."""
    found = {"what": luck.choice(CALLS), "members": members, "beside": luck.random() < 0.3}
    if found["what"] in ROOTED:
        found["root"] = luck.choice(members)
    if found["what"] not in BARE:
        found |= {"dtype": luck.choice(DTYPES), "shape": luck.choice(SHAPES)}
    if found["what"] in REDUCED:
        found["op"] = "SUM" if found["dtype"] == "complex64" else luck.choice(["SUM", "MAX"])
    return found


def seen(call):
    """What ranks compare of a call."""
    return {**call, "beside": None}


def program(seed, only=ALL):
    """The number of ranks, their calls, and of the fault what it is, whose, where and how."""
    luck = random.Random(seed)
    everyone = [*range(luck.choice([2, 3]))]
    calls = []
    while len(calls) < LENGTH:
        call = drawn(luck, sorted(luck.sample(everyone, luck.choice([2, len(everyone)]))))
        before = [other for other in calls if other["members"] == call["members"]]
        if not before or seen(before[-1]) != seen(call):
            calls.append(call)
    if (calls[-1]["what"], calls[-1]["members"]) != ("barrier", everyone):
        calls.append({"what": "barrier", "members": everyone, "beside": False})
    kind = luck.choice(only)
    known = [{**call, "op": None} if call.get("dtype") == UNKNOWN[1] else call for call in calls]
    places = [n for n, call in enumerate(known) if kind not in KEYS or call.get(kind) is not None]
    if not places:
        return program(seed + 0.5, only)
    place = luck.choice(places)
    call, how = calls[place], luck.uniform(0, 1.2)
    while kind in OTHERS and not isinstance(how, dict):
        other = drawn(luck, call["members"])
        mixed = other if kind == "call" else {**call, kind: other.get(kind, call[kind])}
        if seen(mixed) != seen(call) and (mixed.get("op"), mixed.get("dtype")) != UNKNOWN:
            how = mixed
    return len(everyone), calls, (kind, luck.choice(call["members"]), place, how)


# -- a rank ----------------------------------------------------------------------------------------


def given(rank, number, call):
    """What a rank has for a call."""
    dtype = np.dtype(getattr(ml_dtypes, call["dtype"], call["dtype"]))
    values = (np.arange(np.prod(call["shape"], dtype=int)) + 7 * rank + 3 * number) % 5
    return values.astype(dtype).reshape(call["shape"])


def tensor(array):
    return new_tensor(np.array(array))


def begun(call, group, rank, number):
    """The work of a call, what it fills, and what should be there."""
    members, what, root = call["members"], call["what"], call.get("root")
    later = {"group": group, "async_op": call["beside"]}
    if what == "barrier":
        return dist.barrier(**later), [], []
    if what == "all_gather_object":
        found = [None] * len(members)
        dist.all_gather_object(found, (rank, number), group=group)
        return None, found, [(member, number) for member in members]
    if what == "broadcast_object_list":
        found = [(rank, number)]
        dist.broadcast_object_list(found, root, group=group)
        return None, found, [(root, number)]
    data = [given(member, number, call) for member in members]
    mine = given(rank, number, call)
    own, lots = tensor(mine), [tensor(np.zeros_like(array)) for array in data]
    if what == "broadcast":
        return dist.broadcast(own, root, **later), [own], [given(root, number, call)]
    if what == "all_gather":
        return dist.all_gather(lots, own, **later), lots, data
    if what == "all_to_all":
        return dist.all_to_all(lots, [own] * len(members), **later), lots, data
    if what == "gather":
        places = lots if rank == root else []
        return dist.gather(own, places or None, root, **later), places, data[: len(places)]
    if what == "scatter":
        parts = [*map(tensor, data)] if rank == root else None
        return dist.scatter(own, parts, root, **later), [own], [mine]
    op, total = dist.ReduceOp[call["op"]], functools.reduce(JOINED[call["op"]], data)
    if what == "all_reduce":
        return dist.all_reduce(own, op, **later), [own], [total]
    if what == "reduce":
        return dist.reduce(own, root, op, **later), [own], [total if rank == root else mine]
    return dist.reduce_scatter(lots[0], [own] * len(members), op, **later), lots[:1], [total]


def same(found, expected):
    if isinstance(found, tuple):
        return found == expected
    return found.numpy().tobytes() == np.asarray(expected).tobytes()


def say(*words):
    """A line for who looks on: what, when, and more."""
    line = json.dumps([words[0], time.monotonic(), *words[1:]])
    os.write(1, f"{line}\n".encode())  # at once, whichever thread it is


def end(kind):
    """Do not go on, or late."""
    if kind == "raise":
        raise ValueError("a fault")
    if kind == "interrupt":
        signal.raise_signal(signal.SIGINT)
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "exit":
        os._exit(0)
    if kind == "leave":
        sys.exit(0)
    if kind == "late":
        time.sleep(2 * TIMEOUT)


def kill_later(seconds):
    def kill():
        say("fault")
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Timer(seconds, kill).start()


def play(rank, size, calls, fault):
    """Be a rank of the program."""
    kind, faulty, place, how = fault
    if rank == faulty and kind == "kill at any time":
        kill_later(how)
    dist.groups.STARTING = STARTING
    try:
        dist.init_process_group(timeout=timedelta(seconds=TIMEOUT))
        groups = {tuple(call["members"]) for call in calls} - {tuple(range(size))}
        wait = timedelta(seconds=TIMEOUT)
        groups = {members: dist.new_group([*members], wait) for members in sorted(groups)}
        say("begins")
        pending = []
        for number, call in enumerate(calls):
            if number == len(calls) - 1:
                say("last")
            if rank == faulty and number == place and kind != "kill at any time":
                say("fault")
                end(kind)
                if kind == "skip":
                    continue
            if rank in call["members"]:
                group = groups.get(tuple(call["members"]))
                wrong = kind in OTHERS and rank == faulty and number == place
                pending.append((number, *begun(how if wrong else call, group, rank, number)))
            if kind == "kill at any time":
                time.sleep(0.05)
            if not call["beside"] or number == len(calls) - 1:
                for done, work, found, expected in pending:
                    if work is not None:
                        work.wait()
                    if not all(map(same, found, expected)):
                        say("wrong", done)
                pending.clear()
    except RuntimeError as error:
        say("error", str(error))
        raise
    say("ends")


# -- looking on ------------------------------------------------------------------------------------


def forked(rank, folder, port, size):
    """The process of a rank; 0 in that process, which then has its variables and files."""
    process = os.fork()
    if not process:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(
                os.open(folder / f"{name}{rank}", os.O_CREAT | os.O_WRONLY | os.O_APPEND), number
            )
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
        os.environ |= {"RANK": f"{rank}", "WORLD_SIZE": f"{size}"}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": f"{port}"}
    return process


def waited(processes):
    """How processes end; those that hang are killed."""
    until, found = time.monotonic() + STARTING + 3 * (TIMEOUT + SLACK), {}
    while len(found) < len(processes):
        for rank, process in enumerate(processes):
            if rank not in found and (ended := os.waitpid(process, os.WNOHANG))[0]:
                found[rank] = os.waitstatus_to_exitcode(ended[1])
            elif rank not in found and time.monotonic() > until:
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)
    return [found[rank] for rank in sorted(found)]


def left(port):
    """The processes that have not ended of those that were at an address."""
    until, mark = time.monotonic() + SLACK, f"MASTER_PORT={port}\0".encode()
    while True:
        found = []
        for place in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                found += [place.parent.name] if mark in place.read_bytes() else []
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def complaints(drawn_program, statuses, told):
    """What is wrong with how the ranks of a program ended."""
    size, calls, (kind, faulty, place, _) = drawn_program
    near = calls[place]["members"] if kind != "kill at any time" else [*range(size)]
    when = [line[1] for line in told[faulty] if line[0] == "fault"]
    last = "last" in [line[0] for line in told[faulty]] and kind == "kill at any time"
    for rank, (status, lines) in enumerate(zip(statuses, told, strict=True)):
        kinds = [line[0] for line in lines]
        if "wrong" in kinds:
            yield f"rank {rank} has a wrong value: {lines}"
        if rank == faulty and kind in {*ENDS, "skip"}:
            expected = {"kill": -9, "kill at any time": -9, "raise": 1, "interrupt": -2}.get(kind)
            if expected is not None and status != expected and not (last and status == 0):
                yield f"rank {rank} ended with {status}"
        elif "ends" in kinds and (last or rank not in near):  # the fault came after its part
            if status:
                yield f"rank {rank} ended with {status} without an error"
        elif "error" not in kinds or status != 1:
            yield f"rank {rank} ended with {status} without an error"
        else:
            _, at, text = lines[kinds.index("error")]
            late = TIMEOUT * (kind in {"skip", "late"}) + SLACK
            late += STARTING * ("begins" not in kinds)
            if not when:
                yield f"rank {rank} had its error before the fault: {text}"
            elif at > when[0] + late:
                yield f"rank {rank} had its error {at - when[0]:.1f} s after the fault: {text}"
            named = [int(number) for number in re.findall(r"ranks? \[?(\d)", text)]
            if faulty not in named and (rank in near or not named):
                yield f"rank {rank} does not name rank {faulty}: {text}"


def main(COUNT=200, SEED=0, ONLY=None):
    """Run and report; in a process that is to be a rank, what that does."""
    bad, kinds = 0, Counter()
    for seed in range(int(SEED), int(SEED) + int(COUNT)):
        made = program(seed, ONLY.split(",") if ONLY else ALL)
        folder, processes = Path(tempfile.mkdtemp()), []
        with reserved("127.0.0.1") as port:
            for rank in range(made[0]):
                processes.append(forked(rank, folder, port, made[0]))
                if not processes[-1]:
                    return functools.partial(play, rank, *made)
            statuses = waited(processes)
        told = [
            [*map(json.loads, (folder / f"out{rank}").read_text().splitlines())]
            for rank in range(made[0])
        ]
        found = [*complaints(made, statuses, told)]
        found += [f"processes {names} are left" for names in [left(port)] if names]
        kinds[made[2][0]] += 1
        if found:
            bad += 1
            errors = [(folder / f"err{rank}").read_text()[-3000:] for rank in range(made[0])]
            lines = [f"-- program {seed}: {made}", *found, *map(str, told), *errors]
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
        shutil.rmtree(folder)
    sys.stdout.write(f"{sum(kinds.values())} faults ({dict(kinds)}), {bad} not as they should be\n")
    return bad


if __name__ == "__main__":
    found = main(**dict(argument.split("=") for argument in sys.argv[1:]))
    if callable(found):
        found()
    else:
        sys.exit(bool(found))
