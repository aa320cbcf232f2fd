"""Overlaps of boxes that are turned: areas of convex polygons, over arrays."""

from __future__ import annotations

import numpy as np

__all__ = ["overlaps"]

TINY = 1e-14


def corners(boxes: np.ndarray) -> np.ndarray:
    """The corners (N, 4, 2) of boxes (N, 5), the centre, the sides and degrees, all in one turn."""
    turn = np.deg2rad(boxes[:, 4])[:, None]
    x = np.array([-0.5, 0.5, 0.5, -0.5]) * boxes[:, 2:3]
    y = np.array([-0.5, -0.5, 0.5, 0.5]) * boxes[:, 3:4]
    cos, sin = np.cos(turn), np.sin(turn)
    return np.stack((x * cos + y * sin, y * cos - x * sin), -1) + boxes[:, None, :2]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The cross products of vectors (..., 2)."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def within(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Which points (P, 4, 2) lie in boxes (P, 4, 2) of corners, borders included."""
    sides = np.roll(box, -1, 1) - box
    turns = cross(sides[:, None], points[:, :, None] - box[:, None])
    return np.logical_or((turns >= -1e-9).all(-1), (turns <= 1e-9).all(-1))


def overlaps(boxes1: np.ndarray, boxes2: np.ndarray) -> np.ndarray:
    """Intersection over union (N, M) of boxes (N, 5) and (M, 5); 0 for boxes without an area.

    The intersection is the polygon of the corners of either box that are in the other, and of the
    points where sides cross.
    """
    n, m = len(boxes1), len(boxes2)
    areas1, areas2 = (boxes[:, 2] * boxes[:, 3] for boxes in (boxes1, boxes2))
    first, second = (corners(boxes.astype(float)) for boxes in (boxes1, boxes2))
    a, b = np.repeat(first, m, 0), np.tile(second, (n, 1, 1))
    u, v = (np.roll(box, -1, 1) - box for box in (a, b))
    between = b[:, None] - a[:, :, None]
    bent = cross(u[:, :, None], v[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        s = cross(between, v[:, None]) / bent
        t = cross(between, u[:, :, None]) / bent
    meet = (np.abs(bent) > TINY) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    crossings = a[:, :, None] + np.where(meet, s, 0)[..., None] * u[:, :, None]
    points = np.concatenate((a, b, crossings.reshape(n * m, 16, 2)), 1)
    valid = np.concatenate((within(a, b), within(b, a), meet.reshape(n * m, 16)), 1)
    count = valid.sum(1)
    centre = np.where(valid[..., None], points, 0).sum(1) / np.maximum(count, 1)[:, None]
    points = np.where(valid[..., None], points - centre[:, None], 0)
    order = np.argsort(np.where(valid, np.arctan2(points[..., 1], points[..., 0]), np.inf), 1)
    points = np.take_along_axis(points, order[..., None], 1)
    last = np.take_along_axis(points, np.maximum(count - 1, 0)[:, None, None], 1)
    # those that are not valid lie at the centre, behind: the polygon closes from its last point
    inner = cross(points[:, :-1], points[:, 1:]).sum(1)
    common = (inner + cross(last[:, 0], points[:, 0])).reshape(n, m) / 2
    union = areas1[:, None] + areas2 - common
    small = (areas1[:, None] < TINY) | (areas2 < TINY)
    found = np.where(small, 0, common / np.where(union > 0, union, 1))
    return found.astype(boxes1.dtype)
