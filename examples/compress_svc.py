"""From a fitted SVC to a small one: compress, look, save, load, and hand back to scikit-learn.

Run: python examples/compress_svc.py [FOLDER]
"""
# ruff: noqa: T201 - an example prints

import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmpress


def main(folder: Path) -> None:
    """Compress an SVM of the handwritten digits twice, for LibSVM and for svmpress itself."""
    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    svc = make_pipeline(StandardScaler(), SVC(C=10, gamma=0.01)).fit(X, y)
    print(f"before: {svc[-1].support_.size} vectors, accuracy {svc.score(X_test, y_test):.2%}\n")

    # each vector belongs to one class, as a LibSVM file needs it; the scaling goes to small.model.range
    result = svmpress.compress(svc, X, y, ratio=0.1, layout="libsvm")
    print(result.summary())
    svmpress.save(result.model, folder / "small.model")
    small = svmpress.load(folder / "small.model")
    print(f"\nLibSVM file: {small.n_vectors} vectors, accuracy {(small.predict(X_test) == y_test).mean():.2%}")

    # all classes share the vectors: what svmpress predicts with, and the native file keeps
    shared = svmpress.compress(svc, X, y, vectors=40).model
    svmpress.save(shared, folder / "small.svmpress")
    print(f"shared: {shared.n_vectors} vectors, accuracy {(shared.predict(X_test) == y_test).mean():.2%}")

    # a real, fitted estimator, for tools that know nothing of svmpress
    estimator = svmpress.to_estimator(small)
    same = (estimator.predict(X_test) == small.predict(X_test)).mean()
    print(f"as {estimator[-1]!r} behind a scaler: the same answer on {same:.0%} of the rows")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
