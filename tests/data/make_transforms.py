"""Small programs of nested transforms, and what PyTorch's torch.func makes of them.

Each of `PROGRAMS` is a function of a library, `torch` or `retrograd`, and returns tensors in
containers. As a script, with PyTorch installed, this writes their values to `transforms.json`:

    python make_transforms.py
"""

import importlib
import itertools
import json
import math
from pathlib import Path

PATH = Path(__file__).with_name("transforms.json")
PROGRAMS = {}


def program(function):
    """Enter a program under its name."""
    PROGRAMS[function.__name__] = function
    return function


def spread(lib, *shape, seed=0):
    """A float64 tensor of numbers that look irregular, the same everywhere."""
    size = math.prod(shape)
    values = [math.sin(1.0 + 1.7 * seed + 2.3 * k + 0.01 * k * k) for k in range(size)]
    return lib.tensor(values, dtype=lib.float64).reshape(shape)


def complex_spread(lib, *shape):
    """The same, complex128."""
    return lib.complex(spread(lib, *shape), spread(lib, *shape, seed=3))


def flat(tree):
    """The tensors of nested containers, in order."""
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in flat(part)]
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in flat(part)]
    return [tree]


def slope(lib):
    """The derivative of a function of one number, in forward mode."""
    return lambda f: lambda x: lib.func.jvp(f, (x,), (lib.ones_like(x),))[1]


# -- nesting -----------------------------------------------------------------------------------


@program
def siskind_pearlmutter(lib):
    """d/dx (x · d/dy (x + y)) at 1, which is 1, in each mix of modes; and one with products."""
    modes = (lib.func.grad, slope(lib))
    one, two = lib.tensor(1.0, dtype=lib.float64), lib.tensor(2.0, dtype=lib.float64)
    return [
        (
            outer(lambda x, inner=inner: x * inner(lambda y: x + y)(one))(one),
            outer(lambda x, inner=inner: x * inner(lambda y: x * y * y)(two))(two),
        )
        for outer, inner in itertools.product(modes, repeat=2)
    ]


@program
def three_levels_of_mixed_variables(lib):
    modes = (lib.func.grad, slope(lib))
    found = []
    for a, b, c in itertools.product(modes, repeat=3):

        def one(x, b=b, c=c):
            return x * b(lambda y: x * y * c(lambda z: x * y * z**2)(y))(x * x)

        def other(x, b=b, c=c):
            return b(lambda y: c(lambda z: (x + y * z).sin() * z * x)(x + y))(x)

        found.append((a(one)(lib.tensor(1.5)), a(other)(lib.tensor(0.7))))
    return found


@program
def fourth_derivatives_in_every_mix_of_modes(lib):
    x, found = spread(lib, 4), []
    for order in itertools.product((lib.func.grad, slope(lib)), repeat=4):

        def f(x):
            return lib.sin(x) * x**3 + lib.exp(x)

        for derivative in order:
            f = derivative(f)
        found.append(lib.func.vmap(f)(x))
    return found


@program
def transforms_in_every_order(lib):
    """grad (of the sum), jvp and vmap composed in every order up to depth 3."""
    func = lib.func
    kinds = {
        "g": lambda f: func.grad(lambda x: f(x).sum()),
        "j": lambda f: lambda x: func.jvp(f, (x,), (x * 2 + 1,))[1],
        "v": func.vmap,
    }
    x, found = spread(lib, 3, 2, 2), []
    for depth in (1, 2, 3):
        for order in itertools.product("gjv", repeat=depth):
            if order.count("v") > 2:
                continue

            def f(x):
                return x.exp() * x.cos().sum()

            for kind in order:
                f = kinds[kind](f)
            found.append(f(x))
    return found


@program
def jacobians_in_every_order(lib):
    x, found = spread(lib, 3), []
    for depth in (1, 2, 3):
        for order in itertools.product((lib.func.jacrev, lib.func.jacfwd), repeat=depth):

            def f(x):
                return (x.exp() * x.flip(0)).cumsum(0)

            for jacobian in order:
                f = jacobian(f)
            found.append(f(x))
    return found


