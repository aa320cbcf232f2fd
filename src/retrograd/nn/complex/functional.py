"""Functions of complex numbers that no real network has: activations, attention, rotation.

All of them keep the shape unless they say otherwise, and are differentiable at every order. At 0,
where a modulus has no derivative, it counts as 0, and z / |z| as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...engine.namespaces import recorded
from ...engine.tensor import Tensor
from ...ops.activation.softmax_functional import softmax
from ...ops.creation.factories import arange
from ...ops.creation.like import ones_like
from ...ops.elementwise.complex import polar
from ...ops.nn.dropout import dropout

__all__ = [
    "cardioid", "georgiou_koutsougeras", "gtrelu", "modrelu", "polar_tanh", "rotary_embedding",
    "scaled_dot_product_attention", "siglog", "split", "split_polar", "zrelu",
]  # fmt: skip


def check_complex(name: str, input: Tensor) -> None:
    """Raise ValueError for a tensor that is not complex."""
    if not input.dtype.is_complex:
        raise ValueError(
            f"{name}(): expected a complex tensor, got {input.dtype}. Make it complex: "
            "x.to(rg.complex64)"
        )


# -- activations -----------------------------------------------------------------------------------


def split(function: Callable[[Tensor], Tensor], input: Tensor) -> Tensor:
    """f(x) + i f(y) of z = x + i y: a real function on each part.

    input: complex, any shape (*); else ValueError. Source: the "split" or type A family, Kuroe et
    al., 2003.

    >>> rg.nn.complex.functional.split(rg.tanh, rg.tensor([100 - 100j]))
    tensor([1.-1.j])
    """
    check_complex("split", input)
    return recorded.complex(function(input.real), function(input.imag))


def split_polar(
    function: Callable[[Tensor], Tensor],
    input: Tensor,
    phase: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """f(|z|) e^{i phase(angle z)}: real functions of modulus and angle, `phase` by default none.

    input: complex, any shape (*); else ValueError. Without `phase` turning the input turns the
    output. Source: the "polar" or type B family, Kuroe et al., 2003.

    >>> rg.nn.complex.functional.split_polar(rg.tanh, rg.tensor([100j]))
    tensor([0.+1.j])
    """
    check_complex("split_polar", input)
    size = function(input.abs())
    if phase is None:
        return size * input.sgn()
    return polar(size, phase(input.angle()))


def polar_tanh(input: Tensor) -> Tensor:
    """tanh(|z|) z / |z|: within the unit disk, the phase kept. Complex (*), else ValueError.

    Source: Hirose, 1992.

    >>> rg.nn.complex.functional.polar_tanh(rg.tensor([100j]))
    tensor([0.+1.j])
    """
    return split_polar(recorded.tanh, input)


def zrelu(input: Tensor) -> Tensor:
    """z where both parts are positive, else 0. Complex (*), else ValueError.

    Holomorphic but on the edges of the first quadrant; derivative 0 there. Source: Guberman, 2016.

    >>> rg.nn.complex.functional.zrelu(rg.tensor([1 + 2j, 1 - 2j]))
    tensor([1.+2.j, 0.+0.j])
    """
    check_complex("zrelu", input)
    seen = (input.real > 0) & (input.imag > 0)
    return recorded.where(seen, input, recorded.zeros_like(input))


def modrelu(input: Tensor, bias: Tensor) -> Tensor:
    """relu(|z| + bias) z / |z|: the modulus shrunk or grown, the phase kept.

    input: complex, (*), else ValueError; bias: real, broadcast to it; a negative one makes a dead
    disk around 0. Source: Arjovsky, Shah and Bengio, ICML 2016.

    >>> rg.nn.complex.functional.modrelu(rg.tensor([3j, 0.5j]), rg.tensor(-1.0))
    tensor([0.+2.j, 0.+0.j])
    """
    check_complex("modrelu", input)
    return (input.abs() + bias).relu() * input.sgn()


def cardioid(input: Tensor) -> Tensor:
    """(1 + cos(angle z)) z / 2: as it is on the positive axis, 0 on the negative one.

    input: complex, (*), else ValueError. Computed as (1 + Re z / |z|) z / 2. Source: Virtue, Yu and
    Lustig, ICIP 2017.

    >>> rg.nn.complex.functional.cardioid(rg.tensor([2 + 0j, 2j, -2 + 0j]))
    tensor([2.+0.j, 0.+1.j, -0.+0.j])
    """
    check_complex("cardioid", input)
    return (1 + input.sgn().real) * 0.5 * input


def siglog(input: Tensor) -> Tensor:
    """z / (1 + |z|): into the unit disk, the phase kept. Complex (*), else ValueError.

    Source: Tygert et al., 2016, "siglog" being the logistic function of log |z|.

    >>> rg.nn.complex.functional.siglog(rg.tensor([1j, -3 + 0j]))
    tensor([ 0.0000+0.5000j, -0.7500+0.0000j])
    """
    return georgiou_koutsougeras(input)


def georgiou_koutsougeras(input: Tensor, c: float = 1.0, r: float = 1.0) -> Tensor:
    """z / (c + |z| / r): into the disk of radius r, of slope 1 / c at 0; the phase kept.

    input: complex, (*), else ValueError; `c` and `r` positive. Source: Georgiou and Koutsougeras,
    IEEE Trans. Circuits and Systems II 39 (1992).

    >>> rg.nn.complex.functional.georgiou_koutsougeras(rg.tensor([2j]), r=2.0)
    tensor([0.+1.j])
    """
    check_complex("georgiou_koutsougeras", input)
    return input / (c + input.abs() / r)


def gtrelu(input: Tensor, weight: Tensor, low: float = 0.0, high: float = math.pi / 2) -> Tensor:
    """`weight` times z, where its angle is in [low, high]; else |weight z| at the nearer end.

    input: complex, (*), else ValueError; weight: complex, broadcast to it; the angle is that of the
    product, and `low` to `high` an arc within (-pi, pi]. The phase is thresholded as ReLU
    thresholds a size; on the outside only the modulus is differentiable. Source: Singhal, Xing and
    Yu, "Co-domain symmetry for complex-valued deep learning", CVPR 2022.

    >>> rg.nn.complex.functional.gtrelu(rg.tensor([1 + 1j, -2j]), rg.tensor(1 + 0j))
    tensor([1.+1.j, 2.+0.j])
    """
    check_complex("gtrelu", input)
    scaled = input * weight
    away = scaled * complex(math.cos((low + high) / 2), -math.sin((low + high) / 2))
    angle, half = away.angle(), (high - low) / 2
    limit = angle.clamp(-half, half) + (low + high) / 2
    return recorded.where(angle.abs() <= half, scaled, polar(scaled.abs(), limit))


# -- attention -------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    scores: str = "real",
) -> Tensor:
    """Complex values averaged by the likeness of complex queries and keys, s = q k^H * scale.

    query: (..., L, E), key: (..., S, E), value: (..., S, V), complex, to (..., L, V). scale: by
    default 1/sqrt(E). scores: "real": the weights are softmax(Re s); "modulus": softmax(|s|);
    "phase": softmax(|s|) s / |s|, so that a value also turns by how key and query lie to each
    other. attn_mask: broadcast to (..., L, S), boolean, False where not to look, or real, added to
    what the softmax takes; is_causal: position i sees keys 0 to i. A row that sees nothing gives 0.
    Turning query and key by one phase changes nothing, turning the value turns the result. Raises
    ValueError for another name of `scores` and for inputs that are not complex, RuntimeError for a
    mask beside `is_causal`. Source: Vaswani et al., 2017; Yang et al., ICASSP 2020 ("modulus");
    Eilers and Jiang, ICASSP 2023 ("real", "phase").

    >>> q, k, v = rg.zeros(3, 1, 2, 4, dtype=rg.complex64)
    >>> rg.nn.complex.functional.scaled_dot_product_attention(q, k, v + 1j)[0, 0]
    tensor([0.+1.j, 0.+1.j, 0.+1.j, 0.+1.j])
    """
    if scores not in ("real", "modulus", "phase"):
        raise ValueError(f"scores must be 'real', 'modulus' or 'phase', got {scores!r}")
    if attn_mask is not None and is_causal:
        raise RuntimeError(
            "scaled_dot_product_attention: explicit attn_mask should not be set when is_causal=True"
        )
    for tensor in (query, key, value):
        check_complex("scaled_dot_product_attention", tensor)
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1])
    likeness = (query * scale) @ key.mH
    ranked = likeness.real if scores == "real" else likeness.abs()
    if is_causal:
        attn_mask = recorded.zeros_like(ranked).detach().eq(0).tril()
    weights = masked_softmax(ranked, attn_mask)
    if scores == "phase":
        weights = weights * likeness.sgn()
    weights = dropout(weights, dropout_p, dropout_p > 0)
    return (weights if scores == "phase" else weights.to(value.dtype)) @ value


def masked_softmax(ranked: Tensor, mask: Tensor | None) -> Tensor:
    """softmax over the last dimension of what the mask shows; 0 in a row that shows nothing."""
    if mask is None:
        return softmax(ranked, -1)
    if mask.dtype.is_floating_point:
        ranked, hidden = ranked + mask, mask == -math.inf
    else:
        hidden = ~mask
    hidden = hidden.expand(ranked.shape)
    blind = hidden.all(-1, keepdim=True)
    shown = softmax(ranked.masked_fill(hidden & ~blind, -math.inf).masked_fill(blind, 0.0), -1)
    return shown.masked_fill(blind, 0.0)


def rotary_embedding(input: Tensor, base: float = 10000.0, start: int = 0) -> Tensor:
    """z e^{i p w}: feature f of position p turned by p base^(-f / E), so that q k^H sees p - p'.

    input: complex, (..., L, E), else ValueError; `start` is the first position. Of a real tensor of
    2 E features, `view_as_complex` makes the pairs that are turned. Source: Su et al., "RoFormer",
    2021.

    >>> z = rg.ones(2, 2, dtype=rg.complex64)
    >>> rg.nn.complex.functional.rotary_embedding(z).angle()
    tensor([[0.0000, 0.0000],
            [1.0000, 0.0100]])
    """
    check_complex("rotary_embedding", input)
    length, width = input.shape[-2:]
    like = {"dtype": input.real.dtype, "device": input.device}
    speeds = base ** (-arange(width, **like) / width)
    angles = arange(start, start + length, **like).unsqueeze(-1) * speeds
    return input * polar(ones_like(angles), angles)
