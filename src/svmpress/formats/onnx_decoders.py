"""Decoders as plain ONNX operators: from decision values (n, M) to scores and labels, and to scores of each class.

Each answers as its namesake in :mod:`svmpress.decoders`, exact ties included: which side an exact zero is on is the
difference between ``Greater`` and ``GreaterOrEqual``, and ``ArgMax`` takes the first of equals, like NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Argmax, Decoder, Identity, PairDAG, PairVote, Sign, class_pairs, pair_signs
from svmpress.formats.onnx_graph import Graph
from svmpress.model import KernelModel

LABEL, SCORES = "label", "scores"


def decoder_obstacles(model: KernelModel) -> list[str]:
    """Return why the decoder of a model, or its labels, have no place in a graph; empty when they have."""
    if type(model.decoder) not in (Identity, *_POSITIONS):
        return [f"the decoder {type(model.decoder).__name__} has no graph of ONNX operators"]
    return [] if model.classes_ is None else _label_obstacles(model.classes_)


def add_answers(graph: Graph, model: KernelModel, F: str) -> None:
    """Add labels, but not of a regressor, and scores."""
    scores = _add_scores(graph, model, F)
    if model.classes_ is not None:
        labels = plain_labels(model.classes_)
        position = _POSITIONS[type(model.decoder)](graph, model.decoder, F, scores)
        graph.apply("Gather", graph.constant("classes", labels), position, name=LABEL, axis=0)
        graph.output(LABEL, labels.dtype)
    graph.output(SCORES, graph.dtype, *_shape_of_scores(model))
    graph.output(F, graph.dtype, model.n_outputs)


def class_scores(graph: Graph, decoder: Decoder, F: str) -> str:
    """Return the scores of each class, (n, K), or of the later of two, (n, 1)."""
    if not isinstance(decoder, PairDAG | PairVote):
        return F
    each = _ovr(graph, PairVote(decoder.classes), F)
    return each if decoder.n_classes > 2 else graph.apply("Gather", each, _integers(graph, "later", [1]), axis=1)


def _shape_of_scores(model: KernelModel) -> tuple[int, ...]:
    """Return the shape of a row's scores."""
    decoder = model.decoder
    if isinstance(decoder, PairVote) and decoder.shape == "ovr":
        return () if decoder.n_classes == 2 else (decoder.n_classes,)
    one = isinstance(decoder, Sign) or (isinstance(decoder, Identity) and model.n_outputs == 1)
    return () if one else (model.n_outputs,)


def _add_scores(graph: Graph, model: KernelModel, F: str) -> str:
    decoder, shape = model.decoder, _shape_of_scores(model)
    if isinstance(decoder, PairVote) and decoder.shape == "ovr":
        if shape:
            return _ovr(graph, decoder, F, SCORES)
        return graph.apply("Gather", _ovr(graph, decoder, F), _integers(graph, "one", 1), name=SCORES, axis=1)
    if shape:
        return graph.apply("Identity", F, name=SCORES)
    return graph.apply("Squeeze", F, _integers(graph, "axis_1", [1]), name=SCORES)


# ---------------------------------------------------------------------------------------------------------
# Labels
# ---------------------------------------------------------------------------------------------------------


def _label_obstacles(classes: NDArray[Any]) -> list[str]:
    values = classes.tolist()
    if all(isinstance(v, str) for v in values):
        try:
            "".join(values).encode()
        except UnicodeEncodeError:
            return ["the class labels hold characters that are no Unicode text"]
        return []
    if classes.dtype.kind == "S":
        return ["class labels that are bytes have no type in ONNX: decode them to text before training"]
    if not all(isinstance(v, (int, float)) for v in values):
        return ["class labels of mixed types or of types other than integers and text have no type in ONNX"]
    wrong = [v for v in values if not (isinstance(v, int) or v.is_integer()) or not -(2**63) <= v < 2**63]
    return [f"a label in ONNX is a 64-bit integer or text, and {wrong[0]!r} is neither"] if wrong else []


