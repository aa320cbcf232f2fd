"""The optimizer base: groups, state, hooks, text."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd import pytree
from retrograd.nn import Parameter, ParameterList
from retrograd.optim import SGD, Adam, Optimizer


def leaf(*values):
    return rg.tensor(list(values), requires_grad=True)


def test_groups_have_their_own_settings_and_the_defaults_fill_the_rest():
    a, b = leaf(1.0), leaf(1.0)
    optimizer = SGD([{"params": [a]}, {"params": b, "lr": 1.0}], lr=0.1)
    a.grad, b.grad = rg.ones(1), rg.ones(1)
    optimizer.step()
    assert a.item() == pytest.approx(0.9)
    assert b.item() == 0.0
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0]


def test_add_param_group_adds_to_a_running_optimizer():
    a, b = leaf(1.0), leaf(1.0)
    optimizer = SGD([a], lr=0.5)
    optimizer.add_param_group({"params": [b], "lr": 0.25})
    b.grad = rg.ones(1)
    optimizer.step()
    assert b.item() == 0.75


def test_named_parameters_are_accepted():
    optimizer = SGD(rg.nn.Linear(2, 1).named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]


@pytest.mark.parametrize(
    ("params", "kind", "text"),
    [
        (lambda: rg.ones(1), TypeError, "should be an iterable of Tensors or dicts"),
        (list, ValueError, "optimizer got an empty parameter list"),
        (lambda: [1.0], TypeError, "optimizer can only optimize Tensors"),
        (lambda: [leaf(1.0) * 2], ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: [{"params": {leaf(1.0)}}], TypeError, "ordered collections"),
    ],
)
def test_parameters_that_cannot_be_optimized_raise(params, kind, text):
    with pytest.raises(kind, match=text):
        SGD(params(), lr=0.1)


def test_a_parameter_in_two_groups_raises():
    a = leaf(1.0)
    with pytest.raises(ValueError, match="more than one parameter group"):
        SGD([{"params": [a]}, {"params": [a]}], lr=0.1)


def test_zero_grad_drops_or_fills_gradients():
    a = leaf(1.0)
    optimizer = SGD([a], lr=0.1)
    a.grad = rg.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert a.grad is None


def test_a_closure_runs_with_gradients_and_its_loss_is_returned():
    a = leaf(2.0)
    optimizer = SGD([a], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with rg.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert a.item() == 1.0


def test_a_saved_state_continues_the_trajectory():
    a = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    first = Adam([a], lr=0.1)
    for _ in range(2):
        a.grad = rg.tensor(np.sin(a._array))
        first.step()
    b = rg.tensor(a._array, requires_grad=True)
    second = Adam([b], lr=0.5)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert second.param_groups[0]["lr"] == 0.1
    for p, optimizer in ((a, first), (b, second)):
        p.grad = rg.tensor(np.sin(p._array))
        optimizer.step()
    assert (a._array == b._array).all()
    assert second.state[b]["step"].item() == first.state[a]["step"].item() == 3.0


def test_a_loaded_state_is_copied_and_takes_the_parameters_dtype():
    a = rg.tensor([1.0], dtype=rg.float64, requires_grad=True)
    saved = {"momentum_buffer": rg.tensor([2.0], dtype=rg.float32)}
    optimizer = SGD([a], momentum=0.9)
    state = optimizer.state_dict()
    state["state"] = {0: saved}
    optimizer.load_state_dict(state)
    loaded = optimizer.state[a]["momentum_buffer"]
    assert loaded.dtype is rg.float64
    assert loaded is not saved["momentum_buffer"]


def test_loaded_state_keeps_the_order_of_its_elements_in_memory():
    weight = rg.zeros(2, 3).t().requires_grad_()
    first, second = SGD([weight], 0.1, momentum=0.9), SGD([weight], 0.1, momentum=0.9)
    weight.sum().backward()
    first.step()
    second.load_state_dict(first.state_dict())
    buffer = second.state[weight]["momentum_buffer"]
    assert buffer.stride() == (1, 3)
    assert buffer.tolist() == [[1, 1]] * 3


def test_a_state_with_other_groups_raises():
    optimizer = SGD([leaf(1.0)], lr=0.1)
    state = optimizer.state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        SGD([{"params": [leaf(1.0)]}, {"params": [leaf(1.0)]}]).load_state_dict(state)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        SGD([leaf(1.0), leaf(1.0)]).load_state_dict(state)


def test_step_hooks_run_around_the_step_and_can_be_removed():
    a = leaf(1.0)
    optimizer, seen = SGD([a], lr=0.5), []
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(a.item()))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(a.item()))
    a.grad = rg.ones(1)
    optimizer.step()
    before.remove()
    optimizer.step()
    assert seen == [1.0, 0.5, 0.0]


def test_hooks_of_steps_get_and_give_the_optimizer_before_its_arguments():
    a = Parameter(rg.ones(1))
    optimizer, seen = rg.optim.SGD([a], lr=1.0), []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((*args, lambda: 5.0), kwargs))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append((o, *args)))
    assert optimizer.step() == 5.0
    assert seen[0][:2] == (optimizer, optimizer)


def test_hooks_of_a_step_that_calls_another_run_once():
    class Logged(rg.optim.Adam):
        def step(self, closure=None):
            return super().step(closure)

    optimizer, seen = Logged([leaf(1.0)]), []
    optimizer.register_step_pre_hook(lambda *args: seen.append("before"))
    optimizer.register_step_post_hook(lambda *args: seen.append("after"))
    optimizer.step()
    optimizer.step()
    assert seen == ["before", "after"] * 2


def test_a_momentum_that_was_saved_as_none_begins_with_the_gradient():
    a = leaf(1.0)
    optimizer = SGD([a], lr=0.5, momentum=0.9, dampening=0.5)
    saved = optimizer.state_dict()
    optimizer.load_state_dict({**saved, "state": {0: {"momentum_buffer": None}}})
    a.grad = rg.tensor([2.0])
    optimizer.step()
    assert (a.tolist(), optimizer.state[a]["momentum_buffer"].tolist()) == ([0.0], [2.0])


@pytest.mark.parametrize("differentiable", [False, True])
def test_a_setting_that_asks_for_more_state_after_the_first_step_is_an_error(differentiable):
    a = rg.ones(1)
    optimizer = rg.optim.Adam([a], differentiable=differentiable)
    a.grad = rg.ones(1)
    optimizer.step()
    optimizer.param_groups[0]["amsgrad"] = True
    with pytest.raises(KeyError, match="max_exp_avg_sq"):
        optimizer.step()


def test_a_state_that_cannot_be_copied_leaves_the_optimizer_as_it_was():
    class Stuck:
        def __deepcopy__(self, memo):
            raise TypeError("stuck")

    optimizer = SGD([leaf(1.0)], lr=0.5)
    saved = optimizer.state_dict()
    saved["param_groups"][0]["lr"] = Stuck()
    with pytest.raises(TypeError, match="stuck"):
        optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_what_is_fused_is_not_differentiable():
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        rg.optim.Adam([leaf(1.0)], fused=True, differentiable=True)


def test_a_users_own_rule_needs_only_a_step():
    class Sign(Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with rg.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        p.sub_(p.grad.sign() * group["lr"])

    a = leaf(1.0, -1.0)
    optimizer, seen = Sign([a], lr=0.5), []
    optimizer.register_step_post_hook(lambda *args: seen.append("hook"))
    a.grad = rg.tensor([3.0, -4.0])
    optimizer.step()
    assert a.tolist() == [0.5, -0.5]
    assert seen == ["hook"]


def test_the_text_lists_the_settings_of_each_group():
    assert repr(SGD([leaf(1.0)], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n"
        "    fused: None\n    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n"
        "    weight_decay: 0\n)"
    )


def test_an_optimizer_can_be_pickled_with_its_parameters():
    a = leaf(1.0, 2.0)
    optimizer = Adam([a], lr=0.1)
    a.grad = rg.ones(2)
    optimizer.step()
    other = pickle.loads(pickle.dumps(optimizer))
    (p,) = other.param_groups[0]["params"]
    assert p.tolist() == a.tolist()
    assert other.state[p]["exp_avg"].tolist() == optimizer.state[a]["exp_avg"].tolist()


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("holder", [lambda p: rg.optim.SGD([p], 0.1), lambda p: ParameterList([p])])
def test_zero_grad_fills_the_gradient_itself_where_it_has_a_history(holder):
    p = Parameter(rg.tensor([rg.inf]))
    (p * p).sum().backward(create_graph=True)
    seen = p.grad
    holder(p).zero_grad(set_to_none=False)
    assert p.grad is seen
    assert seen.tolist() == [0.0]
    assert not seen.requires_grad


# Of unitary matrices only: test_complex_rules.
APART = (rg.optim.UnitarySGD, rg.optim.UnitaryAdam)
EVERY = [
    made
    for made in vars(rg.optim).values()
    if isinstance(made, type) and issubclass(made, Optimizer) and made not in (Optimizer, *APART)
]


@pytest.mark.parametrize("make", [each for each in EVERY if each is not rg.optim.Muon])
def test_a_step_to_an_expanded_parameter_is_refused_before_anything_is_written(make):
    first, p = (rg.nn.Parameter(t) for t in (rg.zeros(3), rg.zeros(1).expand(3)))
    (first + p).sum().backward()
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        make([first, p], lr=1.0).step(*([lambda: 0.0] if make is rg.optim.LBFGS else []))
    assert first.tolist() == p.tolist() == [0, 0, 0]


def test_a_step_to_a_read_only_parameter_is_refused():
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    p = rg.nn.Parameter(rg.from_numpy(array))
    p.sum().backward()
    with pytest.raises(RuntimeError, match="read-only memory"):
        rg.optim.SGD([p], lr=1.0).step()


def test_groups_are_all_with_names_or_all_without():
    weight, other = rg.ones(1, requires_grad=True), rg.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="cannot add param group without names"):
        SGD([("weight", weight)], lr=0.1).add_param_group({"params": [other]})
    with pytest.raises(ValueError, match="cannot add param group with names"):
        SGD([weight], lr=0.1).add_param_group({"params": [("other", other)]})


@pytest.mark.parametrize("rule", [SGD, Adam])
def test_a_gradient_that_does_not_fit_its_parameter_is_named(rule):
    weight = rg.ones(3, requires_grad=True)
    weight.sum().backward()
    weight.data = rg.ones(2)
    with pytest.raises(RuntimeError, match=r"shape \[2\] doesn't match the broadcast shape \[3\]"):
        rule([weight], lr=0.1).step()


@pytest.mark.parametrize("make", EVERY)
def test_a_step_counts_one_write_to_the_parameter_and_to_its_state(make):
    p, other = rg.ones(2, 2, requires_grad=True), rg.ones(2, 2, requires_grad=True)
    optimizer = make([p, other], lr=0.1)

    def closure():
        p.grad = rg.ones(2, 2)
        return rg.tensor(1.0)

    optimizer.step(closure)
    if make is not rg.optim.LBFGS:  # which moves several times, and keeps lists
        assert p._version == 1
        assert all(t._version == 1 for t in optimizer.state.get(p, {}).values())
        assert other._version == 0
    assert p._version > 0


def test_values_that_were_saved_survive_a_step_where_mutation_is_allowed():
    p = rg.ones(2, requires_grad=True)
    p.grad = rg.ones(2)
    with rg.autograd.graph.allow_mutation_on_saved_tensors():
        loss = (p * p).sum()
        SGD([p], lr=0.1).step()
        loss.backward()
    assert p.grad.tolist() == [3.0, 3.0]


def test_a_step_to_an_inference_tensor_is_refused():
    with rg.inference_mode():
        p = rg.ones(2)
        p.grad = rg.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        SGD([p], lr=0.1).step()
    assert p.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rule", [SGD, Adam])
def test_a_large_gradient_of_another_shape_is_named_and_not_written_in_the_order_of_memory(rule):
    weight = rg.ones(200, 100, requires_grad=True)
    weight.sum().backward()
    weight.data = rg.ones(100, 200)
    with pytest.raises(RuntimeError, match=r"\[100, 200\] doesn't match .* \[200, 100\]"):
        rule([weight], lr=0.1).step()
    assert bool((weight == 1).all())


def test_a_state_that_does_not_fit_its_parameter_is_named():
    weight = rg.ones(3, requires_grad=True)
    weight.grad = rg.ones(3)
    optimizer = SGD([weight], lr=0.1, momentum=0.9)
    optimizer.step()
    weight.data, weight.grad = rg.ones(2), rg.ones(2)
    with pytest.raises(RuntimeError, match=r"\[2\] doesn't match .* \[3\] of its state 'momentum"):
        optimizer.step()


@pytest.mark.parametrize("make", EVERY)
def test_parameters_of_several_sizes_and_dtypes_are_updated_as_if_each_were_alone(make):
    if make is rg.optim.LBFGS:
        pytest.skip("LBFGS is one rule for all parameters together")
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((2, 3), (150, 120), (3, 1))]
    arrays.insert(1, arrays[0].astype(np.float32))
    arrays.append(arrays[1] + 1j * rng.normal(size=(2, 3)))
    together, alone = ([rg.tensor(a, requires_grad=True) for a in arrays] for _ in range(2))
    optimizers = [make(together, lr=0.1), *(make([p], lr=0.1) for p in alone)]
    for p in (*together, *alone):
        p.grad = p.detach() * 0.5
    for optimizer in optimizers:
        optimizer.step()
    for p, q, before in zip(together, alone, arrays, strict=True):
        assert p.tolist() == q.tolist()
        assert bool((p.detach() != rg.tensor(before)).any())


def test_lbfgs_goes_on_where_the_gradient_is_zero():
    w = rg.zeros(2, requires_grad=True)
    optimizer = rg.optim.LBFGS([w], tolerance_grad=-rg.inf)
    w.grad = rg.zeros(2)
    assert optimizer.step(lambda: 10.0) == 10.0
    assert w.tolist() == [0.0, 0.0]


def test_state_lies_in_memory_as_its_parameter():
    w = rg.randn(4, 3).t().requires_grad_()
    optimizer = rg.optim.Adam([w])
    (w * w).sum().backward()
    optimizer.step()
    assert optimizer.state[w]["exp_avg"].stride() == w.stride() == (1, 3)


def test_a_setting_that_an_optimizer_does_not_have_changes_nothing():
    w, other = (rg.tensor([1.0, -2.0], requires_grad=True) for _ in range(2))
    for optimizer in (
        rg.optim.Rprop([{"params": [w], "weight_decay": 5.0}]),
        rg.optim.Rprop([other]),
    ):
        (p,) = optimizer.param_groups[0]["params"]
        for _ in range(3):
            p.grad = 0.1 - p.detach() * 0.01
            optimizer.step()
    assert rg.equal(w, other)


def test_adafactor_takes_bfloat16():
    pytest.importorskip("ml_dtypes")
    w = rg.ones(3, 4, dtype=rg.bfloat16, requires_grad=True)
    optimizer = rg.optim.Adafactor([w], lr=0.5)
    (w * w).sum().backward()
    optimizer.step()
    assert rg.equal(w, rg.full((3, 4), 0.5, dtype=rg.bfloat16))


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
def test_states_of_half_floats_have_their_parameters_dtype_as_made_and_as_loaded(make, dtype):
    pytest.importorskip("ml_dtypes")

    def stepped(kind):
        w = Parameter(rg.eye(2, dtype=kind))
        optimizer = make([w], lr=0.25)

        def closure():
            w.grad = w.detach() / 2
            return w.detach().float().sum()

        for _ in range(2):
            optimizer.step(closure)
        return optimizer, closure

    def kinds(optimizer):
        leaves = pytree.flatten([*optimizer.state.values()])
        return {t.dtype for t in leaves if isinstance(t, rg.Tensor) and t.ndim}

    optimizer, closure = stepped(dtype)
    assert kinds(optimizer) <= {dtype}
    single, _ = stepped(rg.float32)
    optimizer.load_state_dict(single.state_dict())
    assert kinds(optimizer) <= {dtype}
    optimizer.step(closure)
    assert kinds(optimizer) <= {dtype}


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
def test_the_curvature_that_lbfgs_keeps_has_the_dtype_of_its_parameters(dtype):
    pytest.importorskip("ml_dtypes")
    w = rg.tensor([1.0, -2.0], dtype=dtype, requires_grad=True)
    optimizer = rg.optim.LBFGS([w], lr=0.25, max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    state = optimizer.state[w]
    assert {t.dtype for t in (state["H_diag"], *state["ro"])} == {dtype}
    assert abs(state["H_diag"].item() - 0.5) < 0.01  # the inverse second derivative


def test_an_optimizer_prints_as_pytorchs_unless_complex_numbers_are_taken_otherwise():
    w = rg.ones(2, requires_grad=True)
    assert "complex" not in repr(rg.optim.Adam([w]))
    assert "    complex: modulus\n" in repr(rg.optim.Adam([w], complex="modulus"))


def test_a_search_along_a_line_ends_where_the_loss_cannot_tell_steps_apart():
    p = rg.tensor([[1.5410, -0.2934], [-2.1788, 0.5684], [-1.0845, -1.3986]], requires_grad=True)
    optimizer, calls = rg.optim.LBFGS([p], line_search_fn="strong_wolfe"), []

    def closure():
        optimizer.zero_grad()
        loss = ((p**2 - 1) ** 2).sum() + (p[0] * p[1]).sum()
        loss.backward()
        calls.append(loss.item())
        return loss

    optimizer.step(closure)
    optimizer.step(closure)
    assert calls[-1] == -2.25
    assert len(calls) == 13  # as under PyTorch


def test_a_search_along_a_line_ends_at_a_loss_that_is_no_number():
    p = rg.tensor([1.0], requires_grad=True)
    optimizer = rg.optim.LBFGS([p], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (p - 2).log().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).isnan()


class Remembering(Optimizer):
    """Notes what it is given to restore."""

    seen = ()

    def __setstate__(self, state):
        super().__setstate__(state)
        self.seen = (*self.seen, *state)


def test_a_loaded_state_of_a_program_s_own_optimizer_keeps_its_values():
    p, q = rg.ones(2, requires_grad=True), rg.ones(2, dtype=rg.float64, requires_grad=True)
    first, second = Remembering([p], {"lr": 1.0}), Remembering([q], {"lr": 2.0})
    first.state[p].update(step=8, none=None, kept=[rg.ones(2), (1, {"a": rg.ones(2)})])
    second.load_state_dict(first.state_dict())
    own = second.state[q]
    assert type(own["step"]) is int
    assert (own["step"], own["none"]) == (8, None)
    listed, (one, deep) = own["kept"]
    assert (listed.dtype, one, deep["a"].dtype) == (rg.float64, 1, rg.float64)
    assert second.param_groups[0]["lr"] == 1.0


def test_loading_a_state_calls_setstate():
    made = Remembering([rg.ones(2, requires_grad=True)], {"lr": 1.0})
    made.load_state_dict(made.state_dict())
    assert made.seen == ("state", "param_groups")


def test_a_rule_counts_on_from_steps_that_were_saved_as_a_number():
    p = rg.ones(1, requires_grad=True)
    made = Adam([p])
    p.grad = rg.ones(1)
    made.step()
    state = made.state_dict()
    state["state"][0]["step"] = 8
    del state["param_groups"][0]["amsgrad"]
    made.load_state_dict(state)
    made.step()
    assert made.state[p]["step"].equal(rg.tensor(9.0))
    assert made.param_groups[0]["amsgrad"] is False


def test_a_state_has_the_keys_of_pytorchs():
    w = rg.ones(1, requires_grad=True)
    kept = rg.optim.Adam([w]).state_dict()["param_groups"][0]
    assert set(kept) == {
        *("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "foreach", "capturable"),
        *("differentiable", "fused", "decoupled_weight_decay", "params"),
    }
    whole = rg.optim.Adam([w], complex="modulus")
    assert whole.state_dict()["param_groups"][0]["complex"] == "modulus"


SETTINGS = {  # as PyTorch orders them
    "Adadelta": "lr rho eps weight_decay maximize capturable foreach differentiable",
    "Adafactor": "lr beta2_decay eps d weight_decay foreach maximize",
    "Adagrad": "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
    "differentiable fused",
    "Adam": "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
    "decoupled_weight_decay",
    "AdamW": "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
    "decoupled_weight_decay",
    "Adamax": "lr betas eps weight_decay foreach maximize differentiable capturable",
    "ASGD": "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable",
    "LBFGS": "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn",
    "Muon": "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn",
    "NAdam": "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
    "capturable differentiable",
    "RAdam": "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
    "differentiable",
    "RMSprop": "lr momentum alpha eps centered weight_decay capturable foreach maximize "
    "differentiable",
    "Rprop": "lr etas step_sizes foreach maximize differentiable capturable",
    "SGD": "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_group_lists_its_settings_in_the_order_of_pytorch_s(name):
    optimizer = getattr(rg.optim, name)([Parameter(rg.ones(2, 2))])
    assert list(optimizer.param_groups[0]) == ["params", *SETTINGS[name].split()]


@pytest.mark.parametrize("rate", [None, "x", [1.0], 1j])
def test_a_rate_that_is_no_number_is_a_type_error_at_the_step(rate):
    w = rg.nn.Parameter(rg.ones(1))
    w.grad = rg.ones(1)
    for optimizer in (rg.optim.SGD([w], lr=0.1), rg.optim.Adam([w], lr=0.1)):
        optimizer.param_groups[0]["lr"] = rate
        with pytest.raises(TypeError):
            optimizer.step()
    assert w.item() == 1.0


def test_an_optimizer_of_a_program_may_ask_whether_a_step_is_captured():
    class Descent(rg.optim.Optimizer):
        def step(self, closure=None):
            self._cuda_graph_capture_health_check()
            return "stepped"

    assert Descent([rg.ones(1, requires_grad=True)], {}).step() == "stepped"
