"""Checkpoints that several processes write and read together."""

from __future__ import annotations

import pickle

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch.distributed import checkpoint
from retrograd.torch.distributed.checkpoint import FileSystemReader, FileSystemWriter
from retrograd.torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from retrograd.torch.distributed.checkpoint.metadata import Metadata, packed, unpacked
from retrograd.torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_state_dict,
)

from .together import together, values

DTENSORS = """
from retrograd.distributed import checkpoint
from retrograd.distributed.tensor import *
mesh = dist.init_device_mesh("cpu", (size,)); x = rg.arange(15.0).reshape(5, 3)
def lying(x, p): return distribute_tensor(x, mesh, [p])
"""


def test_tensors_are_read_however_they_are_cut(tmp_path):
    code = f"""
folder = {str(tmp_path)!r}
parts = {{f"{{p}}": lying(x, p) for p in (Shard(0), Shard(1), Replicate())}}
mine = {{"rank": rg.tensor(rank), "name": f"rank {{rank}}"}}
checkpoint.save({{"all": parts, f"own{{rank}}": mine, "plain": x}}, checkpoint_id=folder)
right = []
for q in (Shard(0), Shard(1), Replicate(), None):
    zeros = rg.zeros(5, 3); made = lambda: zeros.clone() if q is None else lying(zeros, q)
    state = {{"all": {{name: made() for name in parts}}, "plain": made()}}
    checkpoint.load(state, checkpoint_id=folder)
    for found in (*state["all"].values(), state["plain"]):
        right.append(rg.equal(found if q is None else found.full_tensor(), x))
other = {{f"own{{1 - rank}}": {{"rank": rg.tensor(9), "name": ""}}}} if rank < 2 else {{}}
checkpoint.load(other, checkpoint_id=folder)
print(all(right), other.get(f"own{{1 - rank}}", {{}}).get("name"))
"""
    assert together(DTENSORS + code, 3) == ["True rank 1", "True rank 0", "True None"]
    names = FileSystemReader(tmp_path).read_metadata().state_dict_metadata
    state = {"all": {name[4:]: rg.zeros(5, 3) for name in names if name.startswith("all.")}}
    checkpoint.load(state, checkpoint_id=tmp_path)  # one process, where three have saved
    whole = rg.arange(15.0).reshape(5, 3).tolist()
    assert [found.tolist() for found in state["all"].values()] == [whole] * 3


def test_states_go_on_after_a_checkpoint(tmp_path):
    code = f"""
from retrograd.distributed import checkpoint
from retrograd.distributed.checkpoint.state_dict import *
from retrograd.distributed.fsdp import fully_shard, FullyShardedDataParallel as FSDP
folder = {str(tmp_path)!r}; x = rg.randn(6, 3, dtype=rg.float64)
class State:
    def __init__(self, *held): self.held = held
    def state_dict(self): return dict(zip(("net", "opt"), get_state_dict(*self.held)))
    def load_state_dict(self, s):
        set_state_dict(*self.held, model_state_dict=s["net"], optim_state_dict=s["opt"])
def made(form, lr):
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double(); net = form(net)
    return net, rg.optim.AdamW(net.parameters(), lr=lr)
def step(net, opt):
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
def wholes(net):
    return [v.clone() for v in get_model_state_dict(net, options=full).values()]
full = StateDictOptions(full_state_dict=True); right = []
for form in (fully_shard, FSDP, DDP):
    net, opt = made(form, 0.1); step(net, opt)
    later = checkpoint.async_save({{"app": State(net, opt)}}, checkpoint_id=folder)
    step(net, opt); later.result()
    for again in (fully_shard, FSDP, DDP):
        other = made(again, 0.5); checkpoint.load({{"app": State(*other)}}, checkpoint_id=folder)
        step(*other)
        right.append(all(rg.allclose(a, b, 1e-12) for a, b in zip(wholes(net), wholes(other[0]))))
states = get_state_dict(net, opt, options=full) if rank == 0 else ({{}}, {{}})
other = made(fully_shard, 0.7)
first = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
set_state_dict(*other, model_state_dict=states[0], optim_state_dict=states[1], options=first)
step(*other); step(net, opt)
right.append(all(rg.allclose(a, b, 1e-12) for a, b in zip(wholes(net), wholes(other[0]))))
half = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
print(right == [True] * 10, list(half))
"""
    names = "['0.weight', '0.bias', '2.weight', '2.bias']"
    assert together(code) == [f"True {names}", "True []"]


def test_errors_of_one_rank_reach_all(tmp_path):
    code = f"""
from retrograd.distributed import checkpoint
class Broken(checkpoint.FileSystemWriter):
    def write(self, *a): return 1 / (1 - rank)
writer = Broken({str(tmp_path)!r})
error(lambda: checkpoint.save({{f"x{{rank}}": rg.ones(1)}}, storage_writer=writer))
dist.barrier()
"""
    said = "CheckpointException ranks [1] could not write their parts of the checkpoint at"
    assert [out.startswith(said) for out in together(code)] == [True, True]


def test_blocks_that_several_ranks_have_are_written_once(tmp_path):
    code = f"""
from pathlib import Path
folder = {str(tmp_path)!r}
checkpoint.save({{str(n): lying(x + n, Replicate()) for n in range(6)}}, checkpoint_id=folder)
sizes = [len(p.read_bytes()) for p in sorted(Path(folder).glob("*.distcp"))]
show(rg.tensor([len(sizes), sizes[0] == sizes[1]]))
"""
    assert values(DTENSORS + code) == [[[2, 1]]] * 2


@pytest.mark.parametrize("step", ["prepare", "write", "finish"])
def test_a_save_that_does_not_end_leaves_the_checkpoint_as_it_was(tmp_path, step):
    class Full(FileSystemWriter):
        def write(self, name, parts):
            super().write(name, [])
            raise OSError("the disk is full")

    writer = Full(tmp_path)
    checkpoint.save({"x": rg.ones(2)}, checkpoint_id=tmp_path)
    if step != "write":
        setattr(writer, step, lambda *_: writer.write("__0_1.distcp", []))
    with pytest.raises(checkpoint.CheckpointException, match="the disk is full"):
        checkpoint.save({"x": rg.zeros(2), "y": rg.zeros(1)}, storage_writer=writer)
    state = {"x": rg.zeros(2)}
    checkpoint.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == [1.0, 1.0]
    (tmp_path / ".__0_1.distcp.0123").touch()  # as a kill leaves it
    checkpoint.save({"x": rg.full((2,), 3.0)}, checkpoint_id=tmp_path)
    checkpoint.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == [3.0, 3.0]
    assert len([*tmp_path.iterdir()]) == 2


def test_saves_beside_the_program_end_in_their_order(tmp_path):
    saved = [
        checkpoint.async_save({"x": rg.full((2,), float(n))}, checkpoint_id=tmp_path)
        for n in range(9)
    ]
    state = {"x": rg.zeros(2)}
    saved[-1].result()
    assert all(each.done() for each in saved)
    checkpoint.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == [8.0, 8.0]


def test_of_what_is_not_alike_on_all_ranks_the_first_one_s_is_kept(tmp_path):
    code = f"""
from retrograd.distributed import checkpoint
state = lambda n: {{"a": rg.full((2,), float(n)), "b": rg.full((9,), float(n)), "c": n, "d": n}}
checkpoint.save(state(rank), checkpoint_id={str(tmp_path)!r})
found = state(5); checkpoint.load(found, checkpoint_id={str(tmp_path)!r})
show(found["a"], found["b"], rg.tensor([found["c"], found["d"]]))
"""
    assert values(code) == [[[0.0] * 2, [0.0] * 9, [0, 0]]] * 2


def test_nested_states_come_back(tmp_path):
    state = {
        "a": {"b": [rg.ones(2), 5, {"c": (1, 2)}], "d": [1, 2]},
        1: rg.tensor([1j]),
        "none": None,
        "half": rg.ones(2, dtype=rg.bfloat16),
        "empty": rg.empty(0, 3),
        "number": rg.tensor(3),
    }
    checkpoint.save(state, checkpoint_id=tmp_path)
    target = {
        "a": {"b": [rg.zeros(2), 0, {"c": None}], "d": None},
        1: rg.tensor([0j]),
        "none": 3,
        "half": rg.zeros(2, dtype=rg.bfloat16),
        "empty": rg.empty(0, 3),
        "number": rg.tensor(0),
    }
    held = target["a"]["b"][0]
    before = held._version
    checkpoint.load(target, checkpoint_id=tmp_path)
    assert held.tolist() == [1.0, 1.0]
    assert held._version > before
    assert target["a"] == {"b": [held, 5, {"c": (1, 2)}], "d": [1, 2]}
    assert (target[1].item(), target["none"], target["number"].item()) == (1j, None, 3)
    assert target["half"].tolist() == [1.0, 1.0]


