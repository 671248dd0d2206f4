"""To scikit-learn: our model as a real fitted estimator, whose answers are ours.

    classification   SVC, or OneVsRestClassifier of SVCs
    regression       SVR, or KernelRidge where SVR has no such kernel or output
    outlier          OneClassSVM

A model with a scaling becomes a Pipeline with a fitted StandardScaler. The estimators pickle, and ``clone`` gives an
unfitted one with the same kernel. Like any SVC that was trained on dense rows, one with dense vectors predicts dense
rows only; ``sparse=True`` makes one as if trained on sparse rows, which predicts both.

In an SVC a vector serves the pairs of one class, as in a LibSVM file, so a one-vs-one model whose machines share their
vectors needs copies of them: see :func:`svmpress.formats.layout.pack`. A one-vs-one model of only two classes becomes
a plain SVC, whose decision values are the machine's own.

A model with one value a class (Argmax) becomes an SVC, too: the values of its pairs are differences, and the votes
elect the same class. It takes K - 1 copies of each vector and as many coefficients of each, where a
``OneVsRestClassifier`` of SVCs takes K copies with one. That has the model's own values for a ``decision_function``,
but the usual converter to ONNX gets its labels wrong. Models of such classifiers become such again, and others where an
SVC would be much larger.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from svmpress.decoders import Argmax, Floats, PairDAG, PairVote, Sign
from svmpress.errors import FormatError, InputError, SvmpressWarning
from svmpress.formats.layout import pack
from svmpress.kernels import Kernel
from svmpress.model import KernelModel, Scaling
from svmpress.numerics import Rows, is_csr

_MOST_TIMES = 4.0
"""How many times larger than a OneVsRestClassifier an SVC may be that is made instead of it."""
_SVM_KERNELS = ("linear", "poly", "rbf", "sigmoid")


def obstacles(model: KernelModel) -> list[str]:
    """Return what no estimator of scikit-learn can do of this model; empty when it can be :func:`converted`."""
    found = []
    if isinstance(model.decoder, PairDAG) and model.decoder.n_classes > 2:
        found.append("scikit-learn decides by votes, not by a DAG: use model.with_decoder(PairVote(...))")
    if model.task == "regression":
        if not _fits_svr(model) and np.any(model.expansion.intercept != 0):
            found.append("scikit-learn has no regressor with this kernel or these outputs and an intercept")
    elif not _is_svm_kernel(model.kernel):
        found.append(f"scikit-learn's SVMs have no kernel {model.kernel}")
    if model.task == "outlier" and not isinstance(model.decoder, Sign):
        found.append("an OneClassSVM has one output")
    return found


def _is_svm_kernel(kernel: Kernel) -> bool:
    degree = kernel.params.get("degree", 0)
    return kernel.name in _SVM_KERNELS and degree == int(degree)


def _fits_svr(model: KernelModel) -> bool:
    return _is_svm_kernel(model.kernel) and model.n_outputs == 1


def converted(model: KernelModel, sparse: bool | None, multiclass: str | None = None) -> Any:
    """Return a model as a fitted estimator; see :func:`svmpress.formats.to_estimator`."""
    found = obstacles(model)
    if found:
        raise FormatError(f"cannot convert the model to scikit-learn: {'; '.join(found)}")
    if multiclass not in (None, "ovo", "ovr"):
        raise InputError(f"multiclass must be 'ovo' or 'ovr', not {multiclass!r}")
    as_sparse = is_csr(model.expansion.vectors) if sparse is None else sparse
    if model.task == "regression":
        estimator = _svr(model, as_sparse) if _fits_svr(model) else _kernel_ridge(model)
    elif model.task == "outlier":
        estimator = _one_class(model, as_sparse)
    elif isinstance(model.decoder, Argmax) and (multiclass or _multiclass(model)) == "ovr":
        estimator = _one_vs_rest(model, as_sparse)
    else:
        estimator = _svc(model, as_sparse)
    first = estimator if model.scaling is None else _scaler(model.scaling)
    if model.feature_names is not None:
        first.feature_names_in_ = np.array(model.feature_names, dtype=object)
    return estimator if model.scaling is None else make_pipeline(first, estimator)


def _multiclass(model: KernelModel) -> str:
    """Return what a model of one value a class becomes: "ovo" or "ovr"; see the module's docstring."""
    if model.provenance.get("estimator") == "OneVsRestClassifier" and "compressed_from" not in model.provenance:
        return "ovr"
    d, K = model.n_features, model.n_outputs
    if (K - 1) * (d + K - 1) <= _MOST_TIMES * K * (d + 1):
        return "ovo"
    warnings.warn(
        f"a OneVsRestClassifier of {K} SVCs is made, as one SVC would be much larger; converters to ONNX may get "
        'its labels wrong: multiclass="ovo" makes the SVC, and multiclass="ovr" this without a warning',
        SvmpressWarning,
        stacklevel=4,
    )
    return "ovr"


def _kernel_params(kernel: Kernel) -> dict[str, Any]:
    params: dict[str, Any] = {"kernel": kernel.name, **kernel.params}
    if "degree" in params:
        params["degree"] = int(params["degree"])
    return params


