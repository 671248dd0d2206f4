"""Labels or decision values? One SVM of noisy data, compressed in five ways to 1 % and to 10 % of its vectors.

Two classes meet at a wave in the plane, and a fifth of the training labels is wrong. Nearly all support vectors of the
SVM violate its margin, many of them because their label is wrong, so a regression of those labels is a bad guide; the
SVM's own decision values are a good one. Test labels are the true ones.

Run: python examples/methods.py
"""
# ruff: noqa: T201 - an example prints

import numpy as np
from sklearn.svm import SVC

import svmpress
from svmpress.methods import LarsSVM, Paper

METHODS = {
    "LARS on labels (eq. 9)": LarsSVM(),
    "LARS on decision values": LarsSVM(target="decision", refit=True),
    "the paper (eq. 9, then eq. 10)": Paper(),
    "the same from decision values": Paper(target="decision", refit=True),
    "auto": "auto",
}
RATIOS = (0.01, 0.1)


def wave(n: int, wrong: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return points (n, 2) and labels, of which a share is wrong."""
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    return X, (y ^ (rng.uniform(size=n) < wrong)).astype(int)


def main() -> None:
    """Print the accuracy of each method at each size."""
    rng = np.random.default_rng(0)
    X, y = wave(2400, 0.2, rng)
    X_test, y_test = wave(4000, 0.0, rng)
    svc = SVC(C=30, gamma=0.3).fit(X, y)
    labels = np.sign(svc.dual_coef_[0])
    margins = labels * svc.decision_function(svc.support_vectors_)
    print(f"{svc.support_.size:,} support vectors: {np.mean(np.abs(svc.dual_coef_) == svc.C):.0%} violate the margin,")
    print(f"{np.mean(margins < 0):.0%} are on the wrong side; accuracy {svc.score(X_test, y_test):.2%}\n")
    print(f"{'':<32}" + "".join(f"{ratio:>9.0%}" for ratio in RATIOS))
    for name, method in METHODS.items():
        small = [svmpress.compress(svc, X, y, ratio=ratio, method=method).model for ratio in RATIOS]
        print(f"{name:<32}" + "".join(f"{(s.predict(X_test) == y_test).mean():>9.2%}" for s in small))


if __name__ == "__main__":
    main()
