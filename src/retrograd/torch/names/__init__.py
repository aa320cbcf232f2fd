"""Functions of `torch` itself, and methods, by older and internal names; why some are absent."""
