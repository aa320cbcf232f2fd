"""`retrograd.utils.benchmark`: how long statements take."""

from __future__ import annotations

import copy
import itertools
import pickle

import pytest

import retrograd as rg
from retrograd.torch.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def clock(step):
    """A clock that goes on by `step` at each look."""
    return itertools.count(0, step).__next__


def test_a_timer_counts_runs_and_time():
    seen = []
    timer = Timer("seen.append(1)", timer=clock(10), globals={"seen": seen}, description="d")
    made = timer.timeit(5)
    assert made.raw_times == [10]
    assert made.median == 2
    assert len(seen) == 7  # two runs come before


def test_statements_know_the_package_by_both_names():
    assert Timer("torch.ones(1) + retrograd.ones(1)").timeit(1).number_per_run == 1


def test_the_number_of_threads_holds_while_it_is_measured():
    seen, before = [], rg.get_num_threads()
    Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=1).timeit(1)
    assert set(seen) == {1}
    assert rg.get_num_threads() == before


def test_blocks_last_as_long_as_is_asked():
    made = Timer("pass", timer=clock(1)).blocked_autorange(min_run_time=4)
    assert made.raw_times == [1] * 4
    told = []
    Timer("pass", timer=clock(1)).blocked_autorange(lambda *run: told.append(run), min_run_time=2)
    assert told == [(1, 1), (1, 1)]


def test_measurements_of_one_statement_are_merged():
    task = TaskSpec("f()")
    merged = Measurement.merge([Measurement(2, [4.0], task), Measurement(1, [1.0], task)])
    assert [each.times for each in merged] == [[2.0, 1.0]]


def test_a_measurement_prints_its_statistics():
    task = TaskSpec("f()", label="label", sub_label="part", description="what", num_threads=2)
    made = Measurement(10, [1e-5, 2e-5, 3e-5], task)
    assert repr(made).splitlines() == [
        object.__repr__(made),
        "label: part",
        "what",
        "  Median: 2.00 us",
        "  IQR:    1.00 us",
        "  3 measurements, 10 runs, 2 threads",
    ]


def test_rows_are_statements_and_columns_descriptions():
    made = [
        Measurement(1, [2e-6], TaskSpec("f", label="L", description="a", num_threads=2)),
        Measurement(1, [1e-6], TaskSpec("f", label="L", description="b")),
    ]
    assert str(Compare(made)).splitlines() == [
        "L Times in us  |    a  |    b",
        "f              |       |  1.0",
        "f (2 threads)  |  2.0  |",
    ]


def test_other_languages_are_refused():
    with pytest.raises(ValueError, match="only statements of Python"):
        Timer("x", language="c++")


def test_a_measurement_tells_what_was_timed():
    made = Measurement(1, [1.0], TaskSpec("f(x)", label="l", sub_label="s", num_threads=3))
    assert (made.stmt, made.label, made.sub_label, made.num_threads) == ("f(x)", "l", "s", 3)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    with pytest.raises(AttributeError, match="nothing"):
        made.nothing


def measured(times, **settings):
    return Measurement(1, times, TaskSpec("f(x)", **settings))


def test_each_label_has_a_table_whose_rows_say_where_they_ran():
    table = Compare([measured([1e-3], env="e1", description="d", sub_label="long")])
    table.extend_results([measured([2e-3], env="e2", description="dd"), measured([4.0], label="L")])
    assert str(table).splitlines() == [
        "Times in ms  |    d  |   dd",
        "e1 long      |  1.0  |",
        "e2 f(x)      |       |  2.0",
        "",
        "L Times in s  |",
        "f(x)          |  4.0",
    ]


def test_a_measurement_shows_how_much_its_times_differ():
    made = measured([1.0, 2.0, 3.0, 9.0])
    assert made.iqr == 2.75
    assert made.mean == 3.75
    assert measured([1.0]).iqr == 0
