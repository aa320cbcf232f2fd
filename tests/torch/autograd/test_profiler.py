"""The profiler: what it notes, what it writes, and that it leaves nothing behind."""

from __future__ import annotations

import gc
import json
import threading
import weakref

import pytest

import retrograd as rg
from retrograd import autograd, modes, nn
from retrograd.engine.transforms.watch import Watcher
from retrograd.torch.autograd.profiler import profile, record_function
from retrograd.torch.autograd.profiler_util import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    in_bytes,
    in_time,
)


def names(prof):
    return [event.name for event in prof.function_events]


def average(prof, key, **options):
    (found,) = [event for event in prof.key_averages(**options) if event.key == key]
    return found


def square():
    return rg.rand(4, 4, requires_grad=True)


# -- what is noted -----------------------------------------------------------------------------


def test_ops_and_nodes_are_noted_in_the_order_in_which_they_run():
    x = square()
    with profile() as prof:
        y = (x * x).exp().sum()
        y.backward()
    assert names(prof) == [
        "mul",
        "exp",
        "sum",
        "SumBackward0",
        "ExpBackward0",
        "MulBackward0",
        "torch::autograd::AccumulateGrad",
    ]
    assert x.grad.allclose(2 * x * (x * x).exp())


def test_calls_are_counted_and_times_add_up():
    x = square()
    with profile() as prof:
        for _ in range(5):
            x.exp().sin()
    assert average(prof, "exp").count == 5
    assert average(prof, "sin").count == 5
    times = [event.cpu_time_total for event in prof.function_events if event.name == "exp"]
    assert all(time > 0 for time in times)
    assert average(prof, "exp").cpu_time_total == pytest.approx(sum(times))
    assert average(prof, "exp").cpu_time == pytest.approx(sum(times) / 5)
    assert prof.self_cpu_time_total == pytest.approx(
        sum(event.self_cpu_time_total for event in prof.function_events)
    )


def test_in_place_methods_operators_and_numbers_are_noted():
    x = rg.ones(2)
    with profile() as prof:
        x.mul_(2)
        x + 1
        2 - x
    assert names(prof) == ["mul", "add", "sub"]
    assert x.tolist() == [2, 2]


def test_modules_losses_and_optimizers_run_under_the_profiler():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = rg.optim.SGD(net.parameters(), lr=0.1)
    with profile(record_shapes=True, profile_memory=True) as prof:
        loss = nn.functional.cross_entropy(net(rg.rand(5, 3)), rg.tensor([0, 1, 0, 1, 0]))
        loss.backward()
        optimizer.step()
    assert average(prof, "linear").count == 2
    assert average(prof, "torch::autograd::AccumulateGrad").count == 4


def test_gradients_are_the_same_under_the_profiler():
    x = square()
    (expected,) = autograd.grad((x @ x).tanh().sum(), x)
    with profile(record_shapes=True, profile_memory=True, with_stack=True):
        (found,) = autograd.grad((x @ x).tanh().sum(), x)
    assert found.tolist() == expected.tolist()


