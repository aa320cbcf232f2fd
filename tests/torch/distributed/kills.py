"""A training run whose ranks are killed again and again, and which goes on from its checkpoints.

    python -m tests.torch.distributed.kills [COUNT=50] [SEED=0]

starts it by the launcher and kills ranks at random moments: while they start and meet, in a step,
while a checkpoint is written or read. It fails where a step was lost that a checkpoint had, where
the launcher named another rank, or where the end has not the bits of a run that nobody disturbs.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from retrograd.distributed import checkpoint
from retrograd.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from retrograd.nn.parallel import DistributedDataParallel

import retrograd as rg
from retrograd import distributed as dist
from retrograd import nn
from retrograd.utils.data import DistributedSampler

EVERY = 5  # steps from one checkpoint to the next
APART = 12  # steps from one kill to the next, at most
ROOT = Path(__file__).parents[3]


def train(folder, steps):
    """Train in the group of all, on from the checkpoint in the folder; write there what is done."""
    rank, folder = dist.get_rank(), Path(folder)
    start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    x = rg.linspace(-1.0, 1.0, 48).reshape(24, 2)
    sampler = DistributedSampler(x, seed=3)
    rg.manual_seed(rank)
    net = nn.Sequential(
        nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(), nn.Linear(8, 1)
    )
    net = DistributedDataParallel(net)
    opt = rg.optim.AdamW(net.parameters(), lr=0.01)

    def state(step):
        model, optimizer = get_state_dict(net, opt)
        return {
            "model": model,
            "optimizer": optimizer,
            "step": step,
            f"random {rank}": rg.get_rng_state(),
        }

    first, place = 0, folder / "checkpoint"
    if (place / ".metadata").exists():
        found = state(0)
        checkpoint.load(found, checkpoint_id=place)
        model, optimizer = found["model"], found["optimizer"]
        set_state_dict(net, opt, model_state_dict=model, optim_state_dict=optimizer)
        rg.set_rng_state(found[f"random {rank}"])
        first = found["step"]
    with open(folder / f"log{rank}", "a", 1) as log:
        log.write(f"{start} begins {first}\n")
        for step in range(first, steps):
            epoch, batch = divmod(step, 3)
            sampler.set_epoch(epoch)
            chosen = x[[*sampler][4 * batch : 4 * batch + 4]]
            opt.zero_grad()
            nn.functional.mse_loss(net(chosen), chosen.prod(1, keepdim=True)).backward()
            opt.step()
            log.write(f"{start} did {step + 1}\n")
            if (step + 1) % EVERY == 0 or step + 1 == steps:
                saved = checkpoint.async_save(state(step + 1), checkpoint_id=place)
                saved.add_done_callback(
                    lambda done, step=step: (
                        done.exception() or log.write(f"{start} saved {step + 1}\n")
                    )
                )
        saved.exception()
    (folder / f"end{rank}").write_bytes(
        b"".join(v.numpy().tobytes() for v in net.state_dict().values())
    )


def launched(folder, steps, restarts=0):
    """The launcher of a run, which writes to a file."""
    command = [
        sys.executable,
        "-m",
        "retrograd.torch.distributed.run",
        f"--max-restarts={restarts}",
    ]
    own = ["-n", "2", "-m", "tests.torch.distributed.kills", f"FOLDER={folder}", f"STEPS={steps}"]
    with open(folder / "said", "w") as said:
        return subprocess.Popen([*command, *own], cwd=ROOT, stderr=said)


def ranks(launcher):
    """The processes of the ranks that run."""
    try:
        children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
        told = {int(child): Path(f"/proc/{child}/environ").read_bytes() for child in children}
    except OSError:  # one has ended
        return {}
    return {int(own[1]): n for n, env in told.items() if (own := re.search(rb"\0RANK=(\d)", env))}


def lines(folder, rank):
    """What a rank has written: the number of the start, what was done, the step."""
    log = folder / f"log{rank}"
    words = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [(int(start), what, int(step)) for start, what, step in words]


def kill(launcher, folder, start, luck, before):
    """Kill one or both ranks at a random moment after a start; all of their processes, and who."""
    early, chosen = luck.random() < 0.3, luck.choice([[0], [1], [0, 1]])
    seconds, steps = luck.uniform(0, 4), luck.randint(1, APART)
    begun, now = None, {}
    while launcher.poll() is None:
        now = now or ranks(launcher)
        if len(now) < 2 or {*now.values()} & before:
            now = {}
        elif begun is None:
            begun = time.monotonic()
        did = sum(line[:2] == (start, "did") for line in lines(folder, 0))
        if begun and (did >= steps or (early and time.monotonic() > begun + seconds)):
            time.sleep(0 if early else luck.uniform(0, 0.02))
            for rank in chosen:
                os.kill(now[rank], signal.SIGKILL)
            return {*now.values()}, {*chosen}
        time.sleep(0.002)
    return set(), set()


def main(COUNT=50, SEED=0, undisturbed=None):
    """Kill and compare; what was wrong, and a report."""
    luck, count, wrong, killed, before = random.Random(int(SEED)), int(COUNT), [], [], set()
    steps = count * APART + EVERY
    with tempfile.TemporaryDirectory() as name:
        calm, folder = Path(name, "calm"), Path(name, "killed")
        calm.mkdir()
        folder.mkdir()
        if (undisturbed or (lambda *run: launched(*run).wait()))(calm, steps):
            wrong.append("the undisturbed run failed")
        launcher = launched(folder, steps, count)
        while len(killed) < count and launcher.poll() is None:
            before, who = kill(launcher, folder, len(killed), luck, before)
            killed += [who] if who else []
        if launcher.wait():
            wrong.append(f"the run ended with {launcher.returncode}")
        said = (folder / "said").read_text()
        named = [int(rank) for rank in re.findall(r"rank (\d) of 2 .* by signal 9", said)]
        pairs = zip(named, killed, strict=False)
        if len(named) != len(killed) or any(rank not in who for rank, who in pairs):
            wrong.append(f"killed were {killed}, named {named}: {said}")
        for rank in range(2):
            saved = did = 0
            for start, what, step in lines(folder, rank):
                if what == "begins" and not saved <= step <= did:
                    wrong.append(f"rank {rank}, start {start}: after {saved} at {step} of {did}")
                saved, did = (step if what == "saved" else saved), max(did, step)
            ends = [(place / f"end{rank}").read_bytes() for place in (calm, folder)]
            if ends[0] != ends[1]:
                wrong.append(f"rank {rank} has another end")
        again = [step for _, what, step in lines(folder, 0) if what == "begins"]
    told = "\n".join(wrong) or "nothing was lost, and the end is the same to the bit"
    starts = f"{sum(map(bool, again))} starts from a checkpoint"
    return wrong, f"{len(killed)} kills in {steps} steps, {starts}: {told}\n"


if __name__ == "__main__":
    given = dict(argument.split("=") for argument in sys.argv[1:])
    if "FOLDER" not in given:
        wrong, told = main(**given)
        sys.stdout.write(told)
        sys.exit(bool(wrong))
    dist.init_process_group()
    train(given["FOLDER"], int(given["STEPS"]))
