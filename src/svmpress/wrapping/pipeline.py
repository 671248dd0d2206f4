"""Pipeline: the last step is compressed, on rows that the steps before it have transformed.

Where these are scalers that a model can keep, the model has them as its scaling and takes rows as they come, as files
of models do. The estimator has the same steps in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from svmpress.errors import InputError
from svmpress.formats import can_convert, from_estimator
from svmpress.wrapping.base import Part, Small, Wrapped
from svmpress.wrapping.fitted import fitted_estimator


def unwrapped(pipeline: Pipeline) -> Wrapped:
    """Return the last step of a pipeline, and how rows get there."""
    last = pipeline.steps[-1][1]
    if last is None or isinstance(last, str):
        raise InputError("the Pipeline does not end in an estimator")
    if can_convert(pipeline):

        def with_steps(small: Sequence[Small]) -> Any:
            return _ending_in(pipeline, fitted_estimator(replace(small[0].model, scaling=None, feature_names=None)))

        return Wrapped((Part(from_estimator(pipeline)),), with_steps)

    def rows(X: Any) -> Any:
        return X if X is None or len(pipeline.steps) == 1 else pipeline[:-1].transform(X)

    def rebuild(small: Sequence[Small]) -> Any:
        return _ending_in(pipeline, small[0].estimator)

    note = "model is the last step alone, which takes rows as the steps before it leave them; estimator has all steps"
    return Wrapped((Part(last, rows),), rebuild, (note,))


def _ending_in(pipeline: Pipeline, last: Any) -> Pipeline:
    """Return the pipeline with another last step; the steps before it are the same objects."""
    small = copy(pipeline)
    small.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], last)]
    return small