@program
def vmap_of_grad_of_jvp_of_vmap(lib):
    func = lib.func

    def inner(x):
        return func.vmap(lambda y: (y * x.sum()).sin() * y)(x).sum()

    def middle(x):
        return func.jvp(inner, (x,), (lib.ones_like(x) * x,))[1]

    return func.vmap(func.grad(middle))(spread(lib, 3, 4))


# -- containers, dimensions, arguments ---------------------------------------------------------


@program
def containers_of_arguments(lib):
    func = lib.func
    x = {"a": spread(lib, 3), "b": (spread(lib, 2, 3), [spread(lib, 3, seed=1)])}

    def f(x):
        return ((x["a"] * x["b"][0]).sum() * x["b"][1][0]).sum()

    def g(x):
        return {"o": x["a"] * 2, "p": (x["b"][0] ** 2,)}

    return (
        func.grad(f)(x),
        func.vmap(f, in_dims=({"a": 0, "b": (1, [None])},))(x),
        func.jacrev(g)(x),
        func.jacfwd(g)(x),
        func.hessian(f)(x),
    )


@program
def every_pair_of_dimensions(lib):
    x, dims = spread(lib, 2, 3, 4), (0, 1, 2, -1, -2, -3)
    return [lib.func.vmap(lambda x: x * 2, in_dims=i, out_dims=o)(x) for i in dims for o in dims]


@program
def nested_vmaps_over_different_dimensions(lib):
    vmap, x, y = lib.func.vmap, spread(lib, 3, 4), spread(lib, 5, 4, seed=1)
    inner = vmap(lambda a, b: a * b, in_dims=(0, None))
    return vmap(vmap(inner, in_dims=(None, 0)), in_dims=(1, 1))(x, y)


@program
def outputs_in_containers_and_chunks(lib):
    x = spread(lib, 5, 3)
    return [
        lib.func.vmap(lambda x: (x.sin(), {"s": x.sum()}), chunk_size=size, out_dims=(1, {"s": 0}))(
            x
        )
        for size in (None, 1, 2, 5, 7)
    ]


@program
def several_arguments(lib):
    x, func = spread(lib, 3), lib.func

    def f(a, b, c):
        return (a * b * c**2).sum()

    args = (x, x + 1, x + 2)
    numbers = (0, 2, -1, (0,), (0, 2), (2, 0))
    return (
        [func.grad(f, argnums=n)(*args) for n in numbers],
        [func.jacrev(f, argnums=n)(*args) for n in (0, (0, 2))],
        [func.jacfwd(f, argnums=n)(*args) for n in (0, (0, 2))],
        func.hessian(f, argnums=(0, 1))(*args),
    )


@program
def extras_and_keywords(lib):
    x, func = spread(lib, 4, 3), lib.func

    def f(x, k=2.0):
        return (x**2 * k).sum(), (x.sin(),)

    return (
        func.grad(f, has_aux=True)(x, k=3.0),
        func.grad_and_value(f, has_aux=True)(x),
        func.vmap(func.grad(f, has_aux=True))(x),
        func.jvp(f, (x,), (x,), has_aux=True),
        func.jacrev(lambda x: (x.sin(), x), has_aux=True)(x[0]),
        func.jacfwd(lambda x: (x.sin(), x), has_aux=True)(x[0]),
    )


# -- what functions close over -----------------------------------------------------------------


@program
def closures_over_leaves(lib):
    """Gradients with respect to a leaf that a transformed function uses."""
    func, x = lib.func, spread(lib, 4, 3)
    w = spread(lib, 3, seed=2).requires_grad_()

    def row(r):
        return (r**2 * w).sin().sum()

    outs = [
        func.vmap(func.grad(row))(x),
        func.grad(lambda x: func.vmap(row)(x).sin().sum())(x),
        func.jvp(lambda x: (x * w).sin(), (x,), (x * w,))[1],
        func.jacrev(lambda r: (r * w).sin())(x[0]),
        func.jacfwd(lambda r: (r * w).sin())(x[0]),
        func.hessian(row)(x[0]) ** 2,
    ]
    return [lib.autograd.grad(out.sum(), w) for out in outs]


