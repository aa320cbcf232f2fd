"""Data sets, samplers, collation and the loader."""

from __future__ import annotations

import collections
from collections import OrderedDict, UserList, defaultdict, namedtuple

import numpy as np
import pytest

import retrograd as rg
from retrograd.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)
from retrograd.utils.data._utils import iterators
from retrograd.utils.data._utils.collate import default_collate_fn_map
from retrograd.utils.data._utils.pin_memory import pin_memory


class Squares(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return {"x": rg.tensor(float(index)), "y": index**2}


def pairs():
    return TensorDataset(rg.arange(6), rg.arange(12.0).reshape(6, 2))


def test_batches_come_in_order_and_the_last_may_be_short():
    batches = [x.tolist() for x, _ in DataLoader(pairs(), batch_size=4)]
    assert batches == [[0, 1, 2, 3], [4, 5]]


def test_drop_last_leaves_out_a_short_batch():
    loader = DataLoader(pairs(), batch_size=4, drop_last=True)
    assert len(loader) == len(list(loader)) == 1


def test_shuffling_keeps_samples_whole_and_follows_the_generator():
    def order(seed):
        generator = rg.Generator().manual_seed(seed)
        loader = DataLoader(pairs(), batch_size=4, shuffle=True, generator=generator)
        rows = [(int(x), y.tolist()) for xs, ys in loader for x, y in zip(xs, ys, strict=True)]
        assert all(y == [2.0 * x, 2.0 * x + 1] for x, y in rows)
        return [x for x, _ in rows]

    assert sorted(order(1)) == list(range(6))
    assert order(1) == order(1)
    assert any(order(seed) != order(1) for seed in range(2, 8))


def test_a_shuffled_loader_draws_a_new_order_in_every_pass():
    loader = DataLoader(TensorDataset(rg.arange(50)), batch_size=50, shuffle=True)
    (first,), (second,) = next(iter(loader)), next(iter(loader))
    assert first.tolist() != second.tolist()


def test_whole_batches_of_tensors_equal_collated_samples():
    fast = list(DataLoader(Subset(pairs(), [4, 0, 3]), batch_size=2))
    slow = list(
        DataLoader(
            Subset(pairs(), [4, 0, 3]), batch_size=2, collate_fn=lambda b: default_collate(b)
        )
    )
    for a, b in zip(fast, slow, strict=True):
        assert [t.tolist() for t in a] == [t.tolist() for t in b]
        assert [t.dtype for t in a] == [t.dtype for t in b]


def test_a_subclass_with_its_own_samples_is_asked_for_them():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple(2 * t for t in super().__getitem__(index))

    ((x,),) = DataLoader(Doubled(rg.arange(3)), batch_size=3)
    assert x.tolist() == [0, 2, 4]


def test_gradients_reach_tensors_of_a_data_set():
    x = rg.ones(3, requires_grad=True)
    ((batch,),) = DataLoader(TensorDataset(x), batch_size=3)
    batch.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_collation_keeps_the_form_of_samples():
    point = namedtuple("point", "x y")
    batch = default_collate([{"x": rg.ones(2), "y": 1}, {"x": rg.zeros(2), "y": 2}])
    assert batch["x"].shape == (2, 2)
    assert batch["y"].dtype is rg.int64
    assert default_collate([point(1.5, "a"), point(2.5, "b")]).x.dtype is rg.float64
    assert default_collate([point(1.5, "a"), point(2.5, "b")]).y == ("a", "b")
    assert default_collate([np.ones(2, np.float32)] * 3).shape == (3, 2)
    with pytest.raises(TypeError, match="batch must contain tensors"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1], [1, 2]])


def test_a_data_set_of_dictionaries_is_batched():
    first = next(iter(DataLoader(Squares(), batch_size=3)))
    assert first["x"].tolist() == [0.0, 1.0, 2.0]
    assert first["y"].tolist() == [0, 1, 4]


def test_without_batch_size_samples_come_singly():
    assert [x.item() for x, _ in DataLoader(pairs(), batch_size=None)] == list(range(6))


