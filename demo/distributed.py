"""The digits are read by two processes, one of which is killed: `make demo-distributed`.

The launcher starts both. Each trains on half of the images of a batch, and after each epoch they
write a checkpoint beside the training. When one is killed, the launcher ends the other and starts
both again; they go on from the checkpoint, and read the digits as a run without the kill does.
`--quick` trains for two epochs of fifteen.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from retrograd.distributed import checkpoint, run
from retrograd.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from retrograd.nn.parallel import DistributedDataParallel

import retrograd as rg
from retrograd import distributed as dist
from retrograd import optim
from retrograd.nn import functional as F
from retrograd.utils.data import DataLoader, DistributedSampler

from . import digits


def train(folder: Path, epochs: int, kill: bool) -> None:
    """Train as one rank of the group, on from the checkpoint if there is one."""
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    kill = kill and rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    data, images, labels = digits.scanned()
    sampler = DistributedSampler(data, drop_last=True)
    loader = DataLoader(data, batch_size=digits.BATCH // size, sampler=sampler, drop_last=True)
    rg.manual_seed(rank)  # a rank of its own drops out others
    model = DistributedDataParallel(digits.network())
    optimizer = optim.AdamW(model.parameters(), weight_decay=1e-2)

    def state(epoch: int) -> dict[str, Any]:
        net, opt = get_state_dict(model, optimizer)
        own = {f"random {rank}": rg.get_rng_state()}
        return {"model": net, "optimizer": opt, "epoch": epoch, **own}

    found = state(0)
    if (folder / ".metadata").exists():  # a whole checkpoint
        checkpoint.load(found, checkpoint_id=folder)
        net, opt = found["model"], found["optimizer"]
        set_state_dict(model, optimizer, model_state_dict=net, optim_state_dict=opt)
        rg.set_rng_state(found[f"random {rank}"])
        print(f"goes on after epoch {found['epoch']}")
    for epoch in range(found["epoch"], epochs):
        sampler.set_epoch(epoch)
        for group in optimizer.param_groups:
            group["lr"] = digits.rate(epoch, epochs)
        for number, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if kill and epoch == epochs // 2 and number == len(loader) // 2:
                print(f"is killed in epoch {epoch + 1}")
                os.kill(os.getpid(), signal.SIGKILL)
        checkpoint.async_save(state(epoch + 1), checkpoint_id=folder)
    if rank == 0:
        with rg.inference_mode():
            right = model.module.eval()(rg.from_numpy(images)).argmax(1).numpy() == labels
        np.save(folder / "right.npy", right)


def main(quick: bool) -> None:
    """Train without a kill and with one, and compare."""
    epochs, right = 2 if quick else digits.EPOCHS, []
    for kill in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            print("With a kill:" if kill else "Without a kill:", flush=True)
            options = ["-n", "2", "--tee=3", "--max-restarts=1", "-m", "demo.distributed"]
            run.main([*options, folder, str(epochs), *(["kill"] if kill else [])])
            right.append(np.load(Path(folder, "right.npy")))
            print(f"{right[-1].mean():.2%} of {len(right[-1])} held-out digits read correctly")
    if (right[0] != right[1]).any():
        sys.exit("The two networks read differently.")
    print("Both networks read the same digits correctly.")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        train(Path(sys.argv[1]), int(sys.argv[2]), kill="kill" in sys.argv)
    else:
        main(quick="--quick" in sys.argv)
