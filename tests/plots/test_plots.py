"""Figure 2: the record tells the story of the paper, and drawing it needs nothing else."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.svm import SVC

from svmpress.errors import FormatError, InputError, MissingExtraError
from svmpress.plots.figure2 import FRAMES, Figure2, animate_figure2, draw_figure2, figure2_record, ring_data


@pytest.fixture(scope="module")
def record():
    return figure2_record(grid=41)


def test_the_data_are_a_gaussian_inside_a_noisy_circle():
    points, labels = ring_data()
    middle, circle = points[labels == -1], points[labels == 1]
    assert len(middle) == len(circle) == 300
    np.testing.assert_allclose(middle.mean(axis=0), 0, atol=0.2)
    np.testing.assert_allclose(middle.var(axis=0), 1, atol=0.2)
    assert abs(np.linalg.norm(circle, axis=1).mean() - 4) < 0.3


def test_the_record_holds_the_full_svm(record):
    svc = SVC(C=10, gamma=0.2).fit(record.points, record.labels)
    mesh = np.stack(np.meshgrid(record.axis, record.axis), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(record.full.ravel(), svc.decision_function(mesh), atol=1e-9)
    assert record.n_vectors == len(svc.support_) == 80


def test_eight_vectors_are_selected_and_then_moved(record):
    support = SVC(C=10, gamma=0.2).fit(record.points, record.labels).support_vectors_
    assert record.lars_vectors.shape == (8, 2)
    assert {tuple(v) for v in record.lars_vectors} <= {tuple(v) for v in support}
    np.testing.assert_array_equal(record.vectors[0], record.lars_vectors)
    np.testing.assert_allclose(record.values[0], record.lars)
    assert not np.allclose(record.vectors[-1], record.lars_vectors, atol=0.1)


def test_the_boundary_approaches_the_full_one(record):
    assert record.iterations.tolist() == [0, 10, 40, 160, 640, 2560]
    assert np.all(record.reached <= record.iterations)
    assert np.all(np.diff(record.error) <= 0)
    assert record.agreement(record.lars) < 0.95
    assert record.agreement(record.values[-1]) > 0.99
    assert record.agreement(record.full) == 1.0


def test_records_round_trip(record, tmp_path):
    record.save(tmp_path / "figure2.npz")
    again = Figure2.load(tmp_path / "figure2.npz")
    for name in ("points", "labels", "axis", "full", "n_vectors", "lars", "reached", "vectors", "values", "error"):
        np.testing.assert_array_equal(getattr(again, name), getattr(record, name))
    np.savez(tmp_path / "other.npz", X=1)
    with pytest.raises(FormatError, match="not a record of Figure 2"):
        Figure2.load(tmp_path / "other.npz")


@pytest.mark.slow
def test_pictures_are_drawn_and_repeat(record, tmp_path):
    paths = [tmp_path / f"figure{suffix}" for suffix in (".png", ".svg", ".pdf")]
    draw_figure2(record, *paths)
    first = [p.read_bytes() for p in paths]
    assert first[0].startswith(b"\x89PNG")
    assert b"<svg" in first[1]
    assert first[2].startswith(b"%PDF")
    draw_figure2(record, paths[0])
    assert paths[0].read_bytes() == first[0]


def test_the_picture_has_eight_panels_with_both_boundaries(record, tmp_path):
    from matplotlib.figure import Figure

    drawn = []
    saved = Figure.savefig
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda self, *a, **k: (drawn.append(self), saved(self, *a, **k)))
        draw_figure2(record, tmp_path / "figure.png")
    panels = drawn[0].axes
    assert len(panels) == 8
    titles = [p.get_title() for p in panels]
    assert [t.split()[2] for t in titles[2:]] == ["0", "10", "40", "160", "640", "2560"]
    from matplotlib.contour import ContourSet

    assert [sum(isinstance(c, ContourSet) for c in p.collections) for p in panels] == [0] + [2] * 7


def test_a_model_without_a_boundary_is_drawn_without_one(record, tmp_path):
    from dataclasses import replace

    draw_figure2(replace(record, lars=np.ones_like(record.lars)), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 0


def test_bad_input(record, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="names no picture format"):
        draw_figure2(record, tmp_path / "figure.bmp")
    with pytest.raises(InputError, match="iterations must increase"):
        figure2_record(iterations=(10, 0))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"svmpress\[plots\]"):
        draw_figure2(record, tmp_path / "figure.png")
    assert not list(tmp_path.iterdir())


def test_convergence_before_the_last_iteration_is_said(record):
    short = figure2_record(n=100, n_small=2, grid=11, iterations=(0, 5, 4000))
    assert short.reached[-1] < 4000
    assert short.reached.tolist()[:2] == [0, 5]


def test_the_animation_has_a_frame_for_each_iteration_and_rests_at_the_end(tmp_path):
    from PIL import Image

    moving = figure2_record(n=100, n_small=3, grid=21, iterations=(0, 1, 2, 8))
    animate_figure2(moving, tmp_path / "a.gif")
    with Image.open(tmp_path / "a.gif") as picture:
        assert picture.n_frames == 4
        waits = []
        for i in range(4):
            picture.seek(i)
            waits.append(picture.info["duration"])
    assert waits[-1] > 5 * waits[0]
    first = (tmp_path / "a.gif").read_bytes()
    animate_figure2(moving, tmp_path / "a.gif")
    assert (tmp_path / "a.gif").read_bytes() == first
    with pytest.raises(InputError, match=r"must be \.gif"):
        animate_figure2(moving, tmp_path / "a.mp4")


def test_the_frames_are_iterations_of_the_paper():
    assert list(FRAMES) == sorted(set(FRAMES))
    assert FRAMES[-1] == 2560
