"""Pictures of results: what they show is what the library computes, on the axes that they are given."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from svmpress.decoders import PairDAG
from svmpress.errors import InputError
from svmpress.plots import boundary, decision_values, size_curve, vectors
from svmpress.training import train

mpl.use("agg")


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def plane(iris):
    X, y = iris
    return svmpress.compress(SVC().fit(X[:, :2], y), X[:, :2], y, vectors=6)


def test_the_curve_has_the_measured_sizes(iris, ax):
    X, y = iris
    path = svmpress.compress_path(SVC().fit(X, y), X, y, sizes=[4, 8, 16], X_test=X, y_test=y)
    assert size_curve(path, ax) is ax
    points = ax.containers[0].lines[0].get_xydata()
    np.testing.assert_array_equal(points[:, 0], [4, 8, 16])
    np.testing.assert_allclose(points[:, 1], [m.accuracy.value for m in path.measured])
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_xticklabels()] == ["4", "8", "16"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"source, {path.source.n_vectors} vectors", "small"]


def test_a_curve_without_test_rows_is_of_agreement(iris, ax):
    X, y = iris
    svc = SVC().fit(X, y)
    path = svmpress.compress_path(svc, X, y, sizes=[4, 8])
    assert size_curve(path, ax).get_ylabel() == "agreement with the source"
    np.testing.assert_allclose(ax.containers[0].lines[0].get_ydata(), [r.expected.agreement.value for r in path])
    with pytest.raises(InputError, match="nothing measured"):
        size_curve(svmpress.compress_path(svc, sizes=[len(svc.support_)]), ax)


def test_the_plane_has_the_models_answers_and_the_sources_boundary(plane, iris, ax):
    X, y = iris
    assert boundary(plane, X[:, :2], y, ax=ax) is ax
    (image,) = ax.images
    across, up = (np.linspace(*image.get_extent()[i : i + 2], 200) for i in (0, 2))
    answers = plane.model.predict(np.array([[a, b] for b in up[::40] for a in across[::40]]))
    colours = image.get_array()[::40, ::40].reshape(-1, 4)
    assert len({(label, *colour[:3]) for label, colour in zip(answers, colours, strict=True)}) == len(set(answers))
    rows, dots = ax.collections[-2:]
    assert len(ax.collections) == 4  # the source's two boundaries between three classes
    np.testing.assert_allclose(rows.get_offsets(), X[:, :2])
    np.testing.assert_allclose(dots.get_offsets(), plane.model.expansion.vectors)


def test_planes_of_other_tasks_and_of_a_scaled_model(iris, ax):
    X, _ = iris
    boundary(SVR().fit(X[:, :2], X[:, 2]), ax=ax)
    assert len(ax.collections) == 1
    boundary(OneClassSVM().fit(X[:, :2]), X[:, :2], ax=ax)
    trained = train(X[:, :2], (X[:, 3] > 1).astype(int)).model
    assert trained.scaling is not None
    dots = boundary(trained, ax=Figure().subplots()).collections[-1].get_offsets()
    assert dots.min() > 1.9  # in units of rows


def test_vectors_as_images(ax):
    X, y = load_digits(return_X_y=True)
    model = svmpress.from_estimator(SVC(gamma=0.001).fit(X, y))
    assert vectors(model, image=(8, 8), most=12, ax=ax) is ax
    sheet = ax.images[0].get_array().filled(np.nan)
    assert sheet.shape == (2 * 9 - 1, 10 * 9 - 1)
    np.testing.assert_array_equal(sheet[9:17, 9:17], model.expansion.vectors[11].reshape(8, 8))
    assert np.isnan(sheet[9:, 18:]).all()


def test_vectors_in_a_plane(iris, ax):
    X, y = iris
    svc = SVC().fit(X, y)
    vectors(svc, X=X, ax=ax)
    rows, dots = ax.collections
    assert (len(rows.get_offsets()), len(dots.get_offsets())) == (150, len(svc.support_))
    spread = np.asarray(rows.get_offsets()).var(axis=0)
    np.testing.assert_allclose(spread, np.sort(np.linalg.eigvalsh(np.cov(X.T, bias=True)))[::-1][:2])
    vectors(SVC().fit(X[:, :1], y), ax=Figure().subplots())  # one feature has one direction


def test_values_before_and_after(iris, ax):
    X, y = iris
    result = svmpress.compress(SVC().fit(X, y), X, y, vectors=5)
    assert decision_values(result, X, ax=ax).get_xlabel() == "margin of the best class"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["small", "source"]
    scores = np.sort(result.model.decision_function(X), axis=1)
    heights = [bar.get_height() for bar in ax.containers[0]]
    edges = [bar.get_x() for bar in ax.containers[0]]
    assert sum(heights) == 150
    inside = (scores[:, -1] - scores[:, -2] >= edges[30]).sum()
    assert sum(heights[30:]) == inside
    dag = svmpress.from_estimator(SVC().fit(X, y)).with_decoder(PairDAG(np.arange(3)))
    decision_values(dag, X, ax=Figure().subplots())
    two = SVC().fit(X, y > 0)
    assert decision_values(two, X, ax=Figure().subplots()).get_xlabel() == "decision value"


def test_a_fitted_meta_estimator_brings_its_source(iris, ax):
    X, y = StandardScaler().fit_transform(iris[0]), iris[1]
    fitted = svmpress.CompressedClassifier(SVC(), vectors=6).fit(X, y)
    decision_values(fitted, X, ax=ax)
    assert len(ax.get_legend().get_texts()) == 2


def test_without_axes_there_is_a_figure_of_pyplot(plane):
    from matplotlib import pyplot

    drawn = vectors(plane)
    assert drawn.figure is pyplot.gcf()
    pyplot.close(drawn.figure)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda X, y: boundary(SVC().fit(X, y)), "two features, and the model has 4"),
        (lambda X, y: vectors(SVC().fit(X, y), image=(3, 3)), "3x3 has 9 features"),
        (lambda X, y: vectors(SVC().fit(X, y), image=(2, 2), most=0), "most must be at least 1"),
        (lambda X, y: decision_values(SVC().fit(X, y), X[:, :2]), "features"),
        (lambda X, y: decision_values(SVC().fit(X, y), X, source=SVC().fit(X[:, :2], y)), "source has 2 features"),
        (lambda X, y: boundary(SVC().fit(X[:, :2], y), X[:, :2], y[:3]), "150 answers"),
    ],
)
def test_what_cannot_be_drawn(draw, message, iris):
    with pytest.raises(InputError, match=message):
        draw(*iris)
