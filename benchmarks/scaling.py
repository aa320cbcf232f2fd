"""What a training step would take on 2 to 4,096 ranks, replayed under a model of messages.

    python benchmarks/scaling.py               # the tables of docs/scaling.md, by scaling.json
    python benchmarks/scaling.py --calibrate   # measures that anew, with 1, 2 and 4 processes here

NOTE [Model]
1. Links are LogGP's (A. Alexandrov et al., 1995): a message of n bytes takes L + 2 o + (n - 1) G
   seconds, or g if that is more. A reduction adds bytes at a cost of `add` each. A collective
   begins with the call itself and the comparison of what ranks call: `engine/world.py`.
2. A ring passes parts of 1/p on p - 1 times for each of its halves, reduce-scatter and all-gather.
   A tree of ceil(log2 p) levels goes to its root and back. What is hierarchical is a ring in each
   machine, then one across for each rank there, which share the machine's link. The quickest of
   the three counts.
3. A step is recorded as what each layer takes forward and backward, on one rank, and the bytes of
   its parameters. All ranks are alike: nobody waits for a slow one, and links are not crowded.
4. What travels goes on beside the program (`spare`: by processors that have nothing else to do),
   at its cost (`shared`: it waits while its own processor copies, adds and sends), or alone
   (`none`).
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

import calibration

STORED = Path(__file__).with_suffix(".json")
PAGE, HEADING = STORED.parents[1] / "docs" / "scaling.md", "## Tables"
RANKS = (2, 8, 32, 128, 512, 4096)
MB = 1 << 20
AGREEMENT = 16  # bytes that ranks compare before a collective
HALVES = {"all_reduce": (True, False), "reduce_scatter": (True,), "all_gather": (False,)}


class Link(NamedTuple):
    """LogGP's numbers: seconds, and seconds per byte; whether processors copy the bytes."""

    latency: float
    overhead: float
    gap: float
    per_byte: float
    copies: bool = False

    def time(self, size):
        """From the call that sends a message to the end of the one that receives it."""
        passing = self.latency + 2 * self.overhead + max(size - 1, 0) * self.per_byte
        return max(self.gap, passing)


# Assumed, not measured: 25 Gb/s by TCP, and 200 Gb/s by a network that needs no system calls.
NETWORKS = {
    "ethernet": Link(20e-6, 5e-6, 6e-6, 1 / 2.9e9),
    "infiniband": Link(1.2e-6, 0.4e-6, 0.5e-6, 1 / 23e9),
}


class Round(NamedTuple):
    """Messages that ranks send at once, so often one after the other, and bytes added each time."""

    link: Link
    count: int
    size: float
    added: float = 0.0


class Machines(NamedTuple):
    """What joins ranks in a machine and beyond; seconds of a call, and per byte that is added."""

    inside: Link
    between: Link
    call: float
    add: float
    ranks: int = 16  # of a machine

    def seconds(self, rounds):
        """What rounds take, one after the other."""
        return sum(r.count * (r.link.time(r.size) + r.added * self.add) for r in rounds)

    def collective(self, name, size, p):
        """(seconds, those of a rank's own processor) of a collective over p ranks."""
        ways = [way(self, name, size, p) for way in (ring, tree, hierarchical)]
        rounds = tree(self, "all_reduce", AGREEMENT, p) + min(ways, key=self.seconds)
        work = sum(
            r.count * (2 * r.link.overhead + r.added * self.add)
            + r.count * r.link.copies * r.size * r.link.per_byte
            for r in rounds
        )
        return self.call + self.seconds(rounds), self.call + work


def ring(machines, name, size, p, share=1):
    """Parts go round; over several machines, each round waits for those that cross."""
    link = machines.inside if p <= machines.ranks and share == 1 else machines.between
    return [Round(link, p - 1, size / p, adds * size / p / share) for adds in HALVES[name]]


def tree(machines, name, size, p):
    """To rank 0 and back: parts are joined on the way up, or cut on the way down."""
    up, down = [], []
    for level in range(math.ceil(math.log2(p))):
        link = machines.inside if 2**level < machines.ranks else machines.between
        part, adds = size / p * 2**level, name != "all_gather"
        up.append(Round(link, 1, size if adds else part, size * adds))
        down.append(Round(link, 1, part if name == "reduce_scatter" else size))
    return up + down


