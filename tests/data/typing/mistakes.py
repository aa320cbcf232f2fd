"""What type checkers must refuse: each line is an error, or its `ignore` would be one."""

# mypy: warn-unused-ignores

from __future__ import annotations

import retrograd as rg
import retrograd.nn.functional as F


def mistakes(x: rg.Tensor) -> None:
    """Names that do not exist, and arguments of other types."""
    x.sume()  # type: ignore[attr-defined]
    rg.randnn(2)  # type: ignore[attr-defined]
    F.rellu(x)  # type: ignore[attr-defined]
    x.sum(dimm=1)  # type: ignore[call-arg]
    x.sum(dim="rows")  # type: ignore[arg-type]
    rg.cat(1)  # type: ignore[arg-type]
    rg.zeros(2, dtype="float")  # type: ignore[arg-type]
    x.requires_grad_("yes")  # type: ignore[arg-type]
    x.max(0).position  # type: ignore[attr-defined]
    x.shape = (2,)  # type: ignore[misc, assignment]
    x + "1"  # type: ignore[operator]
    y: int = x.sum()  # type: ignore[assignment]
    rg.nn.Linear("2", y)  # type: ignore[arg-type]
    rg.nn.Linear(2, 1)("x")  # type: ignore[arg-type]
    rg.autograd.grad(x, x, create_graphs=True)  # type: ignore[call-overload]
    rg.nn.Linear(2, 1)(x, x)  # type: ignore[call-arg]
    rg.nn.Liner(2, 1)  # type: ignore[attr-defined]
    rg.nn.modules.Liner(2, 1)  # type: ignore[attr-defined]
    rg.nn.utils.clip_grad_norms_([x], 1.0)  # type: ignore[attr-defined]
    rg.optim.Adamm([x])  # type: ignore[attr-defined]
    rg.optim.lr_scheduler.StepLr  # type: ignore[attr-defined]
    rg.func.gradd(rg.sin)  # type: ignore[attr-defined]
    rg.autograd.grd(x, x)  # type: ignore[attr-defined]
    rg.utils.dat  # type: ignore[attr-defined]
    rg.utils.data.Dataloader([x])  # type: ignore[attr-defined]
    x.sum(axes=0)  # type: ignore[call-arg]
    x.sum(axis="rows")  # type: ignore[arg-type]
    rg.cat([x, x], axes=0)  # type: ignore[call-arg]
    rg.func.grad(rg.sin)("x")  # type: ignore[arg-type]
    rg.vmap(rg.sin)(1)  # type: ignore[arg-type]
    rg.func.vjp(rg.sin, x)[1](1)  # type: ignore[arg-type]
    rg.func.jvp(rg.sin, (x,), (x,)).shape  # type: ignore[attr-defined]
    rg.func.hessian(rg.sin)("x")  # type: ignore[call-overload]
    x.sun()  # type: ignore[attr-defined]
    rg.conv2D(x, x)  # type: ignore[attr-defined]
    rg.optim.SGD([x], lrr=0.1)  # type: ignore[call-arg]
    rg.nn.Conv2d(1, 2, 3, pading=1)  # type: ignore[call-arg]
    rg.compile(rg.sin, fullgraf=True)  # type: ignore[call-overload]
    x.item().sun()  # type: ignore[union-attr]
    x.tolist().sum()  # type: ignore[attr-defined]
    rg.nn.Linear(2, 1).state_dict().wieght  # type: ignore[attr-defined]
    for a, b in rg.utils.data.DataLoader([1.0]):
        a + "1" + b  # type: ignore[operator]
    rg.utils.data.DataLoader([x], batchsize=2)  # type: ignore[call-overload]
    rg.utils.data.DataLoader(3)  # type: ignore[call-overload]
