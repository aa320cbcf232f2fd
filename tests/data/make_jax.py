"""Values and gradients of complex functions by JAX, in its convention: writes `jax.json`.

    python tests/data/make_jax.py        # needs JAX; made with 0.10

An expression has `np`, which is `jax.numpy` or Retrograd, and `z`, a complex vector or matrix. What
is stored beside it: the result, and what JAX's vjp makes of the cotangent, both as [real, imag].
"""

import json
from pathlib import Path

import numpy

PATH = Path(__file__).with_name("jax.json")
VECTOR = numpy.array([0.7 - 0.4j, -1.2 + 0.3j, 0.1 + 0.9j])
MATRIX = numpy.array([[0.7 - 0.4j, -1.2 + 0.3j], [0.1 + 0.9j, 1.5 + 1.1j]])
# Not `sign`, whose derivative is 0 in JAX, and `arccosh`, whose one is on the wrong sheet where the
# real part is negative.
ELEMENTWISE = (
    "exp log sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh expm1 log1p "
    "square reciprocal sinc conj abs angle real imag"
)
OF_VECTORS = [
    *(f"np.{name}(z)" for name in ELEMENTWISE.split()),
    "z * np.conj(z)",
    "np.abs(z) ** 2",
    "z ** 3 / (1 + np.abs(z))",
    "np.sum(np.abs(z) ** 2)",
    "np.sum(np.abs(z[1:] - z[:-1] ** 2))",
    "np.prod(z)",
    "np.cumsum(z * np.conj(z[0]), 0)",
    "np.mean(z.real * z.imag)",
    "np.fft.fft(z)",
    "np.fft.ifft(np.abs(z) * z)",
    "np.abs(np.fft.fft(z)) ** 2",
    "np.fft.irfft(z)",
    "np.fft.hfft(z)",
    "np.exp(1j * np.angle(z)) * np.log(np.abs(z))",
    "np.where(z.real > 0, z ** 2, np.conj(z))",
    "np.linalg.norm(z)",
]
OF_MATRICES = [
    "z @ np.conj(z)",
    "np.linalg.inv(z)",
    "np.linalg.det(z)",
    "np.linalg.slogdet(z)[1]",
    "np.linalg.solve(z, np.conj(z))",
    "np.linalg.eigvalsh(z + np.conj(z.T))",
    "np.linalg.svd(z, full_matrices=False)[1]",
    "np.linalg.cholesky(z @ np.conj(z.T) + 2 * np.eye(2))",
    "np.abs(np.linalg.qr(z)[0])",
    "np.linalg.pinv(z)",
    "np.einsum('ij,kj->ik', z, np.conj(z))",
    "np.fft.fft2(z)",
]


def calls():
    """Pairs of an expression and its argument."""
    return [(e, VECTOR) for e in OF_VECTORS] + [(e, MATRIX) for e in OF_MATRICES]


def cotangent(shape, is_complex):
    """Fixed numbers of a shape."""
    k = numpy.arange(numpy.prod(shape, dtype=int))
    made = numpy.cos(1 + 0.7 * k) + (1j * numpy.sin(0.3 + k) if is_complex else 0)
    return made.reshape(shape)


def parts(array):
    array = numpy.asarray(array)
    return [array.real.tolist(), array.imag.tolist()]


def main():
    import jax  # noqa: PLC0415 (nothing else here needs it)

    jax.config.update("jax_enable_x64", True)
    found = {}
    for expression, z in calls():
        call = eval(f"lambda z: {expression}", {"np": jax.numpy})
        result, pull = jax.vjp(call, z)
        given = cotangent(result.shape, jax.numpy.iscomplexobj(result)).astype(result.dtype)
        (gradient,) = pull(given)
        found[expression] = [parts(result), parts(gradient)]
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