def test_iterable_data_sets_are_streamed():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [b.tolist() for b in DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="IterableDataset"):
        DataLoader(Stream(), shuffle=True)


def test_a_split_deals_every_sample_once():
    parts = random_split(range(10), [0.5, 0.3, 0.2], generator=rg.Generator().manual_seed(0))
    assert [len(part) for part in parts] == [5, 3, 2]
    assert sorted(x for part in parts for x in part) == list(range(10))
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(range(10), [3, 3])


def test_samplers_draw_what_they_say():
    assert sorted(RandomSampler(range(4))) == [0, 1, 2, 3]
    assert len(list(RandomSampler(range(4), num_samples=7))) == 7
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=50))
    assert len(drawn) == 50
    assert set(drawn) == {0, 1, 2}
    assert sorted(SubsetRandomSampler([5, 7])) == [5, 7]
    with pytest.raises(ValueError, match="batch_size should be a positive integer"):
        BatchSampler(range(3), 0, False)


def test_a_random_sampler_takes_a_positive_integer_and_a_bool():
    for count in (0, -1, 1.5):
        with pytest.raises(ValueError, match="num_samples should be a positive integer value"):
            RandomSampler(range(3), num_samples=count)
    with pytest.raises(TypeError, match="replacement should be a boolean value"):
        RandomSampler(range(3), replacement=1)


def test_concatenated_data_sets_index_through():
    assert ConcatDataset.cumsum([range(3), range(10, 12)]) == [3, 5]
    joined = ConcatDataset([range(3), range(10, 12)])
    assert [joined[i] for i in (0, 2, 3, -1)] == [0, 2, 10, 11]
    assert len(Squares() + Squares()) == 10


def test_streams_are_chained_not_concatenated():
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        ConcatDataset([range(3), Longer()])


def test_data_sets_are_stacked_by_position_or_by_name():
    with pytest.raises(ValueError, match=r"Supported either by position, .* or by name"):
        StackDataset(range(3), x=range(3))


def test_a_loader_warns_of_more_workers_than_can_run():
    with pytest.warns(UserWarning, match="This DataLoader will create 4000 worker processes in"):
        DataLoader(pairs(), num_workers=4000)


def test_a_loader_of_given_batches_has_a_sampler_of_all_indices():
    loader = DataLoader(pairs(), batch_sampler=[[0, 1], [2]])
    assert type(loader.sampler) is SequentialSampler
    assert (len(loader), loader.batch_size, loader.drop_last) == (2, None, False)


def test_options_that_exclude_each_other_raise():
    with pytest.raises(ValueError, match="mutually exclusive with shuffle"):
        DataLoader(pairs(), sampler=[0], shuffle=True)
    with pytest.raises(ValueError, match="batch_sampler option is mutually exclusive"):
        DataLoader(pairs(), batch_sampler=[[0]], batch_size=2)
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(rg.ones(2), rg.ones(3))


