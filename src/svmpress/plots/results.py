"""Pictures of models and of what compression made of them, for notebooks: each takes an ``ax`` and returns it.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; lines and marks that are neither take the
colour of the axes, so that a dark style stays readable. Without an ``ax`` a figure of pyplot is made. All need
matplotlib, the extra ``plots``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import PairDAG, PairVote
from svmpress.errors import InputError, MissingExtraError
from svmpress.formats import as_model
from svmpress.model import KernelModel
from svmpress.numerics import Floats, arrays, chosen_rows

_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_SMALL, _SOURCE = _PALETTE[0], _PALETTE[1]
_GRID = 200
"""Points on a side of a plane."""
_MOST_ROWS = 2000
"""That are drawn, or that a projection is made of."""
_LINES = 60
"""Bars of a histogram."""


def size_curve(path: Any, ax: Any = None) -> Any:
    """Draw the accuracy of several sizes with their intervals, and the source's as a line.

    Parameters
    ----------
    path : CompressionPath
        Of :func:`svmpress.compress_path`. Where it was given no test rows, the agreement with the source is drawn.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> import svmpress
    >>> X, y = load_iris(return_X_y=True)
    >>> path = svmpress.compress_path(SVC().fit(X, y), X, y, sizes=[4, 8], X_test=X, y_test=y)
    >>> size_curve(path).get_ylabel()
    'accuracy'
    """
    ax = _axes(ax)
    regresses = path.source.classes_ is None
    measured = [m.accuracy for m in path.measured]
    if measured and all(estimate is not None for estimate in measured):
        estimates, label = measured, "R²" if regresses else "accuracy"
    else:
        known = [(m, r.expected) for m, r in zip(path.sizes, path.results, strict=True) if r.expected is not None]
        estimates, label = [e.agreement for _, e in known], "agreement with the source"
    sizes = list(path.sizes) if measured else [m for m, _ in known]
    if not estimates:
        raise InputError("there is nothing measured to draw: give compress_path X, or X_test and y_test")
    values = np.array([e.value for e in estimates])
    spread = np.abs(np.array([[e.low, e.high] for e in estimates]).T - values)
    ax.errorbar(sizes, values, yerr=spread, color=_SMALL, marker="o", capsize=3, label="small")
    source = path.source_measured
    if label != "agreement with the source" and source is not None and source.accuracy is not None:
        ax.axhline(source.accuracy.value, color=_SOURCE, linestyle="--", label=f"source, {source.vectors:,} vectors")
        ax.legend()
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{m:,}" for m in sizes])
    ax.minorticks_off()
    ax.set_xlabel("vectors")
    ax.set_ylabel(label)
    return ax


def boundary(model: Any, X: Any = None, y: Any = None, *, source: Any = None, ax: Any = None) -> Any:
    """Draw what a model of two features answers all over their plane, and its vectors.

    Parameters
    ----------
    model : estimator, KernelModel, Compression or path
    X : (n, 2), optional
        Rows to draw, which also say how far the plane reaches; else the vectors do.
    y : (n,), optional
        Their labels or values: with those, rows have the colours of what is right.
    source : estimator, KernelModel or path, optional
        Its boundaries are dashed lines; by default those of what a Compression was made of.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> import svmpress
    >>> X, y = load_iris(return_X_y=True)
    >>> result = svmpress.compress(SVC().fit(X[:, :2], y), X[:, :2], y, vectors=6)
    >>> boundary(result, X[:, :2], y).get_xlabel()
    'feature 1'
    """
    small, before = _both(model, source)
    if small.n_features != 2:
        raise InputError(f"a boundary is drawn of two features, and the model has {small.n_features:,}")
    ax, V = _axes(ax), _in_units_of_rows(small)
    rows, answers = (None, None) if X is None else _some(small, X, y)
    low, high = np.quantile(V if rows is None else rows, [0.002, 0.998], axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    across, up = (np.linspace(low[k] - margin[k], high[k] + margin[k], _GRID) for k in (0, 1))
    points = np.stack([a.ravel() for a in np.meshgrid(across, up)], axis=1)
    colours = _Colours(small, points)
    colours.fill(ax, across, up, small.predict(points))
    if before is not None:
        regions = colours.numbers(before.predict(points)).reshape(_GRID, _GRID)
        for level in range(int(regions.max())):
            ax.contour(across, up, regions > level, levels=[0.5], colors="k", linestyles="--", linewidths=1)
    if rows is not None:
        shown = small.predict(rows) if answers is None else answers
        ax.scatter(*rows.T, s=6, alpha=0.6, color=colours.of(shown), linewidths=0)
    ax.scatter(*V.T, s=30, color=colours.of(small.predict(V)), edgecolors="k", linewidths=1, label="vectors")
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])
    names = small.feature_names or ("feature 1", "feature 2")
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    return ax


def vectors(model: Any, *, image: tuple[int, int] | None = None, most: int = 60, X: Any = None, ax: Any = None) -> Any:
    """Draw the vectors of a model: as images, or in the plane in which they, or rows, vary most.

    Parameters
    ----------
    model : estimator, KernelModel, Compression or path
    image : (height, width), optional
        Features are the pixels of a picture, row by row: the vectors are drawn as such.
    most : int
        Images to draw at most.
    X : (n, d), optional
        Rows for the plane, drawn faintly.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> X, y = load_digits(return_X_y=True)
    >>> ax = vectors(SVC(gamma=0.001).fit(X, y), image=(8, 8), most=6)
    >>> ax.get_title()
    '6 of 812 vectors'
    """
    small, _ = _both(model, None)
    V = _in_units_of_rows(small)
    if image is not None:
        h, w = image
        if h * w != small.n_features:
            raise InputError(f"an image of {h}x{w} has {h * w:,} features, and the model has {small.n_features:,}")
        if most < 1:
            raise InputError(f"most must be at least 1, not {most}")
        return _sheet(V[:most].reshape(-1, h, w), f"{min(most, len(V)):,} of {len(V):,} vectors", _axes(ax))
    rows = V if X is None else _some(small, X, None)[0]
    mean = rows.mean(axis=0)
    directions = np.zeros((2, V.shape[1]))
    found = np.linalg.svd(rows - mean, full_matrices=False)[2][:2]
    directions[: len(found)] = found
    ax, colours = _axes(ax), _Colours(small, rows)
    if X is not None:
        ax.scatter(*((rows - mean) @ directions.T).T, s=4, alpha=0.35, color=colours.of(small.predict(rows)))
    ax.scatter(*((V - mean) @ directions.T).T, s=30, color=colours.of(small.predict(V)), edgecolors="k", linewidths=1)
    ax.set_xlabel("first principal direction")
    ax.set_ylabel("second principal direction")
    ax.set_title(f"{len(V):,} vectors")
    return ax


def decision_values(model: Any, X: Any, *, source: Any = None, ax: Any = None) -> Any:
    """Draw how decision values are distributed over rows, before and after.

    Parameters
    ----------
    model : estimator, KernelModel, Compression or path
    X : (n, d)
        Rows, best those that neither training nor compression has seen.
    source : estimator, KernelModel or path, optional
        By default what a Compression was made of.
    ax : matplotlib Axes, optional

    Notes
    -----
    With one output these are the values themselves. Of several classes it is how far the best score is ahead of the
    next, of several outputs of a regressor the first.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import SVC
    >>> import svmpress
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = svmpress.compress(SVC().fit(X, y), X, y, vectors=6)
    >>> decision_values(result, X).get_xlabel()
    'decision value'
    """
    small, before = _both(model, source)
    rows = arrays.check_rows(X, n_features=small.n_features, allow_empty=False)
    ax = _axes(ax)
    found = {"small": _told(small, rows)}
    if before is not None:
        found["source"] = _told(before, rows)
    edges = np.histogram_bin_edges(np.concatenate(list(found.values())), bins=_LINES)
    for name, colour, filled in (("small", _SMALL, True), ("source", _SOURCE, False)):
        if name in found:
            kind = {"alpha": 0.5} if filled else {"histtype": "step", "linewidth": 1.5}
            ax.hist(found[name], bins=edges, color=colour, label=name, **kind)
    one = small.n_outputs == 1 or small.classes_ is None
    ax.set_xlabel("decision value" if one else "margin of the best class")
    ax.set_ylabel("rows")
    ax.legend()
    return ax


# ---------------------------------------------------------------------------------------------------------
# What they share
# ---------------------------------------------------------------------------------------------------------


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as e:
        raise MissingExtraError("drawing figures", "matplotlib", "plots") from e
    return pyplot.subplots(layout="constrained")[1]


def _both(model: Any, source: Any) -> tuple[KernelModel, KernelModel | None]:
    """Return a model, and the source that was named or that a compression was made of."""
    held = getattr(model, "compression_", model)
    if source is None and not isinstance(held, KernelModel):
        source = getattr(held, "source", None)
    small = as_model(model)
    before = None if source is None else as_model(source)
    if before is not None and before.n_features != small.n_features:
        raise InputError(f"the source has {before.n_features:,} features, and the model has {small.n_features:,}")
    return small, before


def _some(model: KernelModel, X: Any, y: Any) -> tuple[Floats, NDArray[Any] | None]:
    """Return rows, dense and not too many to draw, with their answers."""
    rows = arrays.check_rows(X, n_features=model.n_features, allow_empty=False)
    n = int(rows.shape[0])
    answers = None if y is None else np.asarray(y)
    if answers is not None and answers.shape != (n,):
        raise InputError(f"y must be {n} answers for {n} rows, not an array of shape {answers.shape}")
    some = chosen_rows(n, _MOST_ROWS, seed=0)
    drawn = np.asarray(arrays.to_numpy(arrays.dense(arrays.take(rows, some))), dtype=np.float64)
    return drawn, None if answers is None else answers[some]


def _in_units_of_rows(model: KernelModel) -> Floats:
    """Return the vectors as rows are given, with the scaling undone, (m, d)."""
    V = np.asarray(arrays.dense(model.expansion.vectors), dtype=np.float64)
    if model.scaling is None:
        return V
    V = V / np.where(model.scaling.factor == 0, 1.0, model.scaling.factor)
    return V if model.scaling.shift is None else V + model.scaling.shift


def _told(model: KernelModel, X: Any) -> Floats:
    """Return one number a row that says how sure the answer is, (n,)."""
    if model.n_outputs == 1 or model.classes_ is None:
        return np.asarray(model.decision_values(X), dtype=np.float64)[:, 0]
    if isinstance(model.decoder, PairDAG):
        model = model.with_decoder(PairVote(model.classes_))
    scores = np.sort(np.asarray(model.decision_function(X), dtype=np.float64), axis=1)
    return np.asarray(scores[:, -1] - scores[:, -2])


def _sheet(pictures: Floats, title: str, ax: Any) -> Any:
    """Draw pictures (n, h, w) side by side, with a gap between."""
    n, h, w = pictures.shape
    across = min(n, 10)
    sheet = np.full((-(-n // across) * (h + 1) - 1, across * (w + 1) - 1), np.nan)
    for i, picture in enumerate(pictures):
        top, left = i // across * (h + 1), i % across * (w + 1)
        sheet[top : top + h, left : left + w] = picture
    ax.imshow(sheet, cmap="gray", interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(title)
    return ax


class _Colours:
    """A colour for each answer: of a class, or of a fifth of a regressor's answers at some rows."""

    def __init__(self, model: KernelModel, rows: Floats) -> None:
        self.place: dict[Any, int] | None = None
        self.cuts: Floats = np.zeros(0)
        if model.classes_ is not None:
            self.place = {label: i for i, label in enumerate(model.classes_.tolist())}
        else:
            self.cuts = np.quantile(model.predict(rows), [0.2, 0.4, 0.6, 0.8])

    def numbers(self, answers: NDArray[Any]) -> NDArray[np.intp]:
        """Return the place of each answer, (n,); of labels that the model does not know the last."""
        if self.place is None:
            return np.searchsorted(self.cuts, answers)
        return np.array([self.place.get(a, len(self.place)) for a in answers.tolist()], dtype=np.intp)

    def of(self, answers: NDArray[Any]) -> list[str]:
        """Return a colour for each answer."""
        return [_PALETTE[i % len(_PALETTE)] for i in self.numbers(answers).tolist()]

    def fill(self, ax: Any, across: Floats, up: Floats, answers: NDArray[Any]) -> None:
        """Colour the plane by answers at all its points."""
        from matplotlib.colors import to_rgba

        pale = np.array([to_rgba(colour, 0.3) for colour in self.of(answers)]).reshape(len(up), len(across), 4)
        ends = (across[0], across[-1], up[0], up[-1])
        ax.imshow(pale, extent=ends, origin="lower", aspect="auto", interpolation="nearest")
