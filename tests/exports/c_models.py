"""Models of every kind that C code is made of, and the compilers that it must please."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from svmpress.decoders import Argmax, PairDAG, PairVote, pair_signs
from svmpress.model import KernelModel, Scaling

COMPILERS = {
    "gcc": ["gcc", "-std=c99"],
    "g++": ["g++", "-x", "c++", "-std=c++11"],
    "clang": ["clang", "-std=c99"],
    "clang++": ["clang++", "-x", "c++", "-std=c++11"],
}
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
SANITISED = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]


def iris():
    return load_iris(return_X_y=True)


def classifier(decoder=None, kernel="rbf", **params) -> KernelModel:
    """Return a classifier of iris, with a scaling, read by a decoder."""
    X, y = iris()
    mean, spread = X.mean(axis=0), X.std(axis=0)
    svc = SVC(kernel=kernel, **params).fit((X - mean) / spread, y)
    model = replace(svmpress.from_estimator(svc), scaling=Scaling(mean, 1 / spread))
    if decoder is Argmax:
        signs, e = pair_signs(3).astype(float), model.expansion
        expansion = svmpress.KernelExpansion(e.kernel, e.vectors, e.coef @ signs, e.intercept @ signs)
        return replace(model, expansion=expansion, decoder=Argmax(model.classes_))
    return model if decoder is None else model.with_decoder(decoder(model.classes_))


def binary() -> KernelModel:
    X, y = iris()
    return svmpress.from_estimator(SVC(gamma=0.5).fit(X[y > 0], np.array(["", "versi color", 'v"9\\é'])[y[y > 0]]))


def regressor() -> KernelModel:
    X, _ = iris()
    return svmpress.from_estimator(SVR(gamma=0.3, C=3).fit(X[:, :3], X[:, 3]))


def one_class() -> KernelModel:
    X, _ = iris()
    return svmpress.from_estimator(OneClassSVM(gamma=0.3, nu=0.2).fit(X))


def digits(n_vectors=12) -> KernelModel:
    """Return a classifier of digits, whose pixels are bytes from 0 to 240."""
    X, y = load_digits(return_X_y=True)
    model = svmpress.from_estimator(SVC(gamma=0.001, C=10).fit(X[:500], y[:500]))
    e = model.expansion
    some = np.linspace(0, e.n_vectors - 1, n_vectors).astype(int)
    expansion = replace(e, vectors=e.vectors[some], coef=e.coef[some], coef_mask=None)
    return replace(model, expansion=expansion, scaling=Scaling(None, np.full(64, 1 / 15)))


def digit_rows():
    X, y = load_digits(return_X_y=True)
    return (15 * X).astype(np.uint8), y


MODELS = {
    "votes": lambda: (classifier(), iris()[0]),
    "ties": lambda: (classifier(lambda c: PairVote(c, break_ties=True)), iris()[0]),
    "dag": lambda: (classifier(PairDAG), iris()[0]),
    "argmax": lambda: (classifier(Argmax), iris()[0]),
    "linear": lambda: (classifier(kernel="linear"), iris()[0]),
    "poly": lambda: (classifier(kernel="poly", degree=3, coef0=1.0, gamma=0.3), iris()[0]),
    "poly2": lambda: (classifier(kernel="poly", degree=2, coef0=-0.5, gamma=0.3), iris()[0]),
    "binary": lambda: (binary(), iris()[0]),
    "regressor": lambda: (regressor(), iris()[0][:, :3]),
    "one class": lambda: (one_class(), iris()[0]),
}


def compile_and_run(folder: Path, compiler: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Compile the self-test of an exported folder strictly, and run it."""
    output = folder.parent / f"{folder.name}-{compiler}"
    sources = [p.name for p in sorted(folder.glob("*.c"))]
    command = [*COMPILERS[compiler], *STRICT, *more, *sources, "-lm", "-o", str(output)]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return subprocess.run([str(output)], capture_output=True, text=True, check=False)