def _fill(estimator: Any, vectors: Rows, dual_coef: Floats, intercept: Floats, n_support: Any, as_sparse: bool) -> Any:
    """Set what ``fit`` would have set: vectors (l, d), ``dual_coef`` (K-1, l) and ``intercept`` in LibSVM's signs."""
    n_rows, d = vectors.shape
    estimator._sparse = as_sparse
    estimator._gamma = float(getattr(estimator, "gamma", 1.0)) if estimator.kernel != "linear" else 1.0
    estimator.n_features_in_ = d
    estimator.shape_fit_ = (n_rows, d)
    estimator.support_ = np.arange(n_rows, dtype=np.int32)
    estimator.support_vectors_ = _as_csr_matrix(vectors) if as_sparse else _as_dense(vectors)
    estimator._n_support = np.asarray(n_support, dtype=np.int32)
    estimator._dual_coef_ = _full_csr(dual_coef) if as_sparse else _as_dense(dual_coef)
    estimator._intercept_ = np.array(intercept, dtype=np.float64)
    estimator.dual_coef_ = estimator._dual_coef_
    estimator.intercept_ = estimator._intercept_.copy()
    estimator._probA = estimator._probB = np.empty(0)
    estimator._effective_probability = False
    estimator.fit_status_ = 0
    estimator._num_iter = np.zeros(intercept.size, dtype=np.int32)
    estimator.n_iter_ = estimator._num_iter if isinstance(estimator, (SVC, NuSVC)) else 0
    return estimator


def _as_dense(a: Any) -> NDArray[np.float64]:
    return np.array(a.toarray() if is_csr(a) else a, dtype=np.float64, order="C")


def _as_csr_matrix(vectors: Rows) -> Any:
    csr = sp.csr_matrix(vectors, dtype=np.float64, copy=True)
    csr.sort_indices()
    return csr


def _full_csr(dual_coef: Floats) -> Any:
    """Return a CSR matrix that stores its zeros too: scikit-learn reads its data as a (K-1, l) array."""
    rows, columns = dual_coef.shape
    parts = (np.ravel(dual_coef), np.tile(np.arange(columns), rows), np.arange(rows + 1) * columns)
    return sp.csr_matrix(parts, shape=(rows, columns), dtype=np.float64)


def _svc(model: KernelModel, as_sparse: bool) -> Any:
    packed = pack(model)
    classes = np.array(model.classes_)
    decoder = model.decoder
    params = _kernel_params(model.kernel)
    if isinstance(decoder, PairVote) and classes.size > 2:
        params |= {"decision_function_shape": decoder.shape, "break_ties": decoder.break_ties}
    calibrated = _has_probability(model)
    if calibrated:
        params["probability"] = True
    nu = model.provenance.get("svm_type") == "nu_svc"
    vectors = model.expansion.vectors[packed.source]
    svc = (NuSVC if nu else SVC)(**params)
    _fill(svc, vectors, packed.coef, packed.intercept, packed.counts, as_sparse)
    svc.classes_ = classes
    svc.class_weight_ = np.ones(classes.size)
    if classes.size == 2:
        svc.dual_coef_ = -svc._dual_coef_
        svc.intercept_ = -svc._intercept_
    if calibrated:
        svc._probA, svc._probB = (np.array(model.probability[k], dtype=np.float64) for k in ("probA", "probB"))
        svc._effective_probability = True
    return svc


def _has_probability(model: KernelModel) -> bool:
    """Return whether LibSVM's probabilities can be kept; scikit-learn drops them in version 1.11."""
    return {"probA", "probB"} <= set(model.probability) and "probability" in inspect.signature(SVC).parameters


def _svr(model: KernelModel, as_sparse: bool) -> Any:
    kind = NuSVR if model.provenance.get("svm_type") == "nu_svr" else SVR
    return _fill_single(kind(**_kernel_params(model.kernel)), model, as_sparse)


def _one_class(model: KernelModel, as_sparse: bool) -> Any:
    estimator = _fill_single(OneClassSVM(**_kernel_params(model.kernel)), model, as_sparse)
    estimator.offset_ = -estimator._intercept_
    return estimator


def _fill_single(estimator: Any, model: KernelModel, as_sparse: bool) -> Any:
    f = model.expansion
    return _fill(estimator, f.vectors, f.coef.T, f.intercept, [f.n_vectors, 0], as_sparse)


def _one_vs_rest(model: KernelModel, as_sparse: bool) -> Any:
    """Return K machines of two classes; each holds the vectors with a coefficient in it."""
    f = model.expansion
    classes = np.array(model.classes_)
    estimator = OneVsRestClassifier(SVC(**_kernel_params(f.kernel)))
    estimator.estimators_ = []
    for k in range(classes.size):
        used = np.flatnonzero(f.coef[:, k])
        single = KernelModel(
            type(f)(f.kernel, f.vectors[used], f.coef[used][:, [k]], f.intercept[[k]]), Sign(np.array([0, 1]))
        )
        estimator.estimators_.append(_svc(single, as_sparse))
    estimator.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classes)
    estimator.classes_ = classes
    estimator.n_features_in_ = f.n_features
    return estimator


def _kernel_ridge(model: KernelModel) -> Any:
    f = model.expansion
    params: dict[str, Any] = {"kernel": f.kernel.name, **f.kernel.params}
    ridge = KernelRidge(**params)
    ridge.X_fit_ = f.vectors.copy() if is_csr(f.vectors) else np.array(f.vectors)
    ridge.dual_coef_ = np.array(f.coef[:, 0] if f.n_outputs == 1 else f.coef)
    ridge.n_features_in_ = f.n_features
    return ridge


def _scaler(scaling: Scaling) -> Any:
    d = scaling.factor.size
    scaler = StandardScaler(with_mean=scaling.shift is not None)
    with np.errstate(divide="ignore"):
        scaler.scale_ = 1 / scaling.factor  # a factor of 0 makes x / inf = 0 of the feature
    scaler.var_ = scaler.scale_**2
    scaler.mean_ = np.zeros(d) if scaling.shift is None else np.array(scaling.shift)
    scaler.n_samples_seen_ = 0
    scaler.n_features_in_ = d
    return scaler