def test_grad_hooks_and_custom_functions_work_under_the_profiler():
    class Twice(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = square()
    seen = []
    x.register_hook(lambda g: seen.append(g.shape))
    with profile() as prof:
        a, b = Twice.apply(x).unbind()[:2]
        (a * b).sum().backward()
    assert seen == [(4, 4)]
    node = next(event for event in prof.function_events if event.name == "TwiceBackward")
    assert [child.name for child in node.cpu_children] == ["mul"]
    assert node.self_cpu_time_total < node.cpu_time_total


def test_a_pass_that_creates_a_graph_notes_the_ops_inside_its_nodes():
    x = square()
    with profile() as prof:
        (g,) = autograd.grad(x.exp().sum(), x, create_graph=True)
    node = next(event for event in prof.function_events if event.name == "ExpBackward0")
    assert "mul" in [child.name for child in node.cpu_children]
    assert node.cpu_children[0].cpu_parent is node
    assert g.requires_grad


def test_a_checkpoint_shows_what_runs_again():
    x = square()
    with profile() as prof:
        y = rg.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
        y.sum().backward()
    assert average(prof, "sin").count == 2


def test_anomaly_mode_and_the_profiler_go_together():
    x = rg.tensor([float("nan")], requires_grad=True)
    with (
        profile() as prof,
        autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected in ExpBackward0"),
        pytest.raises(RuntimeError, match="returned nan values"),
    ):
        x.exp().sum().backward()
    assert "ExpBackward0" in names(prof)


def test_shapes_are_kept_if_asked_for():
    x, w = rg.rand(2, 3, requires_grad=True), rg.rand(3, 4)
    with profile(record_shapes=True) as prof:
        y = rg.matmul(x, w)
        y.sum().backward()
    op = y.grad_fn.op.name
    assert average(prof, op).input_shapes == []
    assert average(prof, op, group_by_input_shape=True).input_shapes == [[2, 3], [3, 4]]
    node = y.grad_fn.name()
    assert average(prof, node, group_by_input_shape=True).input_shapes == [[2, 4]]
    with profile() as prof:
        x.exp()
    assert prof.function_events[0].input_shapes == []


def test_input_shapes_tell_calls_apart():
    with profile(record_shapes=True) as prof:
        for n in (2, 3, 3):
            rg.ones(n).exp()
    counts = {
        str(event.input_shapes): event.count
        for event in prof.key_averages(group_by_input_shape=True)
        if event.key == "exp"
    }
    assert counts == {"[[2]]": 1, "[[3]]": 2}


def test_memory_is_that_of_new_results():
    x = rg.rand(100, requires_grad=True)
    with profile(profile_memory=True) as prof:
        y = x.exp()
        y[:50]
        (y + 1).sum().backward()
    assert average(prof, "exp").cpu_memory_usage == 400
    assert average(prof, "slice").cpu_memory_usage == 0
    assert average(prof, "sum").cpu_memory_usage == 4
    assert average(prof, "ExpBackward0").self_cpu_memory_usage == 400
    assert average(prof, "AddBackward0").cpu_memory_usage == 0
    with profile() as prof:
        x.exp()
    assert average(prof, "exp").cpu_memory_usage == 0


def test_a_block_has_the_memory_of_what_is_inside():
    x = rg.rand(100)
    with profile(profile_memory=True) as prof, record_function("block"):
        x.exp().sin()
    assert average(prof, "block").cpu_memory_usage == 800
    assert average(prof, "block").self_cpu_memory_usage == 0


def test_stacks_are_kept_if_asked_for():
    with profile(with_stack=True) as prof:
        rg.ones(2).exp()
    (event,) = [event for event in prof.function_events if event.name == "exp"]
    assert event.stack[0].startswith(__file__)
    assert event.stack[0].endswith("test_stacks_are_kept_if_asked_for")
    (grouped,) = [e for e in prof.key_averages(group_by_stack_n=1) if e.key == "exp"]
    assert grouped.stack == event.stack[:1]
    assert "Source Location" in prof.table()


def test_nodes_carry_their_sequence_number():
    x = square()
    y = x.exp()
    with profile() as prof:
        y.sum().backward()
    node = next(event for event in prof.function_events if event.name == "ExpBackward0")
    assert node.sequence_nr == y.grad_fn._sequence_nr()


# -- named blocks ------------------------------------------------------------------------------


def test_named_blocks_nest_and_hold_what_runs_inside():
    with profile() as prof:
        with record_function("outer"):
            rg.ones(2).exp()
            with record_function("inner"):
                rg.ones(2).sin()
        rg.ones(2).cos()
    events = {event.name: event for event in prof.function_events}
    assert [child.name for child in events["outer"].cpu_children] == ["exp", "inner"]
    assert [child.name for child in events["inner"].cpu_children] == ["sin"]
    assert events["cos"].cpu_parent is None
    assert events["outer"].cpu_time_total >= events["inner"].cpu_time_total


def test_named_blocks_decorate_functions_even_recursive_ones():
    @record_function("depth")
    def down(n):
        return n if n == 0 else down(n - 1)

    with profile() as prof:
        down(2)
    assert names(prof) == ["depth"] * 3
    assert prof.function_events[2].cpu_parent is prof.function_events[1]
    down(1)


def test_a_named_block_without_a_profile_does_nothing():
    with record_function("nothing") as block:
        found = rg.zeros(2).exp()
        with profile() as prof:
            found.sin()
    found.cos()
    assert found.tolist() == [1.0, 1.0]
    assert block.open == []
    assert names(prof) == ["sin"]
    assert prof.function_events[0].cpu_parent is None


def test_an_error_ends_the_blocks_it_leaves():
    with profile() as prof:
        with pytest.raises(KeyError), record_function("failing"):
            raise KeyError
        rg.ones(2).exp()
    assert prof.function_events[-1].cpu_parent is None


def test_a_failed_op_is_not_noted():
    with profile() as prof, pytest.raises(RuntimeError, match="must match the size"):
        rg.ones(2) + rg.ones(3)
    assert "add" not in names(prof)


# -- results -----------------------------------------------------------------------------------


def profiled(**options):
    with profile(**options) as prof, record_function("block"):
        x = rg.rand(50, 50, requires_grad=True)
        (x @ x).exp().sum().backward()
    return prof


def test_the_table_is_sorted_and_limited():
    averages = profiled().key_averages()
    lines = averages.table(sort_by="self_cpu_time_total", row_limit=3).splitlines()
    titles = lines[1].split("  ")
    assert [title.strip() for title in titles if title.strip()] == [
        "Name",
        "Self CPU %",
        "Self CPU",
        "CPU total %",
        "CPU total",
        "CPU time avg",
        "# of Calls",
    ]
    shown = [line.split()[0] for line in lines[3:-2]]
    expected = sorted(averages, key=lambda e: e.self_cpu_time_total, reverse=True)[:3]
    assert shown == [event.key for event in expected]
    assert lines[-1].startswith("Self CPU time total: ")
    assert len(averages.table(row_limit=-1).splitlines()) == len(averages) + 5


def test_the_table_has_columns_for_memory_and_shapes_if_they_were_recorded():
    text = profiled(record_shapes=True, profile_memory=True).table(header="My run")
    assert text.startswith("My run\n")
    assert "CPU Mem  Self CPU Mem" in text
    assert "Input Shapes" in text
    assert "[[50, 50], [50, 50]]" in text


def test_the_table_clips_and_filters():
    prof = profiled()
    assert len(prof.table(top_level_events_only=True).splitlines()) == 6
    with profile() as prof, record_function("a name of some length"):
        pass
    assert "a na..." in prof.table(max_name_column_width=7)
    assert "a name of some length" in prof.table(max_name_column_width=None)


@pytest.mark.parametrize(
    "field",
    [
        "count",
        "cpu_time",
        "cpu_time_total",
        "self_cpu_time_total",
        "cpu_memory_usage",
        "self_cpu_memory_usage",
    ],
)
def test_every_field_sorts(field):
    prof = profiled(profile_memory=True)
    assert prof.key_averages().table(sort_by=field)
    assert prof.table(sort_by=field)


def test_sorting_by_something_else_raises():
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        profiled().key_averages().table(sort_by="nope")


def test_the_total_average_sums_up_everything():
    prof = profiled(profile_memory=True)
    total = prof.total_average()
    assert total.key == "Total"
    assert total.count == len(prof.function_events)
    assert total.self_cpu_time_total == pytest.approx(prof.self_cpu_time_total)
    again = prof.key_averages().total_average()
    assert again.count == total.count
    assert again.self_cpu_memory_usage == total.self_cpu_memory_usage
    assert "key=Total" in repr(total)


def test_self_times_add_up_to_the_time_of_the_outermost_event():
    prof = profiled()
    block = average(prof, "block")
    assert prof.self_cpu_time_total == pytest.approx(block.cpu_time_total)
    assert average(prof, "block").self_cpu_time_total > 0


def test_an_empty_profile_has_an_empty_table():
    with profile() as prof:
        pass
    assert "Self CPU time total: 0.000us" in str(prof)
    assert prof.key_averages() == EventList()


def test_the_chrome_trace_holds_every_event(tmp_path):
    path = tmp_path / "trace.json"
    with profile(record_shapes=True, profile_memory=True) as prof:
        with record_function("block", args="why"):
            x = rg.ones(2, requires_grad=True)
            y = x.exp()
        y.sum().backward()
    prof.export_chrome_trace(path)
    trace = json.loads(path.read_text())["traceEvents"]
    assert [event["name"] for event in trace] == names(prof)
    by_name = {event["name"]: event for event in trace}
    assert by_name["exp"]["args"] == {"Input Dims": [[2]], "Bytes": 8}
    assert by_name["block"]["args"]["Args"] == "why"
    assert by_name["exp"]["cat"] == "cpu_op"
    assert by_name["ExpBackward0"]["cat"] == "backward"
    assert by_name["block"]["ts"] <= by_name["exp"]["ts"]
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in trace)


