"""Workers of the loader: order, seeds, errors, deaths, and that nothing is left of them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest

import retrograd as rg
from retrograd.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    get_worker_info,
)
from retrograd.utils.data._utils import iterators, transport
from retrograd.utils.data._utils import threads as worker_threads

pytestmark = [
    pytest.mark.skipif(
        "fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork"
    ),
    pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # on one processor
]
KINDS = ["fork", "thread"]


class Plain(Dataset):
    """Numbers; `at` says what to do instead for one of them."""

    def __init__(self, at=None, size=12):
        self.at, self.size = at or {}, size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return self.at.get(index, lambda: index)()


class Shards(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, 11, info.num_workers))


def loader(dataset, batch_size=1, kind="fork", **settings):
    settings = {"num_workers": 2, **settings}
    return DataLoader(dataset, batch_size, multiprocessing_context=kind, **settings)


def fail():
    raise LookupError("no such picture")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0


def left(batches):
    """Whether the folder of batches is there that an iterator may have."""
    folder = batches._pool.folder
    return bool(folder) and os.path.exists(folder)


def gone(pids):
    """Whether no process of these is there, not even as a zombie."""
    for pid in pids:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        return False
    return True


@pytest.fixture
def ready():
    """What workers may wait for, processes and threads."""
    return multiprocessing.get_context("fork").Event()


@pytest.fixture(params=[True, False], ids=["descriptors", "files"])
def transports(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(transport, "DESCRIPTORS", False)
    elif not transport.DESCRIPTORS:
        pytest.skip("there is no memory without a name")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [{}, {"prefetch_factor": 1}, {"num_workers": 5}])
def test_batches_come_in_the_order_of_one_process(kind, settings):
    data = TensorDataset(rg.arange(23), rg.arange(46.0).reshape(23, 2))
    for own in ({"shuffle": True}, {"drop_last": True}, {"batch_size": None}):
        options = {"batch_size": 4, **own}
        rg.manual_seed(3)
        expected = [[t.tolist() for t in batch] for batch in DataLoader(data, **options)]
        after = rg.rand(1).item()
        rg.manual_seed(3)
        found = loader(data, kind=kind, **options, **settings)
        assert [[t.tolist() for t in batch] for batch in found] == expected
        assert rg.rand(1).item() == after


@pytest.mark.usefixtures("transports")
def test_whatever_a_batch_holds_comes_whole():
    sample = {
        "moved": rg.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
        "strided": np.arange(20)[::-3],
        "half": rg.ones(3, dtype=rg.bfloat16),
        "scalar": rg.tensor(2 + 1j),
        "empty": rg.ones(0, 3),
        "objects": np.array(["a", None], dtype=object),
        "parameter": rg.nn.Parameter(rg.ones(2)),
        "words": ["a", b"b", None],
    }
    (found,) = loader(Plain({0: lambda: sample}, 1), None)
    for name in ("moved", "half", "scalar", "empty", "parameter"):
        rg.testing.assert_close(found[name], sample[name])
        assert type(found[name]) is type(sample[name])
    assert found["moved"].stride() == sample["moved"].stride()
    assert found["strided"].tolist() == sample["strided"].tolist()
    assert found["objects"].tolist() == ["a", None]
    assert found["words"] == sample["words"]
    found["moved"].add_(1)
    assert found["parameter"].requires_grad


def test_bytes_of_arrays_do_not_go_through_the_pipe():
    head, buffers = transport.packed([rg.ones(1000, 10), rg.ones(10, 1000, dtype=rg.bfloat16).T])
    assert len(head) < 1000
    assert [len(buffer) for buffer in buffers] == [40000, 20000]


def test_many_batches_can_be_kept():
    batches = list(loader(TensorDataset(rg.arange(700)), prefetch_factor=8))
    assert [int(x) for (x,) in batches] == list(range(700))


@pytest.mark.parametrize("kind", KINDS)
def test_each_worker_gives_its_shard(kind):
    found = [batch.tolist() for batch in loader(Shards(), 3, kind)]
    assert found == [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9]]
    kept = loader(Shards(), 3, kind, persistent_workers=True, drop_last=True)
    for _ in range(2):
        assert [b.tolist() for b in kept] == [[0, 2, 4], [1, 3, 5], [6, 8, 10]]


def test_workers_have_seeds_of_their_own():
    def drawn():
        info = get_worker_info()
        assert isinstance(info.dataset, Plain)
        return info.id, info.seed, rg.initial_seed(), np.random.rand()

    rg.manual_seed(1)
    found = list(loader(Plain({0: drawn, 1: drawn}, 2), None))
    assert [each[0] for each in found] == [0, 1]
    assert found[1][1] == found[0][1] + 1
    assert all(seed == initial for _, seed, initial, _ in found)
    assert found[0][3] != found[1][3]


def test_a_worker_is_initialised_once():
    made = []
    data = Plain(dict.fromkeys(range(4), lambda: (get_worker_info().id, list(made))))
    data.size = 4
    found = list(loader(data, None, worker_init_fn=made.append))
    assert found == [[0, [0]], [1, [1]], [0, [0]], [1, [1]]]

    def refuse(number):
        raise ValueError(f"no worker {number}")

    with pytest.raises(ValueError, match="no worker 0"):
        next(iter(loader(data, worker_init_fn=refuse)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_with_the_worker_s_traceback_and_the_pass_goes_on(kind):
    batches = iter(loader(Plain({1: fail}, 4), None, kind))
    assert next(batches) == 0
    with pytest.raises(LookupError, match=r"(?s)Caught LookupError in .* 1\..*in fail.*no such"):
        next(batches)
    assert list(batches) == [2, 3]


def test_errors_and_batches_that_cannot_be_pickled_are_told():
    class OwnError(Exception):
        pass

    def own():
        raise OwnError("local")

    with pytest.raises(RuntimeError, match=r"(?s)Caught RuntimeError.*OwnError: local"):
        list(loader(Plain({0: own}), None))
    with pytest.raises(Exception, match="lambda"):
        list(loader(Plain({0: lambda: lambda: 0}), None))
    graph = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="refusing to serialize non-leaf tensor"):
        list(loader(Plain({0: lambda: graph * 2}), None))


@pytest.mark.usefixtures("transports")
def test_nothing_is_left_of_a_worker_that_dies():
    before = descriptors()
    batches = iter(loader(Plain({i: lambda: rg.ones(5000) for i in range(9)} | {5: die}), None))
    pids = [worker.pid for worker in batches._workers]
    with pytest.raises(RuntimeError, match=r"pid\(s\) \d+\) exited unexpectedly: killed by"):
        list(batches)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(batches)
    assert gone(pids)
    assert not left(batches)
    del batches
    assert descriptors() <= before + 2


@pytest.mark.usefixtures("transports")
def test_nothing_is_left_of_a_pass_that_is_broken_off():
    before = descriptors()
    for persistent in (False, True):
        many = loader(TensorDataset(rg.ones(40, 50)), 4, persistent_workers=persistent)
        batches = iter(many)
        pids = [worker.pid for worker in batches._workers]
        assert len(list(islice(batches, 3))) == 3
        folder = batches._pool.folder
        del batches, many
        gc.collect()
        assert gone(pids)
        assert folder is None or not os.path.exists(folder)
    assert descriptors() <= before + 2


def test_large_tasks_and_results_do_not_wait_for_each_other():
    data = Plain(size=200_000)
    batches = loader(data, 50_000, collate_fn=lambda batch: ["x" * 10] * 100_000)
    assert [len(batch) for batch in batches] == [100_000] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_waited_for_so_long(kind, ready):
    batches = iter(loader(Plain({0: ready.wait}, 2), None, kind, timeout=0.1))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.1 seconds"):
        next(batches)
    ready.set()


def test_workers_that_stay_end_with_their_loader():
    gc.collect()
    gc.disable()  # so that no circle of references is what ends them
    try:
        many = loader(TensorDataset(rg.arange(6)), 2, persistent_workers=True)
        passed = iter(many)
        assert len(list(passed)) == 3
        workers = passed._workers
        del many, passed
        for worker in workers:
            worker.join(10)
        assert not any(worker.is_alive() for worker in workers)
    finally:
        gc.enable()


def test_workers_stay_for_further_passes():
    kept = loader(Plain(), 2, persistent_workers=True)
    first = iter(kept)
    assert next(first).tolist() == [0, 1]
    pids = [worker.pid for worker in first._workers]
    for _ in range(2):
        assert [x for batch in kept for x in batch.tolist()] == list(range(12))
        assert [worker.pid for worker in kept._iterator._workers] == pids
    os.kill(pids[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(kept)
    assert len(list(kept)) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_batches_may_come_as_they_are_ready(kind, ready):
    batches = iter(loader(Plain({0: ready.wait}, 6), None, kind, in_order=False))
    assert next(batches) == 1
    ready.set()
    assert sorted(batches, key=str) == [2, 3, 4, 5, True]


def test_where_there_are_no_processes_there_are_threads_or_nothing(monkeypatch):
    monkeypatch.setattr(iterators, "PROCESSES", False)
    batches = iter(DataLoader(Plain(), 4, num_workers=2))
    assert len(list(batches)) == 3
    assert isinstance(batches._pool, worker_threads.Threads)

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    rg.manual_seed(0)
    expected = [x.tolist() for x in DataLoader(Plain(), 4, shuffle=True)]
    monkeypatch.setattr(worker_threads.threading.Thread, "start", refuse)
    rg.manual_seed(0)
    alone = DataLoader(Plain(), 4, shuffle=True, num_workers=2, persistent_workers=True)
    assert [x.tolist() for x in alone] == expected


def test_options_about_workers_are_checked():
    for error, text, options in (
        (ValueError, "non-negative; use", {"num_workers": -1}),
        (ValueError, "timeout option", {"timeout": -1}),
        (ValueError, "let num_workers > 0", {"prefetch_factor": 2}),
        (ValueError, "prefetch_factor option", {"prefetch_factor": -2, "num_workers": 1}),
        (ValueError, "persistent_workers option needs", {"persistent_workers": True}),
        (ValueError, "can only be used with multi", {"multiprocessing_context": "fork"}),
        (ValueError, "valid start", {"multiprocessing_context": "x", "num_workers": 1}),
        (TypeError, "valid context", {"multiprocessing_context": 1, "num_workers": 1}),
    ):
        with pytest.raises(error, match=text):
            DataLoader([1], **options)
    with pytest.raises(ValueError, match="batch_size attribute should not be set after"):
        DataLoader([1]).batch_size = 2
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        iter(DataLoader([1])).__getstate__()


LEFT_ALONE = """
import atexit, threading, time
atexit.register(time.sleep, 0.5)  # after the workers are stopped
from retrograd.utils.data import DataLoader

