"""Probabilities of classes as ONNX operators, from decision values F (n, M), as :mod:`svmpress.model.probability`.

Of more than two classes, LibSVM's are found by rounds over the classes, until every equation holds to 0.005 / K. The
graph has the same rounds in a ``Loop``, for all rows at once: a row that is done moves no further, and when all are,
the loop ends. A round keeps p unnormalised, with its sum s, z = Q p and c = p Q p, which spares half the operators:

    δ = (c / s - z_t) / Q_tt      p_t += δ      s += δ      c += δ (c / s + z_t)      z += δ Q_t       t = 1, ..., K
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmpress.decoders import Argmax, Decoder, Sign, class_pairs
from svmpress.errors import InputError
from svmpress.formats.onnx_graph import Body, Graph, Output
from svmpress.model import KernelModel, class_probabilities, kind_of

PROBABILITIES = "probabilities"

_LEAST = 1e-7
"""LibSVM keeps those of pairs this far from 0 and 1."""
_CLOSE, _ROUNDS = 0.005, 100
"""LibSVM's: how well equations must hold, times the number of classes, and rounds at most if classes are no more."""
_MOST_CLASSES = 200
"""A round has ten operators for each class."""


def missing_probabilities(model: KernelModel) -> str | None:
    """Return why a graph has not the probabilities that a model has; None where it has them, or there are none."""
    if not model.probability or model.task == "regression":
        return None
    if model.task != "classification":
        return "there are none for the marks of a one-class model's density"
    kind = kind_of(model.probability)
    if kind == "isotonic":
        return "curves through points (isotonic calibration) have no graph: calibrate by sigmoids"
    if kind == "pairs" and model.decoder.classes is not None and model.decoder.classes.size > _MOST_CLASSES:
        return f"coupling more than {_MOST_CLASSES} classes has too many operators"
    try:
        class_probabilities(model.probability, model.decoder, np.zeros((0, model.n_outputs)))
    except InputError as e:
        return str(e)
    return None


def has_probabilities(model: KernelModel) -> bool:
    """Return whether the graph of a model has probabilities."""
    calibrated = model.task == "classification" and kind_of(model.probability) is not None
    return calibrated and missing_probabilities(model) is None


def add_probabilities(graph: Graph, model: KernelModel, F: str, scores: str) -> None:
    """Add the output; ``scores`` (n,) or (n, K) are those of a decoder with one a class."""
    decoder, kind = model.decoder, kind_of(model.probability)
    assert decoder.classes is not None
    K = int(decoder.classes.size)
    a = {name: np.asarray(v, dtype=np.float64).ravel() for name, v in model.probability.items()}
    if kind == "pairs":
        s, t = -a["probA"], -a["probB"]
        if K == 2:  # both, as in single precision 1 - r has not the digits of a small one
            _of_pairs(graph, decoder, F, np.append(s, -s), np.append(t, -t), PROBABILITIES)
        else:
            _couple(graph, _of_pairs(graph, decoder, F, s, t), K)
    elif kind == "temperature":
        times = graph.constant("inverse_temperature", a["inverse_temperature"])
        graph.apply("Softmax", _of_two(graph, graph.apply("Mul", scores, times), K, "Neg"), name=PROBABILITIES, axis=1)
    else:
        slopes, offsets = graph.constant("slopes", -a["sigmoid_slope"]), graph.constant("offsets", -a["sigmoid_offset"])
        each = graph.apply("Sigmoid", graph.apply("Add", graph.apply("Mul", scores, slopes), offsets))
        _normalise(graph, each, K)
    graph.output(PROBABILITIES, graph.dtype, K)


def _one_minus(graph: Graph, values: str) -> str:
    return graph.apply("Sub", graph.constant("certain", 1.0), values)


def _of_two(graph: Graph, scores: str, K: int, complement: str) -> str:
    """Return (n, K) of (n, 1), the later of two classes, or of (n, K)."""
    if K > 2:
        return scores
    other = _one_minus(graph, scores) if complement == "Sub" else graph.apply(complement, scores)
    return graph.apply("Concat", other, scores, axis=1)


def _normalise(graph: Graph, each: str, K: int) -> None:
    if K == 2:
        graph.apply("Identity", _of_two(graph, each, K, "Sub"), name=PROBABILITIES)
        return
    total = graph.apply("ReduceSum", each, graph.constant("last_axis", np.array([1])), keepdims=1)
    some = graph.apply("Greater", total, graph.constant("nothing", 0.0))
    equal = graph.constant("equal", np.full((1, K), 1 / K))
    graph.apply("Where", some, graph.apply("Div", each, total), equal, name=PROBABILITIES)