def test_units_suit_the_sizes():
    assert [in_time(t) for t in (1.5, 1500, 2.5e6)] == ["1.500us", "1.500ms", "2.500s"]
    assert [in_bytes(n) for n in (0, 1536, 2**21, 3 * 2**30)] == [
        "0 B",
        "1.50 KB",
        "2.00 MB",
        "3.00 GB",
    ]


def test_events_say_what_they_are():
    prof = profiled()
    assert isinstance(prof.function_events[0], FunctionEvent)
    assert repr(prof.function_events[0]).startswith("<FunctionEvent id=0 name=block cpu_time=")


# -- the profile itself ------------------------------------------------------------------------


def test_a_profile_is_entered_once_and_asked_afterwards():
    prof = profile()
    with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
        prof.key_averages()
    assert str(prof) == "<unfinished profile>"
    with prof:
        with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
            prof.table()
        with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
            prof.__enter__()
    with pytest.raises(RuntimeError, match="not reentrant"), prof:
        pass


def test_a_disabled_profile_notes_nothing():
    with profile(enabled=False) as prof:
        assert not modes.special
        rg.ones(2).exp()
    assert prof is None


def test_profiles_nest():
    with profile() as outer:
        rg.ones(2).exp()
        with profile() as inner, record_function("block"):
            rg.ones(2).sin()
    assert "sin" in names(outer)
    assert "exp" not in names(inner)
    assert names(inner).count("block") == names(outer).count("block") == 1


