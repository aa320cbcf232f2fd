"""PyTorch's programs unmodified: `torch` as a name of this package, and what is missing of it.

Nothing here is loaded by `import retrograd`: `import retrograd.as_torch`, the commands
`retrograd run` and `retrograd check`, and pytest's option `--retrograd` do.
"""
