"""What programs keep on tensors, apart from what the engine does."""

import copy
import pickle

import pytest

import retrograd as rg


class Noted(rg.Tensor):
    pass


def noted():
    x = rg.ones(3).as_subclass(Noted).requires_grad_()
    (x * 2).sum().backward()
    x.note = ["n"]
    return x


def test_vars_of_a_tensor_are_what_the_program_stored():
    x = noted()
    view = x.detach()[1:]
    view.label = "v"
    assert vars(x) == {"note": ["n"]}
    assert vars(view) == {"label": "v"}
    assert vars(copy.copy(x)) == {"note": ["n"]}
    assert "grad" not in repr(vars(x))
    assert isinstance(x.__dict__, dict)
    assert len(vars(rg.ones(1))) == 0


def test_attributes_copied_from_one_tensor_to_another_leave_its_gradient_and_history():
    x = noted()
    y = (x * 3).detach().requires_grad_()
    y.__dict__.update(x.__dict__)
    assert y.note is x.note
    assert y.grad is None
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5, 5, 5]
    assert x.grad.tolist() == [2, 2, 2]


def test_attributes_copied_from_a_view_do_not_make_another_tensor_one():
    base = rg.zeros(3)
    view = base[1:]
    view.note = 1
    y = rg.ones(2)
    y.__dict__ = copy.deepcopy(vars(view))
    y.add_(1)
    assert y._base is None
    assert y.note == 1
    assert base.tolist() == [0, 0, 0]


def test_a_new_dictionary_leaves_what_the_engine_keeps():
    x = noted()
    x.__dict__ = {"other": 2}
    assert vars(x) == {"other": 2}
    assert x.grad.tolist() == [2, 2, 2]
    view = (x * 2)[1:]
    view.__dict__ = {}
    assert view._base is not None


def test_the_dictionary_of_a_tensor_is_used_as_others_are():
    x = noted()
    own = vars(x)
    own["more"] = 1
    assert x.more == 1
    assert {**own} == own | {} == {} | own == dict(own) == own.copy()
    assert list(reversed(own)) == ["more", "note"]
    assert own.pop("more") == 1
    assert "more" not in own
    own |= {"last": 3}
    assert x.last == 3
    assert type(copy.deepcopy(own)) is type(pickle.loads(pickle.dumps(own))) is dict
    del own["last"]
    assert not hasattr(x, "last")


def test_the_names_of_the_engine_are_refused_in_the_dictionary():
    x = noted()
    with pytest.raises(KeyError):
        vars(x)["_gradient"]
    with pytest.raises(KeyError):
        del vars(x)["_gradient"]
    with pytest.raises(AttributeError, match="another"):
        vars(x)["_gradient"] = None
