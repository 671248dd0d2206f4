"""max_drop: the smallest size that is good enough on held-out rows, and the curve on the way there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import r2_score
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from problems import problem_of
from svmpress.compression import Status
from svmpress.compression.sizing import search_size
from svmpress.errors import InputError
from svmpress.methods import Outcome, Problem


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(2400, noise=0.2, random_state=0)
    return X[:400], y[:400], X[400:], y[400:]


@pytest.fixture(scope="module")
def svc(moons):
    return SVC(C=1.0, gamma=1.0).fit(*moons[:2])


class Threshold:
    """A method whose models are the problem's source from a number of vectors on, and useless below."""

    def __init__(self, enough: int) -> None:
        self.enough = enough
        self.asked: list[tuple[int, int, int | None]] = []

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        f = problem.source.expansion
        known = None if smaller is None else int(smaller.status)
        self.asked.append((m, problem.rows.shape[0], known))
        coef = f.coef if m >= self.enough else 0 * f.coef
        return Outcome(replace(f, coef=coef), status=str(m))


@pytest.mark.parametrize("enough", [1, 2, 3, 5, 8, 13, 17, 31, 40])
def test_the_smallest_size_is_found_to_a_tenth(svc, moons, enough):
    X, y, *_ = moons
    assert svc.support_.size > 64
    way = Threshold(enough)
    outcome, curve = search_size(problem_of(svc, X, y), way, 0.01)
    found = int(outcome.status)
    assert enough <= found <= enough + max(0, found // 10)
    assert way.asked[-1][:2] == (found, 400)  # the result is made from all rows
    assert all(n < 400 for _, n, _ in way.asked[:-1])  # the sizes are judged on rows that were left out
    sizes = [point.vectors for point in curve]
    assert sizes == sorted(set(sizes))
    assert len(curve) < 14
    for point in curve:
        assert (point.drop <= 0.01) == (point.vectors >= enough)


def test_each_size_starts_from_the_next_smaller(svc, moons):
    way = Threshold(13)
    search_size(problem_of(svc, *moons[:2]), way, 0.01)
    *tried, last = [(m, smaller) for m, _, smaller in way.asked]
    done: set[int] = set()
    for m, smaller in tried:  # in every split
        assert smaller == max((k for k in done if k < m), default=None)
        done.add(m)
    assert last == (13, 13)  # the source itself starts from what the first split found
    assert [m for m, _ in tried] == [m for m in (2, 4, 8, 16, 12, 14, 13) for _ in range(3)]


def test_a_method_that_is_never_good_enough_finds_nothing(svc, moons):
    outcome, curve = search_size(problem_of(svc, *moons[:2]), Threshold(10**6), 0.01)
    assert outcome is None
    assert [point.vectors for point in curve] == [2**k for k in range(1, 12) if 2**k < svc.support_.size]


def test_without_labels_the_loss_is_of_agreement_and_without_rows_on_the_support_vectors(svc, moons):
    way = Threshold(3)
    for rows in (moons[0], None):
        problem = replace(problem_of(svc, moons[0], None), rows=rows)
        outcome, curve = search_size(problem, way, 0.01)
        assert int(outcome.status) == 3
        good = next(p for p in curve if p.vectors == 3)
        assert good.score == 1.0
        assert good.drop == 0.0


def test_a_result_that_loses_more_than_its_rehearsal_is_grown(svc, moons):
    class Optimist(Threshold):
        """Good enough from 4 vectors on in rehearsal, from 9 on in earnest."""

        def run(self, problem, m, smaller=None):
            self.enough = 9 if problem.rows.shape[0] == 400 else 4
            return super().run(problem, m, smaller)

    way = Optimist(0)
    outcome, curve = search_size(problem_of(svc, *moons[:2]), way, 0.01)
    assert 9 <= int(outcome.status) <= 10
    assert all(point.drop > 0.01 for point in curve if 4 <= point.vectors < 9)  # what was lost in earnest


def test_a_point_of_the_curve_reads_well(svc, moons):
    _, curve = search_size(problem_of(svc, *moons[:2]), Threshold(1), 0.01)
    text = str(curve[0])
    assert text.startswith(f"{curve[0].vectors} vectors: score 0.")
    assert text.endswith("lost")


# ---------------------------------------------------------------------------------------------------------
# Through compress()
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("max_drop", [0.02, 0.005])
def test_a_classifier_meets_the_bound(svc, moons, max_drop):
    X, y, X_test, y_test = moons
    result = svmpress.compress(svc, X, y, max_drop=max_drop)
    assert result.status is Status.COMPRESSED
    assert result.model.n_vectors < 0.3 * svc.support_.size
    point = next(p for p in result.curve if p.vectors == result.model.n_vectors)
    assert point.drop <= max_drop
    lost = svc.score(X_test, y_test) - np.mean(result.model.predict(X_test) == y_test)
    assert lost <= max_drop + 0.01  # new rows, with the error of their number
    for p in result.curve:
        assert str(p) in result.summary()


def test_a_tighter_bound_takes_no_fewer_vectors(svc, moons):
    X, y, *_ = moons
    sizes = [svmpress.compress(svc, X, y, max_drop=drop).model.n_vectors for drop in (0.3, 0.05, 0.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_five_classes_meet_the_bound():
    X, y = load_digits(n_class=5, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order] / 16, y[order]
    svc = SVC(C=10, gamma=0.5).fit(X[:400], y[:400])
    sizes, losses = [], []
    for seed in range(3):
        result = svmpress.compress(svc, X[:400], y[:400], max_drop=0.02, random_state=seed)
        losses.append(svc.score(X[400:], y[400:]) - np.mean(result.model.predict(X[400:]) == y[400:]))
        assert len(result.curve) >= 3
        sizes.append(result.model.n_vectors)
    # 160 rows judge in each split, so that one search is partly luck, and so are 501 new rows
    assert np.mean(losses) <= 0.02
    assert max(losses) <= 0.02 + 2 * np.sqrt(0.02 * (1 / 480 + 1 / 501))
    assert np.median(sizes) < 0.15 * svc.support_.size


def test_a_regressor_meets_the_bound_in_r2(rng):
    X = rng.uniform(-3, 3, (900, 2))
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(900)
    svr = SVR(C=10, gamma=0.3, epsilon=0.05).fit(X[:500], y[:500])
    for labels in (y[:500], None):
        result = svmpress.compress(svr, X[:500], labels, max_drop=0.01)
        assert result.status is Status.COMPRESSED
        assert result.model.n_vectors < 0.2 * svr.support_.size
        lost = svr.score(X[500:], y[500:]) - r2_score(y[500:], result.model.predict(X[500:]))
        assert lost <= 0.015


def test_an_outlier_detector_meets_the_bound_in_agreement(rng):
    X = rng.standard_normal((600, 2)) * [1.0, 0.4]
    detector = OneClassSVM(nu=0.2, gamma=0.5).fit(X)
    result = svmpress.compress(detector, X, max_drop=0.02)
    assert result.status is Status.COMPRESSED
    rows = 1.5 * rng.standard_normal((1000, 2))
    assert np.mean(result.model.predict(rows) == detector.predict(rows)) > 0.95


def test_the_paper_s_method_is_sized_too(svc, moons):
    X, y, X_test, y_test = moons
    result = svmpress.compress(svc, X, y, max_drop=0.03, method="paper")
    assert result.status is Status.COMPRESSED
    assert np.mean(result.model.predict(X_test) == y_test) > svc.score(X_test, y_test) - 0.05


def test_a_bound_that_cannot_be_met_is_told(rng):
    X = rng.standard_normal((120, 40))  # as many independent directions as the model can use
    y = rng.integers(0, 2, 120)
    result = svmpress.compress(SVC(C=1e3, gamma=1.0).fit(X, y), X, max_drop=0.0)
    assert result.status is Status.DROP_EXCEEDED
    assert result.model is result.source
    assert "max_drop" in result.summary()
    assert len(result.curve) >= 5
    assert all(point.drop > 0 for point in result.curve)


def test_two_rows_are_needed(svc, moons):
    with pytest.raises(InputError, match="at least two rows are needed"):
        svmpress.compress(svc, moons[0][:1], max_drop=0.1)


def test_the_same_seed_finds_the_same_size(svc, moons):
    X, y, X_test, _ = moons
    one, two = (svmpress.compress(svc, X, y, max_drop=0.01, random_state=3) for _ in range(2))
    assert one.curve == two.curve
    np.testing.assert_array_equal(one.model.decision_values(X_test), two.model.decision_values(X_test))
