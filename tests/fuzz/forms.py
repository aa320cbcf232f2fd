"""What programs are made of: forms of statements, one a line.

In a form, {v}, {w}, {u} are variables and {n} is a number; after `:` comes the shape of its result
as an expression in the shapes s, t of v, w (none: it is no new variable).
"""

from __future__ import annotations


def forms(text):
    """The forms of a text, as pairs."""
    lines = (line.strip() for line in text.strip().splitlines())
    return [tuple(part.strip() for part in (line + " : ").split(" : ")[:2]) for line in lines]


SMOOTH = ["sin", "cos", "tanh", "sigmoid", "neg", "square", "atan", "erf", "exp2", "deg2rad"]
KINKED = ["abs", "relu", "sign", "floor", "trunc", "frac", "round", "ceil"]
HOLOMORPHIC = ["sin", "cos", "neg", "square", "sgn", "tanh"]
EXACT = ["neg", "square", "abs"]
BINARY = ["add", "sub", "mul", "add", "mul", "maximum", "minimum", "fmax", "atan2", "hypot"]
COMPARISONS = ["eq", "gt", "le", "ne"]
SCALARS = ["2", "0.5", "-1", "3", "1.5", "True"]

MODES = """
L.no_grad()
L.enable_grad()
L.inference_mode()
L.set_grad_enabled(False)
L.inference_mode(False)
L.autograd.set_detect_anomaly(True)
L.autograd.graph.save_on_cpu()
L.autograd.graph.allow_mutation_on_saved_tensors()
saved_hooks(lambda t: t.clone(), lambda t: t)
saved_hooks(lambda t: (t.detach().clone(), 1), lambda t: t[0])
saved_hooks(lambda t: [t], lambda t: t[0])
saved_hooks(kept, lambda t: t)
saved_hooks(lambda t: kept(t[...]), lambda t: t)
""".strip().splitlines()

VIEWS = forms("""
    {v}.detach() : s
    {v}.data : s
    {v}.view_as({v}) : s
    {v}.view({v}.shape) : s
    {v}.unsqueeze(0) : 1, *s
    {v}.unsqueeze(-1) : *s, 1
    {v}[None] : 1, *s
    {v}.reshape(-1) : prod(s),
    {v}.view(-1) : prod(s),
    {v}.expand(2, *{v}.shape) : 2, *s
    {v}.squeeze() : [k for k in s if k != 1]
    {v}.contiguous() : s
    {v}.positive() : s
    {v}.to({v}.dtype) : s
    {v}.expand_as(L.zeros(2, *{v}.shape)) : 2, *s
    L.atleast_1d({v}) : s or (1,)
""")
VIEWS_ALONG = forms("""
    {v}.transpose(0, -1) : [s[-1], *s[1:-1], s[0]][:len(s)]
    {v}.flatten() : prod(s),
    {v}[..., -1] : s[:-1]
    {v}[1:] : s[0] - 1, *s[1:]
    {v}[1:] : s[0] - 1, *s[1:]
    {v}[::2] : (s[0] + 1) // 2, *s[1:]
    {v}[0] : s[1:]
    {v}[0] : s[1:]
    {v}.select(0, 0) : s[1:]
    {v}.narrow(0, 0, 1) : 1, *s[1:]
    {v}.unbind(0)[0] : s[1:]
    {v}.split(1)[-1] : 1, *s[1:]
    {v}.chunk(2)[0] : (s[0] + 1) // 2, *s[1:]
    {v}.movedim(0, -1) : *s[1:], s[0]
    {v}.unflatten(0, (1, -1)) : 1, *s
    {v}.tensor_split(2)[0] : (s[0] + 1) // 2, *s[1:]
    {v}.squeeze(0) : s[1:] if s[0] == 1 else s
    {v}.unfold(0, 2, 1) : max(s[0] - 1, 0), *s[1:], 2
""")
VIEWS_OF_MATRICES = forms("""
    {v}.t() : s[::-1]
    {v}.T : s[::-1]
    {v}.mT : s[::-1]
    {v}.diagonal() : min(s),
""")
VIEWS_OF_COMPLEX = forms("""
    {v}.real : s
    {v}.imag : s
    L.view_as_real({v}) : *s, 2
""")