def test_only_the_calling_thread_is_profiled():
    def work():
        rg.ones(2).cos()

    with profile() as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        rg.ones(2).exp()
    assert "cos" not in names(prof)
    assert prof.function_events[-1].thread == threading.get_ident()


def test_threads_may_profile_at_the_same_time():
    barrier = threading.Barrier(4)
    found = {}

    def work(index):
        x = rg.ones(index + 1, requires_grad=True)
        barrier.wait()
        with profile(record_shapes=True) as prof:
            for _ in range(20):
                x.exp().sum().backward()
        found[index] = prof

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, prof in found.items():
        assert average(prof, "exp").count == 20
        shapes = {str(e.input_shapes) for e in prof.function_events if e.name == "exp"}
        assert shapes == {f"[[{index + 1}]]"}
    assert not modes.special


def test_nothing_is_left_on_the_hot_path_afterwards():
    with profile():
        assert modes.special
    with pytest.raises(KeyError), profile():
        raise KeyError
    assert not modes.special


def test_a_watcher_sees_and_may_replace_results():
    class Zero(Watcher):
        def __init__(self):
            self.seen = []

        def compute(self, op, arrays, params, proceed):
            return 0 * proceed(arrays, params)

        def made(self, op, inputs, params, outputs):
            self.seen.append((op.name, len(inputs), params, outputs[0].tolist()))

    x = rg.ones(2)
    with Zero() as watcher:
        y = x.exp()
        x.cumsum(dim=0)
    assert y.tolist() == [0, 0]
    assert watcher.seen[0] == ("exp", 1, {}, [0, 0])
    assert watcher.seen[1][2]["dim"] == 0