def plain_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return class labels without obstacles as int64, or as an array of Python texts.

    Examples
    --------
    >>> plain_labels(np.array([1.0, 2.0])).dtype, plain_labels(np.array(["a", "b"])).dtype
    (dtype('int64'), dtype('O'))
    """
    values = classes.tolist()
    if all(isinstance(v, str) for v in values):
        return np.array(values, dtype=object)
    return np.array([int(v) for v in values], dtype=np.int64)


# ---------------------------------------------------------------------------------------------------------
# Positions of classes
# ---------------------------------------------------------------------------------------------------------


def _integers(graph: Graph, name: str, values: Any) -> str:
    return graph.constant(name, np.asarray(values, dtype=np.int64))


def _compared(graph: Graph, comparison: str, values: str, dtype: Any) -> str:
    """Return where values are greater than zero, as ones among zeros."""
    return graph.apply("Cast", graph.apply(comparison, values, graph.constant("zero", 0.0)), to=np.dtype(dtype))


def _first_largest(graph: Graph, values: str) -> str:
    return graph.apply("ArgMax", values, axis=1, keepdims=0)


def _sign(graph: Graph, decoder: Sign, F: str, scores: str) -> str:
    return _compared(graph, "GreaterOrEqual" if decoder.zero_class == 1 else "Greater", scores, np.int64)


def _argmax(graph: Graph, decoder: Argmax, F: str, scores: str) -> str:
    return _first_largest(graph, F)


def _pair_vote(graph: Graph, decoder: PairVote, F: str, scores: str) -> str:
    if not decoder.break_ties:
        return _first_largest(graph, _votes(graph, decoder, F, "Greater"))
    return _first_largest(
        graph, scores if decoder.shape == "ovr" and decoder.n_classes > 2 else _ovr(graph, decoder, F)
    )


def _votes(graph: Graph, decoder: PairVote, F: str, comparison: str) -> str:
    """Return the votes of each class, (n, K): those of its pairs where it is second, until the first takes them."""
    seconds = graph.constant("seconds", np.arange(decoder.n_classes, dtype=np.float64))
    return graph.apply("Gemm", _compared(graph, comparison, F, graph.dtype), _signs(graph, decoder), seconds)


def _signs(graph: Graph, decoder: PairVote) -> str:
    return graph.constant("signs", pair_signs(decoder.n_classes))


def _ovr(graph: Graph, decoder: PairVote, F: str, name: str | None = None) -> str:
    """Return votes and confidences as scikit-learn adds them: c / (3 (|c| + 1)) never outweighs a vote."""
    confidence = graph.apply("MatMul", F, _signs(graph, decoder))
    spread = graph.apply("Add", graph.apply("Abs", confidence), graph.constant("unit", 1.0))
    spread = graph.apply("Mul", spread, graph.constant("three", 3.0))
    votes = _votes(graph, decoder, F, "GreaterOrEqual")
    return graph.apply("Add", votes, graph.apply("Div", confidence, spread), name=name)


def _pair_dag(graph: Graph, decoder: PairDAG, F: str, scores: str) -> str:
    """Follow the elimination by all ways at once.

    After s of K - 1 meetings, the classes p, ..., p + K-1-s are left, for one p from 0 to s: a row of s + 1 numbers
    says which, a 1 among zeros. In the next meeting the first class p beats the last, which goes, and p stays; or it
    loses and goes, and p is p + 1: the next row is this one where the first wins, and this one moved by a place else.
    """
    K = decoder.n_classes
    machine = np.zeros((K, K), dtype=np.int64)
    machine[tuple(class_pairs(K).T)] = np.arange(K * (K - 1) // 2)
    meetings = [[machine[p, p + K - 1 - s] for p in range(s + 1)] for s in range(K - 1)]
    won = _compared(graph, "Greater", F, graph.dtype)
    if K > 2:
        won = graph.apply("Gather", won, _integers(graph, "by_meeting", np.concatenate(meetings)), axis=1)
        names = tuple(f"meeting_{s + 1}" for s in range(K - 1))
        wins = graph.apply_many("Split", won, _integers(graph, "meetings", range(1, K)), names=names, axis=1)
    else:
        wins = (won,)
    left = _next(graph, None, wins[0], 1)
    for s in range(1, K - 1):
        left = _next(graph, left, wins[s], s + 1)
    return _first_largest(graph, left)


def _next(graph: Graph, left: str | None, win: str, places: int) -> str:
    """Return which classes are left after a meeting, (n, places + 1), given which were left, (n, places)."""
    stay, move = np.eye(places, places + 1), np.eye(places, places + 1, k=1)
    change = graph.constant(f"change_{places}", stay - move)
    if left is None:  # before the first meeting all are
        return graph.apply("Gemm", win, change, graph.constant("move_1", move[0]))
    moved = graph.apply("MatMul", left, graph.constant(f"move_{places}", move))
    return graph.apply("Gemm", graph.apply("Mul", left, win), change, moved)


_POSITIONS: dict[type[Decoder], Callable[[Graph, Any, str, str], str]] = {
    Sign: _sign,
    Argmax: _argmax,
    PairVote: _pair_vote,
    PairDAG: _pair_dag,
}