COPIES = forms("""
    {v}[[0, -1]] : 2, *s[1:]
    {v}[L.tensor([-1, 0, 0])] : 3, *s[1:]
    {v}.index_select(0, L.tensor([1, 0])) : 2, *s[1:]
    {v}.flip(0) : s
    {v}.roll(1, 0) : s
    {v}.clone() : s
    {v}.take(L.tensor([0, -1])) : 2,
    {v}.cumsum(0) : s
    {v}[:2].cumprod(0) : min(2, s[0]), *s[1:]
    {v}.diff(dim=0) : s[0] - 1, *s[1:]
    {v}.scatter(0, L.zeros({v}.shape, dtype=L.int64), 1.5) : s
    {v}.index_add(0, L.tensor([0, 0]), {w}[:2]) : s
    {v}.index_copy(0, L.tensor([1]), {w}[:1]) : s
    {v}.index_fill(0, L.tensor([1]), 2) : s
    L.einsum("i...,i...->i...", {v}, {w}) : s
    L.nn.functional.pad({v}, (1, 1)) : *s[:-1], s[-1] + 2
    L.nn.functional.dropout({v}, 0.0) : s
    L._foreach_add([{v}], [{w}])[0] : s
    {v}.masked_fill({v}.abs() > 0.3, 1) : s
    {v}.gather(0, L.zeros({v}.shape, dtype=L.int64)) : s
    {v}.repeat(2, *[1] * ({v}.ndim - 1)) : 2 * s[0], *s[1:]
    {v}.sort(0)[0] : s
    L.cat([{v}, {w}]) : 2 * s[0], *s[1:]
    L.stack([{v}, {w}]) : 2, *s
    L.where({v}.abs() > 1, {v}, {w}) : s
    L.lerp({v}, {w}, 0.5) : s
    L.addcmul({v}, {w}, {v}, value=2) : s
    L.add({v}, {w}, alpha=2) : s
    L.zeros_like({v}) : s
    L.zeros_like({v}).index_put((L.tensor([0]),), {v}[0]) : s
""")
REDUCTIONS = forms("""
    {v}.sum() : ()
    {v}.mean() : ()
    {v}.mean({d}, keepdim=True) : *s[:d], 1, *s[d + 1:]
    {v}.sum({d}) : *s[:d], *s[d + 1:]
    {v}.sum({d}) : *s[:d], *s[d + 1:]
    {v}.prod({d}) : *s[:d], *s[d + 1:]
""")
REAL_REDUCTIONS = forms("""
    {v}.select_scatter({w}[0], 0, 1) : s
    {v}.slice_scatter({w}[1:], 0, 1) : s
    {v}.amax({d}) : *s[:d], *s[d + 1:]
    {v}.max({d})[0] : *s[:d], *s[d + 1:]
    {v}.min({d}, keepdim=True)[0] : *s[:d], 1, *s[d + 1:]
    {v}.logsumexp({d}) : *s[:d], *s[d + 1:]
    {v}.nansum({d}) : *s[:d], *s[d + 1:]
    {v}.median() : ()
    {v}.max() : ()
    L.nn.functional.mse_loss({v}, {w}) : ()
    L.nn.functional.softmax({v}, -1) : s
    L.nn.functional.log_softmax({v}, 0) : s
    L.nn.functional.gelu({v}) : s
    L.nn.functional.silu({v}) : s
    L.nn.functional.leaky_relu({v}, 0.5) : s
    L.nn.functional.softplus({v}) : s
    L.nn.functional.elu({v}) : s
    L.nn.functional.layer_norm({v}, {v}.shape[-1:]) : s
""")

FILLS = forms("""
    {v}.fill_({n})
    {v}.zero_()
    {v}.masked_fill_({v} == 0.5, {n})
    {v}.masked_fill_(L.tensor(True), 1)
    {v}[{v} == 0.5] = {n}
    {v}.add_({v}.detach().clone())
    L.nn.init.constant_({v}, {n})
    {v}.resize_({v}.shape)
    {v} *= {n}
    L._foreach_mul_([{v}], {n})
    {v}.squeeze_()
    {v}.unsqueeze_(0)
""")
REAL_FILLS = forms("""
    {v}.clamp_(-1, 1)
    {v}.clamp_(min={n})
    L.nn.functional.relu({v}, inplace=True)
    L.nn.functional.elu({v}, inplace=True)
    L.nn.functional.leaky_relu({v}, 0.5, inplace=True)
    L.nn.functional.silu({v}, inplace=True)
    L.nn.functional.hardtanh({v}, inplace=True)
    L.nn.functional.dropout({v}, 0.0, inplace=True)
""")
FILLS_ALONG = forms("""
    {v}[0] = {n}
    {v}[[0, -1]] = {n}
    {v}.index_fill_(0, L.tensor([0]), {n})
    {v}.transpose_(0, -1)
    {v}.cumsum_(0)
    {v}[1:].zero_()
    {v}[..., 0].fill_({n})
""")
COPIES_OVER = forms("""
    {v}.copy_({w})
    {v}.copy_({w})
    {v}[...] = {w}
    {v}.addcmul_({w}, {w})
    {v}.masked_scatter_({v} == {v}, {w}.expand_as({v}).to({v}.dtype))
    {v}.sub_({w}, alpha=2)
    {v} += {w}
    {v} *= {w}
    {v}.lerp_({w}, 0.5)
    L._foreach_add_([{v}], [{w}])
    L._foreach_mul_([{v}], [{w}])
""")
COPIES_INTO = forms("""
    {v}[0] = {w}
    {v}[-1:] = {w}
    {v}[L.tensor([0])] = {w}.to({v}.dtype)
    {v}.index_add_(0, L.tensor([0]), {w}.expand_as({v}[0])[None].to({v}.dtype))
    {v}.index_copy_(0, L.tensor([0]), {w}.expand_as({v}[0])[None].to({v}.dtype))
    {v}.index_put_((L.tensor([0, 0]),), {w}.to({v}.dtype), accumulate=True)
    {v}.scatter_add_(0, L.zeros({v}.shape, dtype=L.int64), {w}.expand_as({v}).to({v}.dtype))
    {v}[0].copy_({w})
    {v}[1:].mul_({w})
""")
SWAPS = forms("""
    {v}.data = {w}
    {v}.data = {w}.detach().clone().to({v}.dtype)
    {v}.data.mul_(2)
    {v}.data.zero_()
    {v}.detach().mul_(2)
    {v}.detach()[...] = {n}
    KEPT[-1].mul_(2)
    KEPT[-1].mul_(2)
    {v}.grad_fn._saved_self.mul_(2)
    {v}.grad_fn._saved_result.mul_(2)
    {v}.grad_fn._saved_other.mul_(2)
    {v}.grad.mul_(2)
    {v}.grad.detach_()
    {v}.grad.requires_grad_()
    {v}.detach_()
    {v}.requires_grad_()
    {v}.requires_grad_(False)
    {v}.requires_grad = True
    {v}.grad = None
    {v}.grad = {w}.detach().clone().to({v}.dtype)
    with L.no_grad(): {v}.add_(1)
    with L.no_grad(): {v}.zero_()
    L.set_grad_enabled(True)
    L.set_grad_enabled(False)
""")