def test_a_watcher_sees_the_op_that_runs_on_all_examples_and_no_batch():
    class Kinds(Watcher):
        def __init__(self):
            self.seen = []

        def compute(self, op, arrays, params, proceed):
            self.seen += [(op.name, type(array).__name__, array.shape) for array in arrays]
            return proceed(arrays, params)

    with Kinds() as watcher:
        rg.func.vmap(lambda x: (2.0 - x).exp())(rg.ones(3, 2))
    assert watcher.seen == [
        ("sub", "ndarray", ()),
        ("sub", "ndarray", (3, 2)),
        ("exp", "ndarray", (3, 2)),
    ]


def test_profiles_are_freed_by_reference_counts():
    gc.collect()
    gc.disable()
    try:
        x = rg.ones(2, requires_grad=True)
        with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
            with record_function("block"):
                y = x.exp()
            y.sum().backward()
        refs = [weakref.ref(event) for event in prof.function_events]
        refs += [weakref.ref(prof), weakref.ref(y), weakref.ref(y.grad_fn)]
        del prof, y
        assert [ref() for ref in refs] == [None] * len(refs)
    finally:
        gc.enable()


def event(number, start, end, thread=0):
    return FunctionEvent(
        id=number, node_id=0, name="foo", thread=thread, start_us=start, end_us=end
    )


def test_averages_are_made_of_events_and_averages():
    average = FunctionEventAvg()
    average.add(event(0, 10, 15)).add(event(1, 20, 30))
    average.add(average)
    assert (average.key, average.count) == ("foo", 4)
    assert (average.cpu_time_total, average.cpu_time, average.device_time_total) == (30, 7.5, 0)


def test_programs_ask_whether_a_profile_runs():
    assert not rg.autograd._profiler_enabled()
    with profile(use_kineto=rg.autograd.kineto_available(), with_flops=True):
        assert rg.autograd._profiler_enabled()
    assert not rg.autograd._profiler_enabled()
    with pytest.raises(RuntimeError, match="nothing but the cpu"):
        profile(use_device="cuda")


def test_a_profile_of_no_gpu_is_what_programs_ask_for_by_use_cuda():
    with profile(use_cuda=False) as prof:
        square().exp()
    assert "exp" in names(prof)


def test_a_profile_of_a_gpu_warns_and_is_of_the_cpu():
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        prof = profile(use_cuda=True)
    with prof:
        square().exp()
    assert "exp" in names(prof)


def test_marks_for_cuda_are_refused_where_they_are_enabled():
    with autograd.profiler.emit_nvtx(enabled=False):
        pass
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        autograd.profiler.emit_nvtx().__enter__()


@pytest.mark.parametrize("name", ["emit_itt", "load_nvprof"])
def test_marks_for_profilers_of_accelerators_are_absent_with_a_reason(name):
    with pytest.raises(AttributeError, match=f"'{name}': they mark ops for profilers of acc"):
        getattr(autograd.profiler, name)
    assert not hasattr(autograd.profiler, "nothing")


def test_operations_of_products_are_counted_where_asked_for():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    with profile(with_flops=True) as prof:
        net(rg.ones(2, 3))
    assert {event.key: event.flops for event in prof.key_averages()} == {"linear": 48, "relu": 0}
    assert "Total FLOPs" in prof.key_averages().table()
    with profile() as prof:
        net(rg.ones(2, 3))
    assert not any(event.flops for event in prof.function_events)


def test_columns_of_the_table_are_as_wide_as_pytorchs():
    with profile() as prof:
        rg.ones(1).exp()
    lines = prof.key_averages().table().splitlines()
    titles = ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")
    assert lines[1] == "   Name  " + "".join(title.rjust(12) + "  " for title in titles)
    assert lines[0] == "-------  " + 6 * "------------  "