@program
def a_gradient_step_differentiated_through(lib):
    """Model-agnostic meta-learning with three inner steps; Finn et al., 2017."""
    func, w = lib.func, spread(lib, 3)
    xs, ys = spread(lib, 5, 4, 3, seed=1), spread(lib, 5, 4, seed=2)

    def loss(w, x, y):
        return ((lib.tanh(x @ w) - y) ** 2).mean()

    def adapted(w, x, y):
        for _ in range(3):
            w = w - 0.1 * func.grad(loss)(w, x, y)
        return loss(w, x, y)

    def meta(w):
        return func.vmap(adapted, in_dims=(None, 0, 0))(w, xs, ys).mean()

    return meta(w), func.grad(meta)(w), func.hessian(meta)(w)


@program
def detached_and_unrecorded_parts(lib):
    x, func = spread(lib, 3), lib.func

    def detached(x):
        return (x * x.detach().sum()).sum()

    def unrecorded(x):
        with lib.no_grad():
            c = x.sum()
        return (x * c).sum()

    return [
        (
            func.grad(f)(x),
            func.jvp(f, (x,), (x + 1,)),
            func.vmap(func.grad(f))(lib.stack([x, x * 2])),
            func.grad(lambda x, f=f: func.vmap(f)(x).sum())(lib.stack([x, x * 2])),
        )
        for f in (detached, unrecorded)
    ]


# -- writing in place --------------------------------------------------------------------------


@program
def writes_inside(lib):
    func, x = lib.func, spread(lib, 3, 4)

    def chain(x):
        return x.clone().sin_().mul_(x).exp_()

    def assigned(x):
        y = lib.zeros_like(x)
        y[0] = x[1]
        y[1:3] += x[:2] * 2
        v = y[2:]
        v.mul_(x[2:])
        y.t()[0] = 5.0
        return y

    def grown(x):
        y = x.new_zeros(2, x.shape[0])
        y[0] = x
        y[1].add_(x.sum())
        y[:, 2:] *= 3
        return y

    return [
        (
            f(x[0]),
            func.vmap(f)(x),
            func.jacrev(f)(x[0]),
            func.jacfwd(f)(x[0]),
            func.grad(lambda x, f=f: (func.vmap(f)(x) ** 2).sum())(x),
            func.vmap(func.jacfwd(func.jacrev(f)))(x),
        )
        for f in (chain, assigned, grown)
    ]


@program
def written_arguments(lib):
    """A batched function that writes to its argument writes to all of it."""
    x, y = spread(lib, 3, 4), spread(lib, 3, 4)
    lib.func.vmap(lambda row: row.mul_(2))(x)
    lib.func.vmap(lambda column: column[0].mul_(2), in_dims=1)(y)
    return x, y


# -- complex numbers ---------------------------------------------------------------------------


@program
def complex_derivatives(lib):
    func, z = lib.func, complex_spread(lib, 3)

    def real(z):
        return (z.abs() ** 2 * z.angle()).sum()

    def free(z):
        return z * z.conj() * z

    return (
        func.grad(real)(z),
        func.vjp(free, z)[1](z),
        func.jvp(free, (z,), (z + 1j,)),
        func.vmap(func.grad(lambda z: z.abs() ** 3))(z),
        func.jvp(func.grad(real), (z,), (z * 2,)),
        func.grad(lambda x: lib.view_as_real(lib.exp(1j * x)).sum())(spread(lib, 3)),
    )


def stored(lib, t):
    """A tensor as [dtype, shape, numbers], complex ones as their parts."""
    numbers = lib.view_as_real(t.detach().resolve_conj()) if t.is_complex() else t.detach()
    digits = [float(f"{n:.12g}") for n in numbers.reshape(-1).tolist()]
    return [str(t.dtype).split(".")[1], list(t.shape), digits]


def main():
    torch = importlib.import_module("torch")
    found = {
        name: [stored(torch, t) for t in flat(function(torch))]
        for name, function in PROGRAMS.items()
    }
    PATH.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
