"""What programs may call besides the library `L`: source texts by name.

The interpreter runs all of them; a printed program has those that it uses.
"""

PRELUDE = {
    "note": """
def note(label, *seen):
    print(label, *seen)
""",
    "in_thread": """
def in_thread(work):
    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
""",
    "note_all": """
def note_all(label, seen):
    note(label, *(t for t in seen if t is not None))
""",
    "kept": """
KEPT = []
def kept(t):
    KEPT.append(t)
    return t
""",
    "written": """
def written(y, x):
    y = y * 1
    y[:1].mul_(x[:1])
    y[-1] = x[0] * 2
    y += x
    return y
""",
    "tangent": """
def tangent(f, x):
    from_dual = L.autograd.forward_ad
    with from_dual.dual_level():
        t = from_dual.unpack_dual(f(from_dual.make_dual(x, L.ones_like(x)))).tangent
        return L.zeros_like(x) if t is None else t
""",
    "saved": """
def saved(x):
    import io
    file = io.BytesIO()
    L.save(x, file)
    file.seek(0)
    return L.load(file)
""",
    "pickled": """
def pickled(x):
    import pickle
    return pickle.loads(pickle.dumps(x))
""",
    "again_inside": """
def again_inside(f, *inputs):
    return L.utils.checkpoint.checkpoint(f, *inputs, use_reentrant=True)
""",
    "Into": """
class Into(L.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        ctx.save_for_backward(y)
        return x.mul_(2), y * 3
    @staticmethod
    def backward(ctx, g, h):
        y, = ctx.saved_tensors
        return 2 * g, 3 * h + 0 * y
""",
    "Inner": """
class Inner(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        inner = x.sin()
        ctx.save_for_backward(inner, x)
        return inner * x
    @staticmethod
    def backward(ctx, g):
        inner, x = ctx.saved_tensors
        return g * inner + g * x * x.cos()
""",
    "Once": """
class Once(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sin()
        ctx.save_for_backward(y, x)
        return y
    @staticmethod
    @L.autograd.function.once_differentiable
    def backward(ctx, g):
        y, x = ctx.saved_tensors
        return g * x.cos() + 0 * y
""",
    "Part": """
class Part(L.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(y)
        return x * y
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] if ctx.needs_input_grad[0] else None, None
""",
    "again": """
def again(f, *inputs):
    return L.utils.checkpoint.checkpoint(f, *inputs, use_reentrant=False)
""",
    "saved_hooks": """
def saved_hooks(pack, unpack):
    return L.autograd.graph.saved_tensors_hooks(pack, unpack)
""",
    "Cube": """
class Cube(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * x * x * g
""",
    "Tanh": """
class Tanh(L.autograd.Function):
    @staticmethod
    def forward(x):
        return x.tanh()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * (1 - y * y)
""",
    "Double_": """
class Double_(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return 2 * g
""",
    "Both": """
class Both(L.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 2, y + x
    @staticmethod
    def backward(ctx, g, h):
        note("Both", *(t for t in (g, h) if t is not None))
        if g is None:
            return h, h
        return 2 * g + (0 if h is None else h), h
""",
    "Order": """
class Order(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = x > 0
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(sign)
        return x.abs(), sign
    @staticmethod
    def backward(ctx, g, _):
        sign, = ctx.saved_tensors
        return L.where(sign, g, -g)
""",
    "Alias": """
class Alias(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return g * 3
""",
    "Same": """
class Same(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 5
""",
    "Wide": """
class Wide(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return (2 * g).double().expand(2, *g.shape)
""",
    "Wrong": """
class Wrong(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()
    @staticmethod
    def backward(ctx, g):
        return g.reshape(1, 1).expand(1, 7)
""",
}


def needed(text):
    """The sources that a program text uses, in order."""
    wanted = {name for name in PRELUDE if name in text}
    wanted |= {"note"} if wanted & {"Both", "note_all"} else set()
    wanted |= {"kept"} if "KEPT" in text else set()
    return [source for name, source in PRELUDE.items() if name in wanted]
