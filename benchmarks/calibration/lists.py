"""Stored lists of a release, changed so that one bias dimension has another association and the others do not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_AXES, _OTHER_NAME = 4, 50


def _phi_squared(tables: FloatArray) -> FloatArray:
    """Chi squared / n of tables [..., rows, columns] of any total."""
    by_row, by_column = tables.sum(axis=-1, keepdims=True), tables.sum(axis=-2, keepdims=True)
    shares = np.square(tables) / np.maximum(by_row, 1e-300) / np.maximum(by_column, 1e-300)
    result: FloatArray = shares.sum(axis=(-1, -2)) - 1
    return result


def moved_lists(lists: IntArray, dimension: int, fresh: FloatArray, kept: float, target: float) -> IntArray:
    """Lists whose release has V of about ``target`` in one dimension.

    Two stored personas who differ in the axis of that dimension and agree in the three others exchange their social
    category. That leaves all margins and all 15 other tables as they are. (All names that are not listed count as one.)

    Parameters
    ----------
    lists : codes of the stored personas [attributes, lists, personas]
    dimension : place of the dimension, axis by axis
    fresh : joint law of the personas that are not repeated [rows, columns]; kept : share of those that are
    target : V to reach; the exchange that comes nearest is the last

    Raises ValueError when the exchanges end before V is reached.
    """
    axis, social = divmod(dimension, _AXES)
    codes = lists.reshape(len(lists), -1).copy()
    first, second = _partners(codes, axis)
    rows = _OTHER_NAME if axis == 0 else fresh.shape[0]
    unit = kept / codes.shape[1]
    table = (1 - kept) * fresh
    np.add.at(table, (codes[axis], codes[_AXES + social]), unit)
    table, df = table[:rows], min(rows, fresh.shape[1]) - 1
    wanted = target**2 * df
    divisor = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    phi = float(_phi_squared(table))
    sign = np.sign(wanted - phi)
    while sign * (wanted - phi) > 0:
        change = _change(codes, (axis, social), (first, second), table, divisor, unit)
        best = int(np.argmin(np.abs(phi + change - wanted)))
        if abs(phi + change[best] - wanted) >= abs(phi - wanted):
            break
        i, j = first[best], second[best]
        a, b = codes[_AXES + social, i], codes[_AXES + social, j]
        for row, column, by in ((i, a, -unit), (i, b, unit), (j, b, -unit), (j, a, unit)):
            table[codes[axis, row], column] += by
        codes[_AXES + social, i], codes[_AXES + social, j] = b, a
        phi = float(_phi_squared(table))
    reached = np.sqrt(phi / df)
    if abs(reached - target) > 0.003:
        raise ValueError(f"the stored lists reach V = {reached:.4f} in dimension {dimension}, not {target:.4f}")
    return codes.reshape(lists.shape)


def _partners(codes: IntArray, axis: int) -> tuple[IntArray, IntArray]:
    """Pairs of stored personas who agree in the three other axes and differ in this one."""
    others = [codes[place] for place in range(_AXES) if place != axis]
    alike = np.ones((codes.shape[1], codes.shape[1]), dtype=np.bool_)
    for code in others:
        alike &= code[:, None] == code
    alike &= codes[axis][:, None] != codes[axis]
    if axis == 0:  # the name table counts listed names only, and its margins must stay
        listed = codes[0] != _OTHER_NAME
        alike &= listed[:, None] & listed
    first, second = np.nonzero(np.triu(alike))
    return first, second


def _change(
    codes: IntArray,
    place: tuple[int, int],
    pairs: tuple[IntArray, IntArray],
    table: FloatArray,
    divisor: FloatArray,
    unit: float,
) -> FloatArray:
    """Change of phi squared by each exchange; margins stay, so only four cells do."""
    axis, social = place
    (i, j), (rows, columns) = pairs, (codes[axis], codes[_AXES + social])
    total = np.zeros(i.size)
    for row, column, by in (
        (rows[i], columns[i], -unit),
        (rows[i], columns[j], unit),
        (rows[j], columns[j], -unit),
        (rows[j], columns[i], unit),
    ):
        total += (2 * by * table[row, column] + by**2) / divisor[row, column]
    total[columns[i] == columns[j]] = 0.0
    return total
