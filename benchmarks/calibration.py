"""What `scaling.py` starts from, measured on this machine: layers, messages and calls.

One process records training steps, layer by layer, with one thread, and what MPI takes to hand a
message to itself, the overhead of both of its ends. Two tell the rest: how long a message goes to
and fro, small and large, how fast small ones follow each other, and what `all_reduce` takes. That
with four is compared with what the model says of it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from itertools import pairwise

SMALL, LARGE, MANY = 1, 1 << 22, 500  # bytes of messages, and how many in a row
REDUCED = {1: 200, 1 << 12: 200, 1 << 20: 40, 1 << 24: 7}  # bytes, and how often


def clocked(call, count):
    """The median of the seconds that calls take, after one that warms up."""
    times = []
    for _ in range(count + 1):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def recorded(lib, net, x, count=9):
    """A step of layers one after the other: medians of what each takes."""
    begun, done = [0.0] * (len(net) + 1), [0.0] * (len(net) + 1)

    def note(times, place):
        return lambda *_: times.__setitem__(place, time.perf_counter())

    for place, layer in enumerate(net):
        layer.register_forward_pre_hook(note(begun, place))
        for parameter in layer.parameters():
            parameter.register_post_accumulate_grad_hook(note(done, place))
    optimizer, rows = lib.optim.Adam(net.parameters()), []
    for _ in range(count + 2):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        begun[-1] = done[-1] = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        optimizer.step()
        last = time.perf_counter() - end
        forward = [after - before for before, after in pairwise(begun)]
        rows.append([*forward, *(own - after for own, after in pairwise(done)), last])
    *times, last = (statistics.median(column) for column in zip(*rows[2:], strict=True))
    sizes = [sum(p.nbytes for p in layer.parameters()) for layer in net]
    halves = {"forward": times[: len(net)], "backward": times[len(net) :]}
    return {**halves, "sizes": sizes, "optimizer": last}


def linear(lib):
    """A network of 5 million parameters, in layers that all have some, and a batch."""
    lib.manual_seed(0)
    sides = pairwise((784, 1536, 1536, 1024, 10))
    layers = [lib.nn.Sequential(lib.nn.Linear(*pair), lib.nn.ReLU()) for pair in sides]
    return lib.nn.Sequential(*layers), lib.randn(256, 784)


def transformer(lib):
    """Another one."""
    layer = partial(lib.nn.TransformerEncoderLayer, 256, 4, 1024, 0.0, batch_first=True)
    return lib.nn.Sequential(*(layer() for _ in range(6))), lib.randn(8, 128, 256)


NETWORKS = {
    "linear layers, batches of 256": linear,
    "a transformer, batches of 8 x 128": transformer,
}


def alone(count):
    """What one process tells."""
    import numpy as np
    from mpi4py import MPI

    import retrograd as lib

    lib.set_num_threads(1)
    (mine, theirs), (a, b) = np.zeros((2, 1), np.uint8), np.ones((2, LARGE // 4), np.float32)

    def handed():
        request = MPI.COMM_SELF.Isend(mine, 0)
        MPI.COMM_SELF.Recv(theirs, 0)
        request.Wait()

    steps = {name: recorded(lib, *made(lib), count) for name, made in NETWORKS.items()}
    added = clocked(lambda: np.add(a, b, out=a), 50) / LARGE
    return {"steps": steps, "add": added, "both": clocked(handed, MANY)}


def one_of_several(lib, dist, many=MANY):
    """What one process of a group tells: of messages, if there are two, and of reductions."""
    import numpy as np

    comm, found = dist.group.WORLD.world.transport.comm, {}

    def exchanged(data, ahead=1):
        if comm.rank == 0:
            for request in [comm.Isend(data, 1) for _ in range(ahead)]:
                request.Wait()
            comm.Recv(data, 1)
        else:
            for _ in range(ahead):
                comm.Recv(data, 0)
            comm.Send(data, 0)

    if comm.size == 2:
        small, large = np.zeros(SMALL, np.uint8), np.zeros(LARGE, np.uint8)
        found["small"] = clocked(lambda: exchanged(small), many) / 2
        found["large"] = clocked(lambda: exchanged(large), 20) / 2
        found["flood"] = clocked(lambda: exchanged(small, many), 20) / many
    for size, count in REDUCED.items():
        tensor = lib.zeros(size, dtype=lib.uint8)
        calls = min(count, many)
        found[str(size)] = clocked(lambda tensor=tensor: dist.all_reduce(tensor), calls)
    return found if comm.rank == 0 else {}


def main():
    """What `told` starts."""
    import retrograd as lib
    from retrograd import distributed as dist

    lib.set_num_threads(1)
    dist.init_process_group()
    os.write(1, f"{json.dumps(one_of_several(lib, dist))}\n".encode())  # at once: ranks share it
    dist.destroy_process_group()


def told(world):
    """What so many processes find."""
    run = ("-m", "retrograd", "run", "-m", "torch.distributed.run", "--standalone")
    command = [sys.executable, *run, f"--nproc_per_node={world}", __file__]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return max(map(json.loads, said.splitlines()), key=len)


def measured(machines_of, count=9):
    """The numbers of the model; what `all_reduce` takes beside what it says is printed."""
    found, two = alone(count), told(2)
    overhead = found["both"] / 2
    inside = [max(two["small"] - 2 * overhead, 0.0), overhead, two["flood"],
              (two["large"] - two["small"]) / (LARGE - SMALL)]  # fmt: skip
    made = {"inside": inside, "call": 0.0, "add": found["add"], "steps": found["steps"]}
    made["call"] = max(two["1"] - machines_of(made).collective("all_reduce", 1, 2)[0], 0.0)
    for p, own in ((2, two), (4, told(4))):
        for size in REDUCED:
            says = machines_of(made).collective("all_reduce", size, p)[0]
            print(f"{p} ranks, {size:>10,} bytes: {own[str(size)] * 1e6:.0f} us, by the model "
                  f"{says * 1e6:.0f}")  # fmt: skip
    return made


if __name__ == "__main__":
    main()
