"""ONNX files: a model as a graph of plain operators, for onnxruntime and whatever else runs ONNX.

The graph reads rows (n, d) as they are, with any n: the scaling of the input is part of it. It answers

    label             (n,)           int64 or text: what ``predict`` answers; a regressor has none
    scores            (n,) or (n, K) what ``decision_function`` answers; of a regressor, what ``predict`` does
    decision_values   (n, M)         f(x)
    probabilities     (n, K)         where the model was calibrated (LibSVM's ``-b 1``, and others)

There is no operator of classical machine learning in it (``ai.onnx.ml``), which few back ends have, and no ``Min`` or
``Max``; LibSVM's probabilities of more than two classes need a ``Loop``, and nothing else does. Everything is known
without the package ``onnx``, which only puts the file together: what such a file cannot hold is said before anything
is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError, MissingExtraError, SvmpressWarning
from svmpress.formats.onnx_decoders import add_answers, class_scores, decoder_obstacles
from svmpress.formats.onnx_graph import PRODUCER, ROWS, Body, Graph, Node, Output
from svmpress.formats.onnx_kernels import add_decision_values, kernel_obstacles
from svmpress.formats.onnx_probabilities import add_probabilities, has_probabilities, missing_probabilities
from svmpress.model import KernelModel, kind_of
from svmpress.storage import replacing

OPSETS = range(13, 18)
"""The versions of ONNX's set of operators that a file may be written for."""

_PRECISIONS = ("float32", "float64")
_MOST_BYTES = 2**31 - 2**20
"""A file of Protocol Buffers has less than 2 GiB."""


def obstacles(model: KernelModel, opset: int = 13, dtype: Any = "float32", probabilities: bool = True) -> list[str]:
    """Return what an ONNX file cannot hold of this model; empty when it can be written."""
    _check(opset, dtype)
    found = kernel_obstacles(model) + decoder_obstacles(model)
    n_bytes = np.dtype(dtype).itemsize * model.n_vectors * model.n_features
    if n_bytes > _MOST_BYTES:
        found.append(f"dense, its vectors are {n_bytes / 2**30:.1f} GiB, and an ONNX file holds less than 2")
    if found:
        return found
    graph = _graph(model, dtype, probabilities)
    if graph.n_bytes > _MOST_BYTES:
        found.append(f"its graph would be {graph.n_bytes / 2**30:.1f} GiB, and an ONNX file holds less than 2")
    if graph.overflows:
        advice = "; float64 has room for larger ones" if np.dtype(dtype) == np.float32 else ""
        found.append(f"its numbers overflow {np.dtype(dtype)} on the way to the graph{advice}")
    return found


def write(model: KernelModel, path: Path, opset: int = 13, dtype: Any = "float32", probabilities: bool = True) -> None:
    """Write a model without :func:`obstacles`.

    Parameters
    ----------
    model : KernelModel
    path : Path
    opset : int
        13 to 17. The graphs are the same, and what reads an opset reads the older ones: 13 is the most widely read.
    dtype : float32 or float64
        The precision of the rows, the scores and all that is between them.
    probabilities : bool
        Whether the graph has them where the model has. Those of more than two classes take most of the time.

    Raises
    ------
    MissingExtraError
        Without the package ``onnx``.
    """
    _check(opset, dtype)
    missing = missing_probabilities(model) if probabilities else None
    if missing is not None:
        warnings.warn(f"the ONNX file has no output 'probabilities': {missing}", SvmpressWarning, stacklevel=3)
    content = _model_proto(_graph(model, dtype, probabilities), model, opset).SerializeToString(deterministic=True)
    with replacing(path) as (file,):
        file.write(content)


