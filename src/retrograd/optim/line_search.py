"""A search for a step along a line, by the strong Wolfe conditions; it knows no optimizer.

Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 3.5 and 3.6, with the constants
and safeguards of PyTorch's `optim.LBFGS`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

__all__ = ["strong_wolfe"]

DECREASE = 1e-4  # of the loss, at least this share of what the slope at the start promises
CURVATURE = 0.9  # of the slope at the start, at most this share may be left
NARROW = 1e-9  # brackets of which no element moves more are not searched further


class Point(NamedTuple):
    """A place on the line: the step, the loss there, its gradient, its slope along the line.

    The slope is a number of the gradient's dtype, and so is what is computed with it: what the loss
    promises below its own rounding is nothing.
    """

    step: Any
    loss: float
    gradient: Any
    slope: Any


def strong_wolfe(
    at: Callable[[float], Generator[Any, Any, tuple[float, Any]]],
    step: float,
    direction: Any,
    start: tuple[float, Any, float],
    limit: int,
    decrease: float = DECREASE,
    curvature: float = CURVATURE,
    narrow: float = NARROW,
) -> Generator[Any, Any, tuple[float, Any, float, int]]:
    """Loss, gradient and step where the conditions hold, and how often `at` was called.

    `at(step)` gives loss and gradient, and yields for what it needs: `answered`. `start` is loss,
    gradient and slope at step 0. After `limit` rounds the best point so far is returned.
    """
    origin = Point(0.0, *start)

    def look(where: float) -> Generator[Any, Any, Point]:
        loss, gradient = yield from at(where)
        return Point(where, loss, gradient, gradient @ direction)

    bracket, rounds, done = yield from find_bracket(look, origin, step, limit, decrease, curvature)
    calls = rounds + 1
    low = 0 if bracket[0].loss <= bracket[-1].loss else len(bracket) - 1
    reach, stuck = float(abs(direction).max()), False
    while not done and rounds < limit:
        ends = [p.step for p in bracket]
        if (max(ends) - min(ends)) * reach < narrow:
            break
        where, stuck = inside(interpolated(bracket[0], bracket[1]), min(ends), max(ends), stuck)
        point = yield from look(where)
        calls, rounds = calls + 1, rounds + 1
        if fails(point, origin, decrease) or point.loss >= bracket[low].loss:
            bracket[1 - low] = point
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        done = abs(point.slope) <= -curvature * origin.slope
        if not done and point.slope * (bracket[1 - low].step - bracket[low].step) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = point
    best = bracket[low]
    return best.loss, best.gradient, float(best.step), calls


def answered(
    search: Generator[Any, Any, Any], answer: Callable[[Any], Any], run: Any = operator.call
) -> Any:
    """What a search returns that is sent `answer(...)` of all it yields; `run` calls its parts."""
    found = None
    while True:
        try:
            asked = run(search.send, found)
        except StopIteration as done:
            return done.value
        found = answer(asked)


def fails(point: Point, origin: Point, decrease: float) -> bool:
    """Whether the loss has not sunk enough."""
    return bool(point.loss > origin.loss + decrease * point.step * origin.slope)


def find_bracket(
    look: Callable[[float], Generator[Any, Any, Point]],
    origin: Point,
    step: float,
    limit: int,
    decrease: float,
    curvature: float,
) -> Generator[Any, Any, tuple[list[Point], int, bool]]:
    """Two points around a good one (or that one alone, and True), and the rounds it took."""
    before, point = origin, (yield from look(step))
    for rounds in range(limit):
        if fails(point, origin, decrease) or (rounds > 1 and point.loss >= before.loss):
            return [before, point], rounds, False
        if abs(point.slope) <= -curvature * origin.slope:
            return [point], rounds, True
        if point.slope >= 0:
            return [before, point], rounds, False
        least, most = point.step + 0.01 * (point.step - before.step), point.step * 10
        before, point = point, (yield from look(interpolated(before, point, (least, most))))
    return [origin, point], limit, False


def interpolated(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points and their slopes is least, within bounds."""
    left, right = (a, b) if a.step <= b.step else (b, a)
    least, most = bounds or (left.step, right.step)
    mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = mean * mean - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2
    root = math.sqrt(square)
    share = (right.slope + root - mean) / (right.slope - left.slope + 2 * root)
    return min(max(right.step - (right.step - left.step) * share, least), most)


def inside(step: float, least: float, most: float, stuck: bool) -> tuple[float, bool]:
    """`step`, taken away from the ends of its bracket if it stays close to one of them."""
    margin = 0.1 * (most - least)
    if min(most - step, step - least) >= margin:
        return step, False
    if not stuck and least < step < most:
        return step, True
    return (most - margin if most - step < step - least else least + margin), False
