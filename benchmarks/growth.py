"""How the time of each record grows with its inputs and outputs, forward and backward.

    python -m benchmarks.growth               # every record, and the calls of the law of growth
    python -m benchmarks.growth cdist kthvalue

Prints milliseconds at two sizes, some 8 times the elements of inputs and outputs apart, and the
exponent k of time ~ elements^k between them: 1 is linear; below 1, the cost of a call still counts.
The way of growing with the largest exponent is shown for each name, the largest of all first.
The law, `tests/laws/test_growth.py`, judges memory and steps of Python; time nobody judges but you.
"""

from __future__ import annotations

import math
import sys
import time

from tests.laws import test_growth as law

from retrograd.engine.registry import OPS

SIZES = (8_000, 64_000)  # elements of all inputs
MOST = 4_000_000  # elements of inputs and outputs
ROUNDS = 3


def seconds(call):
    """The shortest of a few runs, after one that warms up."""
    times = []
    for _ in range(1 + ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def timed(make):
    """(exponent, seconds of the smaller, seconds of the larger); None where it cannot be made."""
    points = []
    try:
        for wanted in SIZES:
            call, arrays = make(wanted)
            size = sum(a.size for a in arrays if a is not None)
            size += sum(t._array.size for t in call())
            if size > MOST:
                return None
            points.append((size, seconds(call)))
    except Exception:  # the sizes do not fit each other
        return None
    (few, first), (many, second) = points
    return math.log(second / first) / math.log(many / few), first, second


def ways(name):
    """Ways to make calls of a name, as the law makes them."""
    if name in OPS:
        for example in OPS[name].examples:
            for old in law.sizes_of(example.specs):
                yield law.record_calls(OPS[name], example, old)
    else:
        expression, *specs = law.CALLS[name]
        for old in law.sizes_of(specs):
            yield law.public_calls(expression, law.inputs_of(specs), old)[3::-3]


def main(names):
    found = []
    for name in names or [*OPS, *law.CALLS]:
        results = [next(filter(None, map(timed, makes)), None) for makes in ways(name)]
        found += [(max(filter(None, results)), name)] if any(results) else []
    for (exponent, first, second), name in sorted(found, reverse=True):
        print(f"{name:32}{first * 1e3:10.3f}{second * 1e3:12.3f} ms   elements^{exponent:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