def load():
    while True:
        for batch in DataLoader(range(10_000), num_workers=1, multiprocessing_context="fork"):
            begun.set()

begun = threading.Event()
threading.Thread(target=load, daemon=True).start()
begun.wait()
"""


def test_a_program_ends_without_a_word_while_another_thread_loads():
    command = [sys.executable, "-W", "ignore", "-c", LEFT_ALONE]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert (run.stdout, run.stderr) == ("", "")


INTERRUPTED = """
import os, signal, sys
import retrograd as rg
from retrograd.utils.data import DataLoader

forks = iter(range({after}))

def interrupt():
    if next(forks, None) is None:
        os.killpg(0, signal.SIGINT)  # as Ctrl-C: the workers get it, too

os.register_at_fork(after_in_parent=interrupt)
try:
    for batch in DataLoader(range(100), num_workers=2, multiprocessing_context="fork"):
        pass
    print("nothing came")
except KeyboardInterrupt:
    print("interrupted")
try:
    os.wait()
except ChildProcessError:
    print("no worker is left")
"""


@pytest.mark.parametrize("after", [0, 1])
def test_ctrl_c_while_workers_start_comes_once_and_ends_all(after):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED.format(after=after)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        start_new_session=True,
    )
    assert (run.stdout, run.stderr) == ("interrupted\nno worker is left\n", "")


def test_batches_without_any_bytes_arrive():
    empty = [rg.zeros(0, 2), rg.zeros(0, 2)]
    rows = list(DataLoader(empty, None, num_workers=1, multiprocessing_context="fork"))
    assert len(rows) == 2
    rows[0].add_(1)
    assert rows[1].shape == (0, 2)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are not counted")
def test_batches_are_copied_where_no_file_can_be_opened_any_more():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    numbers = rg.arange(64.0)
    try:
        room = len(os.listdir("/proc/self/fd")) + 24
        resource.setrlimit(resource.RLIMIT_NOFILE, (room, before[1]))
        kept = [x for (x,) in DataLoader(TensorDataset(numbers), batch_size=1, num_workers=2)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert rg.cat(kept).tolist() == numbers.tolist()
