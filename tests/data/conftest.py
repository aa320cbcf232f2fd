"""What scripts import that the tests do not need: no place in which to look for doctests."""

collect_ignore = [
    "make_aten.py",
    "make_cupy.py",
    "make_dispatched.py",
    "make_ops.py",
    "make_random.py",
    "make_strides.py",
    "make_transformers.py",
    "make_vision.py",
    "make_vision_ops.py",
    "files/make_files.py",
    "mathematics/make_complex.py",
    "mathematics/make_polynomials.py",
    "mathematics/make_values.py",
]
