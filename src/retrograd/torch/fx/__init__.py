"""PyTorch's `torch.fx`: a module becomes a graph that programs change, and Python code again.

NOTE [Graphs of functions]
1. A module or function is called once with proxies, which write down what it does:
   `_symbolic_trace`, `proxy`. What is written is a `Graph` of `Node`s.
2. A `GraphModule` runs the Python code that is generated for a graph (`code`); an `Interpreter`
   runs the graph itself.
3. In code and graphs a function has the one name by which the package calls it, so that
   `nn.functional.relu` reads `torch.relu`.
"""

from ._symbolic_trace import PH, Tracer, symbolic_trace, wrap
from . import immutable_collections, node, proxy
from .graph import CodeGen, Graph, PythonCode
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from . import experimental, operator_schemas, passes, subgraph_rewriter
from .subgraph_rewriter import replace_pattern

__all__ = [
    "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer",
    "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip
