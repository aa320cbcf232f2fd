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
    wanted |= {"note"} if "Both" in wanted else set()
    return [source for name, source in PRELUDE.items() if name in wanted]
