"""What is written of answers: the names of their columns, as every table has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.data.source import label_text
from svmpress.data.streaming import Answered, Question, answers
from svmpress.errors import InputError
from svmpress.model import KernelModel


def named_answers(
    model: KernelModel, values: NDArray[Any], question: Question = "labels", labels: NDArray[Any] | None = None
) -> dict[str, NDArray[Any]]:
    """Return what a model says about rows as columns (n,) with names.

    Parameters
    ----------
    model : KernelModel
    values : (n,) or (n, M)
        What :func:`svmpress.data.streaming.answers` returned.
    question : "labels", "scores" or "probabilities"
        What it was asked. With probabilities comes the likeliest class.
    labels : (n,), optional
        For probabilities of a one-class model, whose sign decides, and not these: its answers.

    Examples
    --------
    >>> from svmpress.decoders import Sign
    >>> from svmpress.kernels import RBF
    >>> from svmpress.model import KernelExpansion
    >>> f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1))
    >>> model = KernelModel(f, Sign(np.array(["far", "near"])))
    >>> {name: a.tolist() for name, a in named_answers(model, np.array([[0.2, 0.8]]), "probabilities").items()}
    {'prediction': ['near'], 'probability_far': [0.2], 'probability_near': [0.8]}
    """
    classes = None if model.classes_ is None else [label_text(c) for c in model.classes_.tolist()]
    if question == "probabilities" and model.task == "outlier":  # inliers come first, as svm-predict has it
        own = {} if labels is None else {"prediction": labels}
        return own | {"probability_1": values[:, 1], "probability_-1": values[:, 0]}
    if question == "probabilities" and model.classes_ is not None and classes is not None:
        own = {"prediction": model.classes_[np.argmax(values, axis=1)]}
        return own | {f"probability_{c}": values[:, k] for k, c in enumerate(classes)}
    kind = "score" if question == "scores" else "prediction"
    if values.ndim == 1:
        return {kind: values}
    names = classes if question == "scores" and classes is not None and len(classes) == values.shape[1] else None
    return {f"{kind}_{names[k] if names else k + 1}": values[:, k] for k in range(values.shape[1])}


def own_answers(part: Answered, question: Question = "labels") -> dict[str, NDArray[Any]]:
    """Return the answers for a block of rows, by column, and nothing of what the rows brought along."""
    decided = question == "probabilities" and part.model.task == "outlier"
    return named_answers(part.model, part.values, question, answers(part.model, part.X) if decided else None)


def answer_columns(part: Answered, question: Question = "labels", file: str | None = None) -> dict[str, NDArray[Any]]:
    """Return what is written of a block of answered rows, by column.

    Parameters
    ----------
    part : Answered
    question : "labels", "scores" or "probabilities"
        What was asked.
    file : str, optional
        The file of the rows, where that is to be told.

    Raises
    ------
    InputError
        When the data has a column of the same name as an answer.
    """
    found: dict[str, Any] = {} if file is None else {"file": np.full(len(part.values), file, dtype=object)}
    found |= part.block.carried
    own = own_answers(part, question)
    taken = sorted(set(found) & set(own))
    if taken:
        raise InputError(f"the data has a column {taken[0]!r}, the name of an answer: rename it")
    return found | own
