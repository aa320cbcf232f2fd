"""Where the nodes of a graph are drawn: rows by distance from the root, columns by neighbours.

The root is at the bottom and each node is above all that use it, so that the forward pass reads
downwards. This module knows numbers alone.
"""

from __future__ import annotations

__all__ = ["node_positions"]

SWEEPS = 6


def node_positions(edges: list[list[int]]) -> list[tuple[float, int]]:
    """(column, row) of each node, given for each the nodes that it leads to, all behind it.

    Rows count from the top. Nodes in a row are at least one column apart; a node is near the middle
    of its neighbours.
    """
    count = len(edges)
    depth = [0] * count
    users: list[list[int]] = [[] for _ in range(count)]
    for node, targets in enumerate(edges):
        for each in targets:
            depth[each] = max(depth[each], depth[node] + 1)
            users[each].append(node)
    rows: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for node in range(count):
        rows[depth[node]].append(node)
    columns = [0.0] * count
    for row in rows:
        for place, node in enumerate(row):
            columns[node] = place - (len(row) - 1) / 2
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = users if down else edges
        for row in rows if down else reversed(rows):
            arrange(row, near, columns)
    left = min(columns, default=0.0)
    return [(columns[node] - left, len(rows) - 1 - depth[node]) for node in range(count)]


def arrange(row: list[int], near: list[list[int]], columns: list[float]) -> None:
    """Put the nodes of a row near the middle of their neighbours, each a column from the next."""
    wished = {
        node: sum(columns[each] for each in near[node]) / len(near[node])
        if near[node]
        else columns[node]
        for node in row
    }
    row.sort(key=wished.__getitem__)
    place, moved = float("-inf"), 0.0
    for node in row:
        place = max(wished[node], place + 1)
        columns[node] = place
        moved += place - wished[node]
    for node in row:
        columns[node] -= moved / len(row)
