"""LibSVM's layout of a classifier, which its files and scikit-learn's ``SVC`` share.

In LibSVM every vector belongs to one class c and serves only the K - 1 pairs of that class, so its coefficients
are stored as K - 1 numbers instead of K(K-1)/2: ``sv_coef`` is (K-1, l), and row r of a vector of class c is its
coefficient in the machine of c and class r (r < c) or class r + 1 (r >= c). Vectors are grouped by class. The value
of a machine (i, j) is positive for class i, also when there are only two classes.

svmpress holds the same machines as ``coef`` (l, M), one column each, with ``coef_mask`` marking the entries that
this layout can hold. :func:`unpack` goes from LibSVM to svmpress, :func:`pack` back. A model whose vectors serve
arbitrary pairs needs copies: a copy of the vector in class c can take every pair that contains c, so with the pairs
of non-zero coefficients as the edges of a graph on the classes, the fewest copies are a smallest vertex cover.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Argmax, Floats, Sign, class_pairs, pair_mask
from svmpress.errors import FormatError, InputError
from svmpress.model import KernelModel
from svmpress.storage import current_limits

_MAX_COEF = 2**28
"""Entries of the coefficient matrix (l, M), which can be K/2 times larger than in an estimator."""

_COEF_BYTES = 20
"""What such an entry takes while the matrix is made."""

_SEARCH_LIMIT = 2000
"""Steps of the search for a smallest cover; beyond them the best cover found so far is taken."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A classifier in LibSVM's layout and LibSVM's signs.

    Parameters
    ----------
    source : (l,) int
        The vector of the model that each row is, grouped by class; a vector that occurs twice was copied.
    counts : (K,) int
        Rows of each class.
    coef : (K-1, l)
        ``sv_coef``.
    intercept : (M,)
        ``-rho``.
    """

    source: NDArray[np.intp]
    counts: NDArray[np.intp]
    coef: Floats
    intercept: Floats


def check_size(where: object, n_vectors: int, n_columns: int, file_bytes: int | None = None) -> None:
    """Raise a FormatError if a table of numbers is too large: it may grow faster than the file, or the estimator."""
    if file_bytes is not None:
        current_limits().check_memory(_COEF_BYTES * n_vectors * n_columns, file_bytes, where)
    elif n_vectors * n_columns > _MAX_COEF:
        raise FormatError(
            f"{where}: {n_vectors} vectors and {n_columns} machines make more numbers than svmpress can hold"
        )


def unpack(sv_coef: Floats, counts: NDArray[Any]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return ``coef`` (l, M) and ``coef_mask`` (l, M) of LibSVM's ``sv_coef`` (K-1, l).

    Examples
    --------
    >>> import numpy as np
    >>> coef, mask = unpack(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([1, 1, 1]))
    >>> coef.tolist()
    [[1.0, 4.0, 0.0], [2.0, 0.0, 5.0], [0.0, 3.0, 6.0]]
    """
    n_classes = len(counts)
    owner = np.repeat(np.arange(n_classes), counts)
    coef = np.zeros((owner.size, n_classes * (n_classes - 1) // 2), dtype=sv_coef.dtype)
    coef[np.arange(owner.size)[:, None], _machines(n_classes)[owner]] = sv_coef.T
    return coef, pair_mask(owner, n_classes)


def pack(model: KernelModel) -> Packed:
    """Return a classifier in LibSVM's layout, with as few copies of vectors as it takes.

    Two classes never need copies. A model with ``coef_mask`` in this layout, or whose zeros happen to fit it, needs
    none either. One-vs-rest becomes the differences ``f_ij = f_i - f_j``, whose votes are won by the largest f.

    Raises
    ------
    InputError
        When the model is not a classifier.
    """
    coef, intercept, mask = pairwise(model)
    n_classes = _n_classes(model)
    if n_classes == 2:
        return _pack_binary(coef, intercept)
    owners = _owners_by_mask(mask, n_classes)
    if owners is None:
        source, owner, used = _cover_all(coef, n_classes)
    else:
        source, owner, used = np.arange(len(owners)), owners, pair_mask(owners, n_classes)
    order = np.lexsort((source, owner))
    source, owner, used = source[order], owner[order], used[order]
    columns = _machines(n_classes)[owner]
    rows = np.arange(owner.size)[:, None]
    kept = np.where(used[rows, columns], coef[source[:, None], columns], 0.0)
    return Packed(source, np.bincount(owner, minlength=n_classes), kept.T, intercept)


def _machines(n_classes: int) -> NDArray[np.intp]:
    """Return the machine of class c behind row r of ``sv_coef``, (K, K-1)."""
    machine = np.zeros((n_classes, n_classes), dtype=np.intp)
    first, second = class_pairs(n_classes).T
    machine[first, second] = machine[second, first] = np.arange(first.size)
    rows = np.arange(n_classes - 1)[None, :]
    others = rows + (rows >= np.arange(n_classes)[:, None])
    return np.take_along_axis(machine, others, axis=1)


def _n_classes(model: KernelModel) -> int:
    classes = model.decoder.classes
    if classes is None or model.task != "classification":
        raise InputError("only a classifier has a layout by classes")
    return int(classes.size)


def pairwise(model: KernelModel) -> tuple[Floats, Floats, NDArray[np.bool_] | None]:
    """Return coefficients, intercepts and mask of the machines (i, j) with positive values for class i."""
    f = model.expansion
    match model.decoder:
        case Sign():
            return -f.coef, -f.intercept, None
        case Argmax():
            first, second = class_pairs(_n_classes(model)).T
            return f.coef[:, first] - f.coef[:, second], f.intercept[first] - f.intercept[second], None
        case _:
            return f.coef, f.intercept, f.coef_mask


def _pack_binary(coef: Floats, intercept: Floats) -> Packed:
    """Group by the sign of the coefficient, which is the class in a trained model; the sum is the same."""
    second = np.signbit(coef[:, 0])
    source = np.argsort(second, kind="stable")
    counts = np.array([np.count_nonzero(~second), np.count_nonzero(second)])
    return Packed(source, counts, coef[source].T, intercept)


def _owners_by_mask(mask: NDArray[np.bool_] | None, n_classes: int) -> NDArray[np.intp] | None:
    """Return the class of each vector if the mask is LibSVM's, (m,), or None."""
    if mask is None:
        return None
    of_class = pair_mask(np.arange(n_classes), n_classes)
    owners = np.argmax(mask.astype(np.intp) @ of_class.T.astype(np.intp), axis=1)
    return owners if np.array_equal(of_class[owners], mask) else None


def _cover_all(coef: Floats, n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Return the copies that hold every non-zero coefficient once: source, class and used machines of each."""
    pairs = class_pairs(n_classes)
    patterns, which = np.unique(coef != 0, axis=0, return_inverse=True)
    sources, owners, used = [], [], []
    for p, pattern in enumerate(patterns):
        members = np.flatnonzero(which.ravel() == p)
        edges = pairs[pattern]
        if len(edges) == 1:  # either class would do: take the one that such a sign has in a trained model
            second = coef[members, np.flatnonzero(pattern)[0]] < 0
            sources.append(members)
            owners.append(edges[0][second.astype(np.intp)])
            used.append(np.tile(pattern, (members.size, 1)))
            continue
        left = pattern.copy()
        for c in smallest_cover(edges):
            mine = left & (pairs == c).any(axis=1)
            left &= ~mine
            sources.append(members)
            owners.append(np.full(members.size, c))
            used.append(np.tile(mine, (members.size, 1)))
    if not sources:
        return np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros((0, len(pairs)), bool)
    return np.concatenate(sources), np.concatenate(owners), np.concatenate(used)


def smallest_cover(edges: NDArray[np.intp]) -> list[int]:
    """Return the fewest vertices that touch every edge (E, 2), in ascending order.

    Branch and bound: the vertex of highest degree is in the cover, or all its neighbours are. The first descent is
    the greedy cover, and the search stops after a fixed number of steps, so a huge graph gets a good cover.

    Examples
    --------
    >>> import numpy as np
    >>> smallest_cover(np.array([[0, 1], [0, 2], [0, 3], [2, 3]]))
    [0, 2]
    """
    graph: dict[int, set[int]] = {}
    for i, j in np.asarray(edges).tolist():
        graph.setdefault(i, set()).add(j)
        graph.setdefault(j, set()).add(i)
    best = sorted(graph)
    stack = [(graph, frozenset[int]())]
    for _ in range(_SEARCH_LIMIT):
        if not stack:
            break
        graph, chosen = stack.pop()
        top = max(graph, key=lambda v: (len(graph[v]), -v), default=None)
        if top is None:
            if len(chosen) < len(best):
                best = sorted(chosen)
            continue
        n_edges = sum(map(len, graph.values())) // 2
        if len(chosen) + -(-n_edges // len(graph[top])) >= len(best):
            continue
        neighbours, itself = frozenset(graph[top]), frozenset({top})
        stack += [(_without(graph, picked), chosen | picked) for picked in (neighbours, itself)]
    return best


def _without(graph: dict[int, set[int]], gone: frozenset[int]) -> dict[int, set[int]]:
    """Return the graph without some vertices, and without those that no longer have an edge."""
    rest = {v: near - gone for v, near in graph.items() if v not in gone}
    return {v: near for v, near in rest.items() if near}