def test_a_weighted_sampler_draws_by_weight_and_without_repetition_if_asked():
    WeightedRandomSampler = rg.utils.data.WeightedRandomSampler
    drawn = list(WeightedRandomSampler([1.0, 0.0, 3.0], 4000))
    assert drawn.count(1) == 0
    assert drawn.count(2) == pytest.approx(3000, abs=150)
    assert sorted(WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    for arguments, text in (
        (([1.0], 0), "num_samples should be a positive integer"),
        (([1.0], 1, 1), "replacement should be a boolean"),
        (([[1.0]], 1), "weights should be a 1d sequence"),
    ):
        with pytest.raises(ValueError, match=text):
            WeightedRandomSampler(*arguments)


def test_data_sets_side_by_side_and_one_after_the_other():
    data = rg.utils.data
    both = data.StackDataset(data.TensorDataset(rg.arange(3)), ["a", "b", "c"])
    assert len(both) == 3
    assert both[1][1] == "b"
    assert data.StackDataset(x=[1, 2], y=[3, 4])[1] == {"x": 2, "y": 4}
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset([1], [1, 2])
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        data.StackDataset()

    class Count(data.IterableDataset):
        def __iter__(self):
            return iter([1, 2])

        def __len__(self):
            return 2

    chain = Count() + Count()
    assert list(chain) == [1, 2, 1, 2]
    assert len(chain) == 4
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(data.ChainDataset([[1]]))


def test_samples_that_are_not_batched_are_converted():
    assert rg.utils.data.get_worker_info() is None
    assert rg.utils.data.default_convert("text") == "text"


@pytest.mark.parametrize(
    "name", ["ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "Sampler", "Subset"]
)
def test_annotations_can_say_what_samples_are(name):
    assert getattr(rg.utils.data, name)[int].__args__ == (int,)


class Words(list):
    """A list of a class of its own."""


def test_collections_of_samples_keep_their_class():
    sample = collections.defaultdict(int, a=1)
    batch = default_collate([sample, sample])
    assert type(batch) is collections.defaultdict
    assert batch["a"].tolist() == [1, 1]
    assert type(default_collate([Words([1]), Words([2])])) is Words
    assert type(default_convert(sample)) is collections.defaultdict
    assert type(default_convert(Words([1]))) is Words


def test_texts_of_numpy_are_texts():
    assert default_collate([np.str_("a"), np.str_("b")]) == ["a", "b"]
    assert default_convert(np.array(["a"])).tolist() == ["a"]
    with pytest.raises(TypeError, match=r"batch must contain tensors.* found <U1"):
        default_collate([np.array(["a"])])
    assert default_convert(np.float32(1.0)).dtype is rg.float32


def test_subsets_and_stacks_give_several_samples_at_once():
    class Counted(list):
        asked = 0

        def __getitems__(self, indices):
            Counted.asked += 1
            return [self[i] for i in indices]

    subset = Subset(Counted("abcd"), [3, 1, 0])
    assert subset.__getitems__([0, 2]) == ["d", "a"]
    assert Counted.asked == 1
    stack = StackDataset(range(3), subset)
    assert stack.__getitems__([0, 2]) == [(0, "d"), (2, "a")]
    assert Counted.asked == 2
    assert StackDataset(x=range(2), y="ab").__getitems__([1]) == [{"x": 1, "y": "b"}]


def test_a_data_set_that_gives_another_number_of_samples_is_refused():
    class Short(list):
        def __getitems__(self, indices):
            return []

    with pytest.raises(ValueError, match="output size mismatch"):
        StackDataset(Short("ab"), range(2)).__getitems__([0])


def test_samples_that_are_not_batched_keep_strings_and_their_collections():
    convert = rg.utils.data.default_convert
    words = np.array(["a", "b"])
    assert convert(words) is words
    assert convert(np.float64(2)).dtype == rg.float64
    assert type(convert(OrderedDict(a=np.ones(1)))) is OrderedDict


def test_batches_of_mappings_and_sequences_are_of_the_kind_of_the_samples():
    collate = default_collate
    samples = [defaultdict(list, a=1), defaultdict(list, a=2)]
    found = collate(samples)
    assert type(found) is defaultdict
    assert found["a"].tolist() == [1, 2]
    assert found["b"] == []
    words = UserList([1, "x"])
    assert type(collate([words, words])) is UserList


def test_the_map_of_collate_says_what_becomes_of_a_type(monkeypatch):
    class Point:
        x = 3

    def points(batch, *, collate_fn_map):
        return [point.x for point in batch]

    monkeypatch.setitem(default_collate_fn_map, Point, points)
    assert default_collate([{"p": Point()}, {"p": Point()}]) == {"p": [3, 3]}
    monkeypatch.setitem(default_collate_fn_map, rg.Tensor, lambda batch, collate_fn_map: len(batch))
    assert list(DataLoader(TensorDataset(rg.ones(3)), 2)) == [[2], [1]]


def test_pinning_a_batch_asks_whatever_can_do_it():
    class Batch:
        def pin_memory(self):
            return "pinned"

    pair = namedtuple("pair", "a b")
    assert pin_memory({"x": [Batch(), 1], "y": pair(Batch(), "s")}) == {
        "x": ["pinned", 1],
        "y": pair("pinned", "s"),
    }


@pytest.mark.parametrize(
    "sampler",
    [
        RandomSampler(range(9)),
        SubsetRandomSampler(range(9)),
        WeightedRandomSampler(rg.ones(9), 9),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_a_sampler_draws_when_the_first_index_is_asked_for(sampler):
    passes = iter(sampler), iter(sampler)
    drawn = []
    for one in passes:
        rg.manual_seed(0)
        drawn.append([next(one) for _ in range(9)])
    assert drawn[0] == drawn[1]


class Longer(IterableDataset):
    """More items than it says."""

    def __len__(self):
        return 2

    def __iter__(self):
        return iter(range(4))


def test_a_loader_warns_of_more_items_than_its_length_said(recwarn):
    loader = DataLoader(Longer(), batch_size=None)
    list(loader)
    assert not recwarn
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2 .* but 4 samples have been fetched"):
        assert list(loader) == [0, 1, 2, 3]
    loader = DataLoader(Longer(), batch_size=None, num_workers=1)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="For multiprocessing data-loading, this comes of workers"):
        assert list(loader) == [0, 1, 2, 3]


class Stand:
    """What libraries pass to PyTorch's iterators in place of a loader: its attributes alone."""

    dataset, _dataset_kind, _auto_collation, drop_last, in_order = Longer(), 1, False, False, True
    collate_fn, worker_init_fn, generator, timeout, prefetch_factor = abs, None, None, 0, 2
    _IterableDataset_len_called, persistent_workers, multiprocessing_context = None, False, "thread"
    pin_memory, pin_memory_device, _index_sampler = False, "", range(9)

    def __init__(self, num_workers):
        self.num_workers = num_workers


@pytest.mark.parametrize("workers", [0, 1])
def test_the_iterators_ask_a_loader_for_what_pytorch_s_ask(workers):
    names = ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter")
    kind = getattr(iterators, names[workers])
    assert list(kind(Stand(workers))) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["sampler", "batch_sampler", "shuffle"])
def test_a_stream_takes_no_sampler_and_the_error_names_it(name):
    with pytest.raises(ValueError, match=f"expected unspecified {name} option, but got {name}="):
        DataLoader(Longer(), **{name: True if name == "shuffle" else [[1]]})


class Drawn(rg.utils.data.Sampler):
    """A sampler that draws as soon as it is begun, and counts how often."""

    def __init__(self):
        self.begun = 0

    def __iter__(self):
        self.begun += 1
        return iter(range(4))

    def __len__(self):
        return 4


@pytest.mark.parametrize(("workers", "begun"), [(0, [1, 2]), (1, [2, 4])])
def test_a_sampler_is_begun_as_often_as_by_pytorch(workers, begun):
    sampler, found = Drawn(), []
    loader = DataLoader(range(4), batch_size=None, sampler=sampler, num_workers=workers)
    for _ in range(2):
        assert list(loader) == [0, 1, 2, 3]
        found.append(sampler.begun)
    assert found == begun


@pytest.mark.parametrize("workers", [0, 1])
def test_a_sampler_that_draws_when_it_is_begun_draws_before_the_loader(workers):
    class Shuffled(rg.utils.data.Sampler):
        def __iter__(self):
            return iter(rg.randperm(8).tolist())

    rg.manual_seed(3)
    loader = DataLoader(range(8), batch_size=None, sampler=Shuffled(), num_workers=workers)
    passes = [list(loader) for _ in range(2)]
    rg.manual_seed(3)
    for found in passes:
        order = rg.randperm(8).tolist()
        rg.empty((), dtype=rg.int64).random_()  # the seed of workers
        assert found == (rg.randperm(8).tolist() if workers else order)


def test_indices_that_are_no_integers_are_not_cut():
    data = TensorDataset(rg.arange(4.0))
    for sampler in ([1.5], rg.ones(2), [[0], 1]):
        with pytest.raises((IndexError, TypeError)):
            list(DataLoader(data, sampler=sampler, batch_size=2))
    places = DataLoader(data, sampler=rg.tensor([3, 1]), batch_size=2)
    assert next(iter(places))[0].tolist() == [3.0, 1.0]