def hierarchical(machines, name, size, p):
    """A ring in each machine, and rings across, each of which has the part of one rank there."""
    inside = min(p, machines.ranks)
    across = ring(machines, name, size, p // inside, share=inside)
    return ring(machines, name, size, inside) + across


class Step(NamedTuple):
    """What layers take forward and backward, their bytes, and what the optimizer takes."""

    forward: list
    backward: list
    sizes: list
    optimizer: float

    def alone(self):
        """The step on one rank."""
        return sum(self.forward) + sum(self.backward) + self.optimizer

    def divided(self, p):
        """With a p-th of the batch."""
        shares = [[each / p for each in times] for times in (self.forward, self.backward)]
        return self._replace(forward=shares[0], backward=shares[1])


class Lanes:
    """Until when the program of a rank, and what travels beside it, are busy: NOTE [Model], 4."""

    def __init__(self, overlap):
        self.overlap, self.now, self.free = overlap, 0.0, 0.0

    def compute(self, seconds, after=0.0):
        """Let the program compute, once something has come."""
        self.now = max(self.now, after) + seconds

    def start(self, cost):
        """Let something travel, after what does already; when it has come."""
        seconds, work = cost
        self.free = max(self.now, self.free) + seconds
        self.now = {"none": self.free, "shared": self.now + work, "spare": self.now}[self.overlap]
        return self.free


def data_parallel(step, machines, p, overlap, bucket=25 * MB, shards=False):
    """Gradients in buckets, the last first; with `shards`, an optimizer that is cut up (ZeRO)."""
    lanes, held, most = Lanes(overlap), 0, min(MB, bucket)
    lanes.compute(sum(step.forward))
    for layer in reversed(range(len(step.sizes))):
        lanes.compute(step.backward[layer])
        held += step.sizes[layer]
        if held >= most or not layer:
            lanes.start(machines.collective("all_reduce", held, p))
            held, most = 0, bucket
    lanes.compute(step.optimizer / (p if shards else 1), after=lanes.free)
    if shards:
        lanes.compute(machines.collective("all_gather", sum(step.sizes), p)[0])
    return lanes.now


def fully_sharded(step, machines, p, overlap):
    """Layers are gathered while the one before computes, twice; of gradients each keeps a part."""
    lanes, count = Lanes(overlap), len(step.sizes)
    gathers, scatters = (
        [machines.collective(name, size, p) for size in step.sizes]
        for name in ("all_gather", "reduce_scatter")
    )
    times = [*step.forward, *reversed(step.backward)]
    order = [*range(count), *reversed(range(count))]
    coming = lanes.start(gathers[0])
    for place, layer in enumerate(order):
        here = coming
        for following in order[place + 1 : place + 2]:
            coming = lanes.start(gathers[following])
        lanes.compute(times[place], after=here)
        if place >= count:
            lanes.start(scatters[layer])
    lanes.compute(step.optimizer / p, after=lanes.free)
    return lanes.now


MODES = {
    "DDP, no overlap": lambda *given: data_parallel(*given, "none"),
    "DDP, no spare processor": lambda *given: data_parallel(*given, "shared"),
    "DDP": lambda *given: data_parallel(*given, "spare"),
    "DDP, buckets of 4 MB": lambda *given: data_parallel(*given, "spare", 4 * MB),
    "DDP with ZeRO": lambda *given: data_parallel(*given, "spare", shards=True),
    "`fully_shard`, no overlap": lambda *given: fully_sharded(*given, "none"),
    "`fully_shard`": lambda *given: fully_sharded(*given, "spare"),
}


def table(step, machines):
    """Efficiency where each rank has a batch; where one batch for all of them is done quickest."""
    lines = ["| mode | " + " | ".join(f"{p:,}" for p in RANKS) + " | one batch is quickest on |"]
    lines.append("|---" * (len(RANKS) + 2) + "|")
    for name, mode in MODES.items():
        shares = [f"{step.alone() / mode(step, machines, p):.0%}" for p in RANKS]
        times = {2**k: mode(step.divided(2**k), machines, 2**k) for k in range(1, 13)}
        best = min(times, key=times.get)
        gain = f"{step.alone() / times[best]:.3g} times as fast"
        lines.append(f"| {name} | {' | '.join(shares)} | {best:,}: {gain} |")
    return "\n".join(lines)


def machines_of(stored, network="ethernet"):
    """Machines like this one, joined by a network."""
    inside = Link(*stored["inside"], copies=True)
    return Machines(inside, NETWORKS[network], stored["call"], stored["add"])


def tables():
    """Those of all recorded steps, for each network."""
    stored, lines = json.loads(STORED.read_text()), []
    for name, recorded in stored["steps"].items():
        step = Step(**recorded)
        size, alone = sum(step.sizes) / MB, step.alone() * 1e3
        for network in NETWORKS:
            lines.append(f"### {name.capitalize()}, over {network}\n")
            lines.append(f"{size:.0f} MB of parameters; on one rank {alone:.0f} ms a step.\n")
            lines.append(table(step, machines_of(stored, network)) + "\n")
    return "\n".join(lines)


def main(calibrate=False):
    """Write the tables into the page, and print them."""
    if calibrate:
        STORED.write_text(json.dumps(calibration.measured(machines_of), indent=1) + "\n")
    text, heading, _ = PAGE.read_text().partition(HEADING)
    PAGE.write_text(f"{text}{heading}\n\n{tables()}")
    print(tables())


if __name__ == "__main__":
    main(sys.argv[1:] == ["--calibrate"])
