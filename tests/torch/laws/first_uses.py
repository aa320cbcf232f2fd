"""First uses of PyTorch's world that an interrupt or an error strikes: `tests.laws.first_uses`."""

from __future__ import annotations

from tests.laws.first_uses import main

import retrograd as rg


def traced():
    made = rg.fx.symbolic_trace(lambda x: x.sin() + x)
    return [made(rg.ones(2)), made.code]


def of_sparse():
    x = rg.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse()
    return [x.values(), (x @ rg.ones(2, 2)), x.to_dense()]


USES = {
    "fx": traced,
    "sparse": of_sparse,
    "nested": lambda: rg.nested.nested_tensor([rg.ones(2), rg.ones(3)]).to_padded_tensor(0.0),
    "masked": lambda: rg.masked.sum(rg.ones(3), mask=rg.tensor([True, False, True])),
    "foreach": lambda: rg._foreach_add([rg.ones(2), rg.ones(3)], 1.0),
    "amp": lambda: rg.autocast("cpu")(lambda: rg.ones(2, 2) @ rg.ones(2, 2))(),
    "jit": lambda: rg.jit.script(rg.nn.Linear(2, 2)).weight.shape,
    "library": lambda: rg.library.Library("first", "DEF").ns,
    "aten": lambda: rg.library.custom_op is not None,
}

if __name__ == "__main__":
    main(USES)
