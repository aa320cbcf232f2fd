"""`retrograd.profiler`: profiles of chosen steps."""

from __future__ import annotations

import gzip
import json

import pytest

import retrograd as rg
from retrograd.torch import profiler


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1}, "NNWRSNWRSNNN"),
        ({"wait": 0, "warmup": 0, "active": 1}, "SSSSSSSSSSSS"),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1}, None),
    ],
)
def test_a_schedule_says_what_each_step_is_for(settings, expected):
    plan = profiler.schedule(**settings)
    letters = {"NONE": "N", "WARMUP": "W", "RECORD": "R", "RECORD_AND_SAVE": "S"}
    assert "".join(letters[plan(step).name] for step in range(12)) == (expected or "NWSNNWSNNWSN")


def test_a_schedule_without_active_steps_is_refused():
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        profiler.schedule(wait=1, warmup=1, active=0)


def test_traces_are_ready_after_the_last_step_of_a_round():
    ready = []
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=2)

    def note(prof):
        ready.append((prof.step_num, [(e.key, e.count) for e in prof.key_averages()]))

    with profiler.profile(schedule=plan, on_trace_ready=note) as prof:
        for _ in range(10):
            rg.ones(2).exp()
            prof.step()
    assert ready == [(4, [("exp", 2)]), (8, [("exp", 2)])]


def test_without_a_schedule_all_is_recorded():
    x = rg.ones(2, requires_grad=True)
    with (
        profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as prof,
        profiler.record_function("mine"),
    ):
        x.exp().sum().backward()
    assert {"mine", "exp", "ExpBackward0"} <= {event.key for event in prof.key_averages()}
    assert prof.events()[0].name == "mine"


def test_traces_are_written_for_each_round(tmp_path):
    handler = profiler.tensorboard_trace_handler(str(tmp_path), "worker", use_gzip=True)
    plan = profiler.schedule(wait=0, warmup=0, active=1, repeat=2)
    with profiler.profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(3):
            rg.ones(2).exp()
            prof.step()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    assert files[0].name.startswith("worker.")
    assert files[0].name.endswith(".pt.trace.json.gz")
    assert json.loads(gzip.decompress(files[0].read_bytes()))["traceEvents"][0]["name"] == "exp"


def test_results_before_any_step_is_recorded_raise():
    plan = profiler.schedule(wait=5, warmup=0, active=1)
    with (
        profiler.profile(schedule=plan) as prof,
        pytest.raises(AssertionError, match="no step has been recorded"),
    ):
        prof.key_averages()