def _of_pairs(graph: Graph, decoder: Decoder, F: str, slopes: Any, offsets: Any, name: str | None = None) -> str:
    """Return the part of the first class in each pair, (n, K (K - 1) / 2)."""
    if isinstance(decoder, Sign):
        slopes = -slopes
    if isinstance(decoder, Argmax):
        first, second = class_pairs(decoder.n_classes).T
        taken = [
            graph.apply("Gather", F, graph.constant(name, places.astype(np.int64)), axis=1)
            for name, places in (("first_classes", first), ("second_classes", second))
        ]
        F = graph.apply("Sub", *taken)
    s, t = graph.constant("pair_slopes", slopes[None]), graph.constant("pair_offsets", offsets[None])
    r = graph.apply("Sigmoid", graph.apply("Add", graph.apply("Mul", F, s), t))
    least, most = graph.constant("least_probability", _LEAST), graph.constant("most_probability", 1 - _LEAST)
    return graph.apply("Clip", r, least, most, name=name)


def _couple(graph: Graph, r: str, K: int) -> None:
    """Add the loop: p is (n, 1, K) in it, and the rows of Q are (n, 1, K) each."""
    Q, diagonal = _equations(graph, r, K)
    rows = graph.apply_many(
        "Split", Q, graph.constant("row_each", np.ones(K, np.int64)), names=tuple(f"q_{t}" for t in range(K)), axis=1
    )
    numbers = {
        "close": _CLOSE / K,
        "zero_far": 0.0,
        "sum_start": 1.0,
        "all_axes": np.array([0, 1, 2]),
        "class_axis": np.array([2]),
        "class_each": np.ones(K, np.int64),
    }
    for name, value in numbers.items():
        graph.constant(name, value)
    for t in range(K):
        graph.constant(f"class_{t}", np.array([t]))
    start = graph.apply("Add", graph.apply("Mul", diagonal, "zero_far"), graph.constant("p_start", 1 / K))
    trips, going = graph.constant("rounds", np.array(max(_ROUNDS, K))), graph.constant("going", np.array(True))
    p = graph.apply("Loop", trips, going, start, body=_round(graph, Q, diagonal, rows, K))
    graph.apply("Squeeze", p, graph.constant("middle_axis", np.array([1])), name=PROBABILITIES)


def _equations(graph: Graph, r: str, K: int) -> tuple[str, str]:
    """Return Q (n, K, K) and its diagonal, (n, 1, K)."""
    M = K * (K - 1) // 2
    first, second = class_pairs(K).T
    place = np.zeros((K, K), dtype=np.int64)  # in r and 1 - r: of class i against class j
    place[first, second], place[second, first] = np.arange(M), M + np.arange(M)
    parts = graph.apply("Concat", r, _one_minus(graph, r), axis=1)
    against = graph.apply("Gather", parts, graph.constant("against", place), axis=1)
    against = graph.apply("Mul", against, graph.constant("others", 1 - np.eye(K)))
    squares, middle = graph.apply("Mul", against, against), graph.constant("middle_axis", np.array([1]))
    diagonal = graph.apply("ReduceSum", squares, middle, keepdims=1)
    crossed = graph.apply("Mul", against, graph.apply("Transpose", against, perm=[0, 2, 1]))
    own = graph.apply("Mul", diagonal, graph.constant("eye", np.eye(K)))
    return graph.apply("Sub", own, crossed), diagonal


def _round(graph: Graph, Q: str, diagonal: str, rows: tuple[str, ...], K: int) -> Body:
    """Return one round over the classes; rows whose equations hold stay where they are."""
    g = graph.inner("round_")
    p = "round_p"
    z = g.apply("MatMul", p, Q)
    c = g.apply("ReduceSum", g.apply("Mul", p, z), "class_axis", keepdims=1)
    off = g.apply("GreaterOrEqual", g.apply("Abs", g.apply("Sub", z, c)), "close")
    far = g.apply("ReduceSum", g.apply("Cast", off, to=graph.dtype), "class_axis", keepdims=1)
    active = g.apply("Cast", g.apply("Greater", far, "zero_far"), to=graph.dtype)
    names = tuple(f"round_step_{t}" for t in range(K))
    steps = g.apply_many("Split", g.apply("Div", active, diagonal), "class_each", names=names, axis=2)
    s, changes = "sum_start", []
    for t in range(K):
        share, own = g.apply("Div", c, s), g.apply("Gather", z, f"class_{t}", axis=2)
        change = g.apply("Mul", g.apply("Sub", share, own), steps[t])
        c = g.apply("Add", c, g.apply("Mul", change, g.apply("Add", share, own)))
        z = g.apply("Add", z, g.apply("Mul", change, rows[t]))
        s = g.apply("Add", s, change)
        changes.append(change)
    moved = g.apply("Div", g.apply("Add", p, g.apply("Concat", *changes, axis=2)), s)
    going = g.apply("Greater", g.apply("ReduceSum", far, "all_axes", keepdims=0), "zero_far")
    shape = ("n", 1, K)
    inputs = (
        Output("round_number", np.dtype(np.int64), ()),
        Output("round_going", np.dtype(bool), ()),
        Output(p, graph.dtype, shape),
    )
    return Body(g.nodes, inputs, (Output(going, np.dtype(bool), ()), Output(moved, graph.dtype, shape)))
