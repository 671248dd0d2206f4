"""What fine-tuning starts from, decided on rows that are held out.

Few bits like other models than floats do: vectors where rows are, since a range that nothing uses makes steps coarser,
and a narrower kernel, whose coefficients are smaller and so magnify rounding less. Which of a few such starts to go on
from is tried with a part of the passes. The source as it is starts, too, and with small steps: it is good already.

The source's vectors have seen the rows that are held out, and answer them better than others: of few rows, nearly all
of them. That favours the source with small steps, which is what few rows can afford, and fades with their number. The
source with its coefficients solved again, and not tuned at all, would win by that alone; so the choice once made, all
rows are fitted, and that source is taken only where fine-tuning has clearly failed on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.exports.quantized.cases import Case, levels_of
from svmpress.exports.quantized.fitting import Fit, goals_of, label_targets
from svmpress.exports.quantized.grid import Floats
from svmpress.exports.quantized.tuning import Tuned, tune, usual_epochs

_HELD, _MOST_HELD = 0.15, 5000
_FEW = 50
"""Rows of which none can be spared to judge: nothing is fine-tuned on fewer."""
_STARTS: tuple[tuple[float, dict[str, Any]], ...] = (
    (0.05, {}),
    (1.0, {"cut": True}),
    (1.0, {"cut": True, "narrower": 2.0}),
    (1.0, {"cut": True, "narrower": 4.0}),
)
"""How large the steps are, and what is changed."""
_CLEARLY = 3.0
"""Standard errors."""
_TRIAL = 0.1
"""Part of the passes that each start is tried with."""


def fine_tuned(
    case: Case,
    plain: Fit,
    values: Floats,
    weights: str,
    *,
    augment: int,
    epochs: int | None,
    seed: int,
    tell: Callable[[int, int], None] | None,
) -> Fit:
    """Return the best of what fine-tuning on labels finds, and of the source with coefficients solved again.

    Parameters
    ----------
    case : Case
        With rows and answers.
    plain : Fit
        The source as it is.
    values : (n, M)
        The source's values at the rows.
    weights : str
    augment, epochs, seed
        See :func:`svmpress.quantize`.
    tell : callable, optional
    """
    assert case.y is not None
    y, n = case.y, len(values)
    targets, decoder = goals_of(values, y, plain.decoder)
    if n < _FEW:
        return plain.solved(targets, decoder, np.arange(n), seed)
    order = np.random.default_rng(seed).permutation(n)
    n_held = min(int(_HELD * n), _MOST_HELD)
    held, some = np.sort(order[:n_held]), np.sort(order[n_held:])
    total = usual_epochs(len(some)) if epochs is None else epochs
    trial = max(1, int(_TRIAL * total))
    starts = [(rate, Fit.begin(case, weights, **s)) for rate, s in _STARTS if plain.is_rbf or "narrower" not in s]
    work = total + trial * len(starts)
    done = 0

    def tuned(rate: float, start: Fit, rows: NDArray[np.intp], times: int) -> Fit:
        nonlocal done
        fit = start.solved(targets, decoder, rows, seed)
        found = _tuned(case, fit, rows, augment, (rate, times), seed, _later(tell, done, work))
        done += times
        return replace(fit, V=found.V, coef=found.coef, intercept=found.intercept)

    tried = [float(_goodness(tuned(*start, some, trial), y, held).mean()) for start in starts]
    best = tuned(*starts[int(np.argmax(tried))], np.arange(n), total)
    copy = plain.solved(targets, decoder, np.arange(n), seed)
    return copy if _is_ahead(copy, best, y, held) else best


def _is_ahead(one: Fit, other: Fit, y: NDArray[Any], held: NDArray[np.intp]) -> bool:
    """Return whether a fit is better by more than a few standard errors of the difference."""
    gain = _goodness(one, y, held) - _goodness(other, y, held)
    return bool(gain.mean() > _CLEARLY * gain.std() / np.sqrt(max(1, len(gain))))


def _later(tell: Callable[[int, int], None] | None, done: int, work: int) -> Callable[[int, int], None] | None:
    return None if tell is None else lambda epoch, _: tell(done + epoch, work)


def _tuned(
    case: Case,
    fit: Fit,
    some: NDArray[np.intp],
    augment: int,
    steps: tuple[float, int],
    seed: int,
    tell: Callable[[int, int], None] | None,
) -> Tuned:
    assert case.y is not None
    assert fit.levels is not None
    classes = 0 if case.source.classes_ is None else len(case.source.classes_)
    y = case.y
    if classes and fit.coef.shape[1] == 1:
        y = (label_targets(y, fit.decoder)[0][:, 0] > 0).astype(np.intp)
    rows = levels_of(case, fit.grid, fit.levels, augment)
    start = (fit.V, fit.coef, fit.intercept)
    rate, epochs = steps
    return tune(
        fit.grid, fit.kernel, rows, y, start, some, rate=rate, classes=classes, epochs=epochs, seed=seed, progress=tell
    )


def _goodness(fit: Fit, y: NDArray[Any], held: NDArray[np.intp]) -> Floats:
    """Return 1 for each right answer, or the negative squared error of a regression, (k,)."""
    F = fit.values(held)
    if fit.decoder.classes is None:
        return np.asarray(-((F - y[held]) ** 2).sum(axis=1))
    return np.asarray(fit.decoder.positions(F) == y[held], dtype=np.float64)