FUNCTIONS = forms("""
    Cube.apply({v}) : s
    Tanh.apply({v}) : s
    Double_.apply({v}) : s
    Alias.apply({v}) : s
    Same.apply({v}) : s
    Wide.apply({v}) : s
    Wrong.apply({v}) : ()
    Both.apply({v}, {w})[0] : s
    Both.apply({v}, {w})[1] : s
    Order.apply({v})[0] : s
    Into.apply({v}, {w})[0] : s
    Into.apply({v}, {w})[1] : s
    Inner.apply({v}) : s
    Once.apply({v}) : s
    Part.apply({v}, {w}) : s
    again_inside(lambda x: {f}, {v}) : s
    saved({v}) : s
    pickled({v}) : s
    again(lambda x: {f}, {v}) : s
""")
TRANSFORMS = forms("""
    L.func.grad(lambda x: ({f}).sum())({v}) : s
    L.func.vjp(lambda x: {f}, {v})[1]({v}.detach())[0] : s
    L.func.jvp(lambda x: {f}, ({v}.detach(),), (L.ones_like({v}),))[1] : s
    L.func.jacrev(lambda x: {f})({v}).sum() : ()
    L.func.jacfwd(lambda x: {f})({v}.detach()).sum() : ()
    L.func.hessian(lambda x: ({f}).sum())({v}).sum() : ()
    L.func.vmap(lambda x: {g})({v}) : s
    L.func.vmap(L.func.grad(lambda x: ({g}).sum()))({v}) : s
    tangent(lambda x: {f}, {v}.detach()) : s
    tangent(lambda x: {f}, {v}) : s
    L.autograd.functional.jacobian(lambda x: {f}, {v}).sum() : ()
    L.autograd.functional.hvp(lambda x: ({f}).sum(), {v}, L.ones_like({v}))[1] : s
""")

HOOKS = forms("""
    {v}.register_hook(lambda g: note("{v}", g))
    {v}.register_hook(lambda g: g * 2)
    {v}.register_hook(lambda g: -g)
    {v}.register_hook(lambda g: g.double())
    {v}.register_hook(lambda g: g.sum())
    {v}.retain_grad()
    {v}.retain_grad()
    {v}.register_post_accumulate_grad_hook(lambda p: note("{v}", p.grad))
    {v}.register_post_accumulate_grad_hook(lambda p: note("{v}", p.grad.mul_(2)))
    {v}.register_post_accumulate_grad_hook(lambda p: note("{v}", p.data.sub_(p.grad)))
    {v}.grad_fn.register_hook(lambda i, o: note("{v}", *o))
    {v}.grad_fn.register_prehook(lambda o: note("{v}", *o))
    {v}.grad_fn.register_prehook(lambda o: tuple(g * 2 for g in o))
    L.autograd.graph.register_multi_grad_hook([{v}, {w}], lambda gs: note_all("{v}", gs))
    L.autograd.graph.register_multi_grad_hook([{v}, {w}], lambda g: note("{v}", g), mode="any")
    {v}.register_hook(lambda g: {w}.detach().sum() * g)
    {v}.grad_fn.register_hook(lambda i, o: tuple(None if g is None else g * 2 for g in i))
""")
OPTIMIZERS = """
SGD([{v}], lr=0.5)
SGD([{v}], lr=0.5, momentum=0.5)
Adam([{v}], lr=0.5)
AdamW([{v}], lr=0.5)
RMSprop([{v}], lr=0.5)
Adagrad([{v}], lr=0.5)
""".strip().splitlines()
STEPS = forms("""
    {o}.step()
    {o}.step()
    {o}.zero_grad()
    {o}.zero_grad(set_to_none=False)
    L.nn.utils.clip_grad_norm_([{v}], 1.0)
    L.nn.utils.clip_grad_value_([{v}], 0.5)
""")
