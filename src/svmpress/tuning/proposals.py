"""The next point to try: by Gaussian processes, or by chance.

Optuna's ``GPSampler`` does what Gardner et al. propose. It fits one Gaussian process (Matérn 5/2, one length scale a
parameter) to the objective and one to each constraint, and maximises

    log EI(x) + Σ log P(constraint(x) <= 0)

where EI is the expected improvement over the best feasible trial; while nothing is feasible the first term is left out.
It takes an ordinary study, so trials are put into a fresh one each time, with the values that the goal sees in their
curves *now*: nothing of the search lives in Optuna, and nothing but the records has to be stored.

The first trials come from the estimator itself and from a scrambled Sobol sequence.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from svmpress.errors import MissingExtraError
from svmpress.tuning.space import Parameter

Sampler = Literal["gp", "random"]

STARTUP = 8
"""Trials before the Gaussian processes are asked."""


class Observation(NamedTuple):
    """What a trial says about the goal; see :mod:`svmpress.tuning.goal`."""

    params: Mapping[str, Any]
    value: float
    violation: float | None


def check_sampler(sampler: Sampler) -> None:
    """Raise an error if a sampler cannot be used here.

    Raises
    ------
    MissingExtraError
        When the Gaussian processes are asked for, and Optuna or torch is not installed.
    """
    if sampler == "gp":
        for package in ("optuna", "torch"):
            try:
                __import__(package)
            except ImportError as e:
                raise MissingExtraError("searching by Gaussian processes", package, "search") from e


def propose(
    space: Sequence[Parameter], seen: Sequence[Observation], number: int, *, sampler: Sampler, seed: int
) -> dict[str, Any]:
    """Return parameters for the trial with this number, from 1 on.

    Depends on the arguments only: the same trials before it lead to the same proposal.
    """
    rng = np.random.default_rng([seed, number])
    if sampler == "random":
        return at_random(space, rng)
    if number < STARTUP or not seen:
        return _sobol(space, number, seed)
    found = _by_gaussian_process(space, seen, int(rng.integers(2**31)))
    known = [dict(o.params) for o in seen]
    return at_random(space, rng) if found in known else found


def at_random(space: Sequence[Parameter], rng: np.random.Generator) -> dict[str, Any]:
    """Return parameters drawn evenly over their ranges."""
    return {p.name: p.at(float(u)) for p, u in zip(space, rng.random(len(space)), strict=True)}


def _sobol(space: Sequence[Parameter], number: int, seed: int) -> dict[str, Any]:
    from scipy.stats import qmc  # slow to import

    points = qmc.Sobol(len(space), seed=seed).random_base2(max(1, int(number).bit_length()))
    return {p.name: p.at(float(u)) for p, u in zip(space, points[number - 1], strict=True)}


def _by_gaussian_process(space: Sequence[Parameter], seen: Sequence[Observation], seed: int) -> dict[str, Any]:
    import optuna

    with _quiet(optuna), threadpool_limits(limits=1):  # matrices of some dozen rows: threads only wait
        study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed, n_startup_trials=0))
        distributions = {p.name: _distribution(optuna, p) for p in space}
        for o in seen:
            constraints = None if o.violation is None else {"accuracy": o.violation}
            study.add_trial(
                optuna.trial.create_trial(
                    params=dict(o.params), distributions=distributions, value=o.value, constraints=constraints
                )
            )
        return dict(study.ask(distributions).params)


def _distribution(optuna: Any, p: Parameter) -> Any:
    if p.choices:
        return optuna.distributions.CategoricalDistribution(p.choices)
    if p.integer:
        return optuna.distributions.IntDistribution(int(p.low), int(p.high))
    return optuna.distributions.FloatDistribution(p.low, p.high, log=p.log)


@contextlib.contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna from talking: a search says itself what it does."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
