"""From scikit-learn: fitted estimators become our model, with the same ``predict`` and ``decision_function``.

    SVC, NuSVC                                two classes: Sign; more: PairVote over LibSVM's layout of machines
    SVR, NuSVR, KernelRidge                   Identity; KernelRidge may have several outputs
    OneClassSVM                               Sign over -1 and 1
    OneVsRestClassifier, OneVsOneClassifier   around SVC or NuSVC: Argmax, or PairVote with broken ties
    Pipeline                                  of scalers and one of these: the scalers become one ``Scaling``

Machines that were trained apart (one-vs-rest, one-vs-one) share their training rows: equal rows are stored once, and
the machines become columns of coefficients. That needs one kernel for all of them. Nothing of the estimator is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from svmpress.decoders import Argmax, Decoder, Floats, Identity, PairVote, Sign, class_pairs, pair_mask
from svmpress.errors import InputError
from svmpress.formats.layout import check_size, unpack
from svmpress.kernels import KERNELS, Kernel, kernel_by_name
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.numerics import Rows, is_csr

_SUPPORTED = (
    "SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, OneVsRestClassifier or OneVsOneClassifier around SVC or NuSVC, "
    "and a Pipeline of scalers that ends in one of them"
)


def converted(estimator: Any) -> KernelModel:
    """Return the model of a fitted estimator; see :func:`svmpress.from_estimator`."""
    if isinstance(estimator, type):
        raise InputError(f"{estimator.__name__} is a class: pass a fitted estimator, not its type")
    for kinds, convert in _CONVERTERS:
        if isinstance(estimator, kinds):
            _check_fitted(estimator)
            model = convert(estimator)
            provenance = {"estimator": type(estimator).__name__, **model.provenance}
            return replace(model, provenance=provenance, feature_names=_feature_names(estimator))
    if hasattr(estimator, "best_estimator_"):
        raise InputError(f"{type(estimator).__name__} is a search: pass its best_estimator_")
    raise InputError(f"{type(estimator).__name__} cannot be converted; svmpress takes {_SUPPORTED}")


def can_convert(estimator: Any) -> bool:
    """Return whether this is a kind of estimator that becomes one model, with every step of it."""
    if not isinstance(estimator, Pipeline):
        return any(isinstance(estimator, kinds) for kinds, _ in _CONVERTERS)
    *before, last = [step for _, step in estimator.steps]
    scales = (step is None or isinstance(step, str) or _is_scaler(step) for step in before)
    return all(scales) and can_convert(last)


def _is_scaler(step: Any) -> bool:
    return isinstance(step, (StandardScaler, MinMaxScaler, MaxAbsScaler)) and not getattr(step, "clip", False)


def _feature_names(estimator: Any) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def _check_fitted(estimator: Any) -> None:
    try:
        check_is_fitted(estimator)
    except NotFittedError as e:
        raise InputError(f"the {type(estimator).__name__} is not fitted: call its fit first") from e


# ---------------------------------------------------------------------------------------------------------
# Single machines
# ---------------------------------------------------------------------------------------------------------


def _kernel(estimator: Any, gamma: float | None) -> Kernel:
    name = {"polynomial": "poly"}.get(estimator.kernel, estimator.kernel) if _named(estimator) else None
    if name not in KERNELS:
        what = f"kernel={estimator.kernel!r}" if _named(estimator) else "a kernel that is a function"
        raise InputError(
            f"the {type(estimator).__name__} has {what}, which svmpress cannot evaluate; "
            f"it knows {', '.join(sorted(KERNELS))}"
        )
    if gamma is None:
        gamma = 1.0 / estimator.n_features_in_
    degree = estimator.degree if isinstance(estimator.degree, int) else float(estimator.degree)
    return kernel_by_name(name, gamma=float(gamma), degree=degree, coef0=float(estimator.coef0))


def _named(estimator: Any) -> bool:
    return isinstance(estimator.kernel, str)


def _dense(a: Any) -> Floats:
    """Return what is sparse in an estimator fitted on sparse rows, and dense otherwise, as a dense array."""
    return np.asarray(a.toarray() if is_csr(a) else a)


def _from_svc(svc: Any) -> KernelModel:
    if svc.break_ties and svc.decision_function_shape == "ovo":
        raise InputError(
            "break_ties must be False when decision_function_shape is 'ovo': such an SVC cannot predict either"
        )
    kernel = _kernel(svc, svc._gamma)
    if svc.classes_.size == 2:
        decoder: Decoder = Sign(svc.classes_)
        coef, mask = _dense(svc.dual_coef_).T, None
    else:
        decoder = PairVote(svc.classes_, svc.decision_function_shape, bool(svc.break_ties))
        check_size("the SVC", len(svc.support_), svc.classes_.size * (svc.classes_.size - 1) // 2)
        coef, mask = unpack(_dense(svc.dual_coef_), svc.n_support_)
    expansion = KernelExpansion(kernel, svc.support_vectors_, coef, svc.intercept_, mask)
    fitted = {"probA": svc._probA, "probB": svc._probB}
    probability = {name: a for name, a in fitted.items() if a.size}
    return KernelModel(
        expansion, decoder, probability=probability, provenance={"svm_type": _svm_type(svc, "c_svc", "nu_svc")}
    )


def _from_svr(svr: Any) -> KernelModel:
    expansion = _single(svr)
    return KernelModel(
        expansion,
        Identity(),
        "regression",
        provenance={"svm_type": _svm_type(svr, "epsilon_svr", "nu_svr")},
    )


def _from_one_class(estimator: Any) -> KernelModel:
    # LibSVM calls an exact zero an outlier
    decoder = Sign(np.array([-1, 1]), zero_class=0)
    return KernelModel(_single(estimator), decoder, "outlier", provenance={"svm_type": "one_class"})


def _single(estimator: Any) -> KernelExpansion:
    kernel = _kernel(estimator, estimator._gamma)
    coef = _dense(estimator.dual_coef_).T
    return KernelExpansion(kernel, estimator.support_vectors_, coef, estimator.intercept_)


def _svm_type(estimator: Any, usual: str, nu: str) -> str:
    return nu if isinstance(estimator, (NuSVC, NuSVR)) else usual


def _from_kernel_ridge(ridge: Any) -> KernelModel:
    coef = np.asarray(ridge.dual_coef_)
    coef = coef[:, None] if coef.ndim == 1 else coef
    intercept = np.zeros(coef.shape[1], dtype=coef.dtype)
    expansion = KernelExpansion(_kernel(ridge, ridge.gamma), ridge.X_fit_, coef, intercept)
    return KernelModel(expansion, Identity(), "regression")


# ---------------------------------------------------------------------------------------------------------
# Machines that were trained apart
# ---------------------------------------------------------------------------------------------------------


def _from_one_vs_rest(estimator: Any) -> KernelModel:
    if estimator.multilabel_:
        raise InputError("a multilabel OneVsRestClassifier cannot be converted: convert its estimators_ one by one")
    expansion = _merged(estimator)
    classes = estimator.classes_
    # the single machine of two classes says yes to the later one when it is strictly positive
    decoder = Sign(classes, zero_class=0) if len(estimator.estimators_) == 1 else Argmax(classes)
    return KernelModel(expansion, decoder)


def _from_one_vs_one(estimator: Any) -> KernelModel:
    expansion = _merged(estimator)
    owner = _owners(expansion.coef, len(estimator.classes_))
    expansion = replace(
        expansion,
        coef=-expansion.coef,  # positive meant the later class of the pair
        intercept=-expansion.intercept,
        coef_mask=None if owner is None else pair_mask(owner, len(estimator.classes_)),
    )
    return KernelModel(expansion, PairVote(estimator.classes_, "ovr", break_ties=True))


def _owners(coef: Floats, n_classes: int) -> NDArray[np.intp] | None:
    """Return the class that each merged row was trained as (m,); None if one was several, or two classes are all."""
    pairs = class_pairs(n_classes)
    used, trained_as = coef != 0, np.where(coef > 0, pairs[:, 1], pairs[:, 0])
    owner = np.where(used, trained_as, n_classes).min(axis=1)
    one_class = (trained_as == owner[:, None])[used].all() and used.any(axis=1).all()
    return owner if one_class and n_classes > 2 else None


def _merged(estimator: Any) -> KernelExpansion:
    """Return all machines, one column each, over the distinct rows of all of them."""
    machines = estimator.estimators_
    name = type(estimator).__name__
    if len(estimator.classes_) < 2:
        raise InputError(f"the {name} was fitted on rows of one class only")
    other = next((m for m in machines if not isinstance(m, (SVC, NuSVC))), None)
    if other is not None:
        raise InputError(
            f"the {name} holds a {type(other).__name__}, and svmpress takes {name} only around SVC or NuSVC"
        )
    models = [_from_svc(m) for m in machines]
    kernels = {m.kernel for m in models}
    if len(kernels) > 1:
        raise InputError(
            f"the machines of the {name} have different kernels: gamma='scale' depends on the rows of each. "
            "Set gamma to a number and fit again"
        )
    return merged([m.expansion for m in models])


def merged(machines: Sequence[KernelExpansion]) -> KernelExpansion:
    """Return machines of one kernel and one output each as one expansion; equal vectors are stored once."""
    vectors, position = _distinct([f.vectors for f in machines])
    coef = np.zeros((vectors.shape[0], len(machines)))
    for column, (rows, f) in enumerate(zip(position, machines, strict=True)):
        np.add.at(coef[:, column], rows, f.coef[:, 0])
    return KernelExpansion(machines[0].kernel, vectors, coef, np.concatenate([f.intercept for f in machines]))


def _distinct(parts: Sequence[Rows]) -> tuple[Rows, list[NDArray[np.intp]]]:
    """Return the distinct rows of several tables in order of appearance, and where each table's rows went."""
    stacked: Rows = sparse.csr_array(sparse.vstack(parts)) if is_csr(parts[0]) else np.vstack(parts)
    seen: dict[bytes, int] = {}
    position = np.array([seen.setdefault(_key(stacked, i), len(seen)) for i in range(stacked.shape[0])], np.intp)
    _, first = np.unique(position, return_index=True)
    ends = np.cumsum([part.shape[0] for part in parts])[:-1]
    return stacked[first], np.split(position, ends)