def _check(opset: int, dtype: Any) -> None:
    if not isinstance(opset, int) or opset not in OPSETS:
        raise InputError(f"the opset of an ONNX file is a number from {OPSETS[0]} to {OPSETS[-1]}, not {opset!r}")
    try:
        known = dtype is not None and np.dtype(dtype).name in _PRECISIONS
    except TypeError:
        known = False
    if not known:
        raise InputError(f"the dtype of an ONNX file is {' or '.join(_PRECISIONS)}, not {dtype!r}")


def _graph(model: KernelModel, dtype: Any, probabilities: bool) -> Graph:
    graph = Graph(np.dtype(dtype).name)
    with np.errstate(all="ignore"):  # what overflows is found in the graph
        F = add_decision_values(graph, model)
        add_answers(graph, model, F)
        if probabilities and has_probabilities(model):
            of_classes = kind_of(model.probability) in ("sigmoid", "temperature")
            add_probabilities(graph, model, F, class_scores(graph, model.decoder, F) if of_classes else "")
    return graph


# ---------------------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------------------


def _model_proto(graph: Graph, model: KernelModel, opset: int) -> Any:
    """Return the graph as the package ``onnx`` has it."""
    try:
        from onnx import helper
    except ImportError as e:
        raise MissingExtraError("writing ONNX files", "onnx", "onnx") from e
    from svmpress import __version__

    inside = helper.make_graph(
        _nodes(graph.nodes),
        PRODUCER,
        _values((Output(ROWS, graph.dtype, ("n", model.n_features)),)),
        _values(graph.outputs),
        [_tensor(name, a) for name, a in graph.constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    proto = helper.make_model(
        inside,
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name=PRODUCER,
        producer_version=__version__,
        doc_string=_summary(model),
    )
    helper.set_model_props(proto, _metadata(model, graph))
    return proto


def _nodes(nodes: Iterable[Node]) -> list[Any]:
    from onnx import helper

    return [
        helper.make_node(n.operator, n.inputs, n.outputs, name=n.outputs[0], **_attributes(n.attributes)) for n in nodes
    ]


def _values(values: Iterable[Output]) -> list[Any]:
    from onnx import helper

    return [helper.make_tensor_value_info(v.name, _element_type(v.dtype), v.shape) for v in values]


def _attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _attribute(value) for name, value in attributes.items()}


def _attribute(value: Any) -> Any:
    from onnx import helper

    if isinstance(value, Body):
        return helper.make_graph(_nodes(value.nodes), "body", _values(value.inputs), _values(value.outputs))
    return _element_type(value) if isinstance(value, np.dtype) else value


def _element_type(dtype: Any) -> int:
    from onnx import TensorProto, helper

    return int(TensorProto.STRING if np.dtype(dtype).kind == "O" else helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _tensor(name: str, a: NDArray[Any]) -> Any:
    from onnx import helper, numpy_helper

    if a.dtype == object:
        return helper.make_tensor(name, _element_type(a.dtype), a.shape, [text.encode() for text in a.tolist()])
    return numpy_helper.from_array(np.asarray(a, order="C"), name)


def _summary(model: KernelModel) -> str:
    return f"A kernel SVM for {model.task}: {model.n_vectors} vectors of {model.n_features} features."


def _metadata(model: KernelModel, graph: Graph) -> dict[str, str]:
    """Return what a file says of its model: kernel, sizes, and where the model came from."""
    facts: dict[str, Any] = {
        "task": model.task,
        "kernel": model.kernel.name,
        **model.kernel.params,
        "decoder": type(model.decoder).__name__,
        "vectors": model.n_vectors,
        "features": model.n_features,
        "outputs": model.n_outputs,
        "precision": graph.dtype,
    }
    if model.classes_ is not None:
        facts["classes"] = model.classes_.size
    facts |= {f"source.{name}": value for name, value in model.provenance.items()}
    return {_text(f"svmpress.{name}"): _text(value) for name, value in facts.items()}


def _text(value: Any) -> str:
    """Return a value as text that a file can hold, which half a surrogate pair is not."""
    return str(value).encode(errors="replace").decode()
