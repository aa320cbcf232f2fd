"""Which hooks fire for which call, and what they see: one program per kind of call.

`run` carries a case out with either library and gives the events in order. As a script, with
PyTorch installed, this writes PyTorch's answers to `hook_calls.json`:

    python make_hook_calls.py
"""

import json
from pathlib import Path

PATH = Path(__file__).with_name("hook_calls.json")

CALLS = {
    "backward()": lambda lib, t: t["loss"].backward(),
    "backward(inputs=[x])": lambda lib, t: t["loss"].backward(inputs=[t["x"]]),
    "backward(inputs=[y])": lambda lib, t: t["loss"].backward(inputs=[t["y"]]),
    "backward(inputs=[w])": lambda lib, t: t["loss"].backward(inputs=[t["w"]]),
    "backward(inputs=[x, y])": lambda lib, t: t["loss"].backward(inputs=[t["x"], t["y"]]),
    "grad(x)": lambda lib, t: lib.autograd.grad(t["loss"], [t["x"]]),
    "grad(y)": lambda lib, t: lib.autograd.grad(t["loss"], [t["y"]]),
    "grad(w)": lambda lib, t: lib.autograd.grad(t["loss"], [t["w"]]),
    "grad(x, y)": lambda lib, t: lib.autograd.grad(t["loss"], [t["x"], t["y"]]),
}
WRITTEN = ["before the write", "after the write", "on the old node", "on the new node"]


def leaf(lib, value):
    """A leaf with one element."""
    return lib.tensor([value], dtype=lib.float64, requires_grad=True)


def number(g):
    """What a hook was given, as a number."""
    return None if g is None else g.item()


def plain(lib, call):
    """x and w are leaves, y = 2x is none; loss = 3y + 5w. Each hook changes nothing."""
    events = []
    x, w = leaf(lib, 1.0), leaf(lib, 1.0)
    y = x * 2
    loss = (y * 3 + w * 5).sum()
    named = {"x": x, "y": y, "w": w, "loss": loss}

    def see(name):
        def hook(*given):
            grads = given[0] if isinstance(given[0], tuple) else given[:1]
            events.append([name, [number(g) for g in grads]])

        return hook

    y.retain_grad()
    for name in "xyw":
        named[name].register_hook(see(f"tensor hook of {name}"))
    for name in "xw":
        named[name].register_post_accumulate_grad_hook(see(f"post-accumulate hook of {name}"))
        node = lib.autograd.graph.get_gradient_edge(named[name]).node
        node.register_prehook(see(f"node pre-hook of {name}"))
        node.register_hook(see(f"node hook of {name}"))
    y.grad_fn.register_prehook(see("node pre-hook of y"))
    y.grad_fn.register_hook(see("node hook of y"))
    found = CALLS[call](lib, named)
    if found is not None:
        events.append(["returned", [number(g) for g in found]])
    if y.grad is not None:
        events.append(["y.grad", [number(y.grad)]])
    return events


def written(lib, which):
    """y = 2x, then y.mul_(3) in place; loss = 5y. One hook of each kind, set when `which` says."""
    events = []
    x = leaf(lib, 1.0)
    y = x * 2
    old = y.grad_fn

    def see(name):
        def hook(*given):
            grads = given[0] if isinstance(given[0], tuple) else given[:1]
            events.append([name, [number(g) for g in grads]])

        return hook

    def on_tensor():
        y.register_hook(see("tensor hook"))
        y.retain_grad()

    def on_node(node):
        node.register_prehook(see("node pre-hook"))
        node.register_hook(see("node hook"))

    if which == "before the write":
        on_tensor()
    if which == "on the old node":
        on_node(old)
    y.mul_(3)
    if which == "after the write":
        on_tensor()
    if which == "on the new node":
        on_node(y.grad_fn)
    (y * 5).sum().backward()
    if "the write" in which:
        events.append(["y.grad", [number(y.grad)]])
    events.append(["x.grad", [number(x.grad)]])
    return events


def views(lib, _):
    """Hooks on a base and on a view of it, set before the view is written; and on the leaf."""
    events = []
    x = lib.tensor([1.0, 1.0], dtype=lib.float64, requires_grad=True)
    base = x * 2
    view = base[:1]
    base.register_hook(lambda g: events.append(["tensor hook of the base", g.tolist()]))
    view.register_hook(lambda g: events.append(["tensor hook of the view", g.tolist()]))
    base.retain_grad()
    view.retain_grad()
    view.mul_(3)
    (base * 5).sum().backward()
    for name, t in (("base.grad", base), ("view.grad", view), ("x.grad", x)):
        events.append([name, None if t.grad is None else t.grad.tolist()])
    return events


def run(lib):
    """The events of every case."""
    return {
        **{call: plain(lib, call) for call in CALLS},
        **{f"in place: {which}": written(lib, which) for which in WRITTEN},
        "in place: a view": views(lib, None),
    }


if __name__ == "__main__":
    import torch

    lines = [f"{json.dumps(case)}: {json.dumps(events)}" for case, events in run(torch).items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