def _key(rows: Rows, i: int) -> bytes:
    if not is_csr(rows):
        return bytes(rows[i].tobytes())
    some = slice(rows.indptr[i], rows.indptr[i + 1])
    return bytes(rows.indices[some].tobytes() + rows.data[some].tobytes())


# ---------------------------------------------------------------------------------------------------------
# Pipelines
# ---------------------------------------------------------------------------------------------------------


def _from_pipeline(pipeline: Any) -> KernelModel:
    *before, last = [step for _, step in pipeline.steps]
    if last is None or isinstance(last, str):
        raise InputError("the Pipeline does not end in an estimator")
    model = converted(last)
    scaling = model.scaling  # that of a Pipeline inside this one
    for step in reversed(before):
        if step is not None and not isinstance(step, str):
            scaling = _chained(_scaling(step), scaling)
    return replace(model, scaling=scaling)


def _scaling(step: Any) -> Scaling:
    """Return a fitted scaler as ``(x - shift) * factor``."""
    name = type(step).__name__
    if not isinstance(step, (StandardScaler, MinMaxScaler, MaxAbsScaler)):
        raise InputError(
            f"the Pipeline holds a {name}, and only scalers (StandardScaler, MinMaxScaler, MaxAbsScaler) can be kept "
            "with a model: compress its last step alone, on the transformed data (pipeline[:-1].transform(X))"
        )
    _check_fitted(step)
    if getattr(step, "clip", False):
        raise InputError(f"the {name} clips its values, which a model cannot keep: use clip=False")
    if isinstance(step, MinMaxScaler):
        return Scaling(step.data_min_ - step.feature_range[0] / step.scale_, step.scale_)
    shift = step.mean_ if isinstance(step, StandardScaler) and step.with_mean else None
    factor = np.ones(step.n_features_in_) if step.scale_ is None else 1 / np.asarray(step.scale_)
    return Scaling(shift, factor)


def _chained(first: Scaling, then: Scaling | None) -> Scaling:
    """Return one scaling that does both: ``((x - s) f - s') f' = (x - s - s'/f) f f'``."""
    if then is None:
        return first
    if first.factor.shape != then.factor.shape:
        raise InputError("the scalers of the Pipeline do not have the same number of features")
    shift = first.shift
    if then.shift is not None:
        shift = (0.0 if shift is None else shift) + then.shift / first.factor
    return Scaling(shift, first.factor * then.factor)


_CONVERTERS: tuple[tuple[Any, Any], ...] = (
    ((SVC, NuSVC), _from_svc),
    ((SVR, NuSVR), _from_svr),
    (OneClassSVM, _from_one_class),
    (KernelRidge, _from_kernel_ridge),
    (OneVsRestClassifier, _from_one_vs_rest),
    (OneVsOneClassifier, _from_one_vs_one),
    (Pipeline, _from_pipeline),
)