def test_what_a_checkpoint_lacks_is_an_error(tmp_path):
    checkpoint.save({"x": rg.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match=r"Missing key in checkpoint.*: y"):
        checkpoint.load({"y": rg.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match=r"Size mismatch between saved \(2,\) and current: \(3,\)"):
        checkpoint.load({"x": rg.ones(3)}, checkpoint_id=tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match="no checkpoint is at"):
        FileSystemReader(tmp_path / "none").read_metadata()
    with pytest.raises(checkpoint.CheckpointException, match=r"is at .* already"):
        checkpoint.save({}, storage_writer=FileSystemWriter(tmp_path, overwrite=False))
    with pytest.raises(ValueError, match="save needs a place"):
        checkpoint.save({})
    with pytest.raises(ValueError, match="load needs a place"):
        checkpoint.load({})


def test_metadata_runs_nothing():
    with pytest.raises(pickle.UnpicklingError, match="does not use"):
        unpacked(pickle.dumps(print, protocol=4))
    with pytest.raises(pickle.UnpicklingError, match=r"is no \{\}|is no dict"):
        unpacked(pickle.dumps({}, protocol=4))
    strange = packed(Metadata({})).replace(b"\x8c\x08Metadata", b"\x8c\x08Nothings")
    with pytest.raises(pickle.UnpicklingError, match="Nothings"):
        unpacked(strange)


def test_files_outside_of_the_folder_are_not_read(tmp_path):
    checkpoint.save({"x": rg.ones(2)}, checkpoint_id=tmp_path / "a")
    metadata = FileSystemReader(tmp_path / "a").read_metadata()
    for info in metadata.storage_data.values():
        info.relative_path = "../secret"
    (tmp_path / "a" / ".metadata").write_bytes(packed(metadata))
    with pytest.raises(checkpoint.CheckpointException, match="are in its folder"):
        checkpoint.load({"x": rg.ones(2)}, checkpoint_id=tmp_path / "a")


def test_checkpoints_become_files_and_files_checkpoints(tmp_path):
    state = {"net": {"w": rg.ones(2, 3)}, "l": [rg.zeros(1), 4], "step": 7}
    rg.save(state, tmp_path / "a.pt")
    checkpoint.save(rg.load(tmp_path / "a.pt"), checkpoint_id=tmp_path / "c")
    dcp_to_torch_save(tmp_path / "c", tmp_path / "b.pt")
    found = rg.load(tmp_path / "b.pt")
    assert found["net"]["w"].tolist() == [[1.0] * 3] * 2
    assert (found["l"][0].tolist(), found["l"][1], found["step"]) == ([0.0], 4, 7)


def test_states_of_one_process_are_by_names():
    net = nn.Linear(2, 1)
    net.bias.requires_grad_(False)
    optimizer = rg.optim.SGD([net.weight], lr=0.5, momentum=0.9)
    before = net.weight.tolist()
    state = get_optimizer_state_dict(net, optimizer)
    assert net.weight.tolist() == before
    assert state["param_groups"][0]["lr"] == 0.5
    assert list(state["param_groups"][0])[-1] == "params"
    assert list(state["state"]) == ["weight"]
    chosen = get_model_state_dict(net, options=StateDictOptions(ignore_frozen_params=True))
    assert list(chosen) == ["weight"]
    state["state"]["weight"]["momentum_buffer"] = rg.full((1, 2), 3.0)
    found = set_state_dict(
        net,
        [optimizer],
        model_state_dict={"weight": rg.ones(1, 2)},
        optim_state_dict=state,
        options=StateDictOptions(strict=False),
    )
    assert found.missing_keys == ["bias"]
    assert net.weight.tolist() == [[1.0, 1.0]]
    assert optimizer.state[net.weight]["momentum_buffer"].tolist() == [[3.0, 3.0]]
