"""Figures, drawn from records: one function computes what a figure shows, another draws it.

:func:`figure2_record` repeats the experiment behind Figure 2 of the paper. Of 600 points in the plane, 300 are
Gaussian around the origin with variance 1 and 300 lie on a noisy circle around them (radius 4, noise 0.9). An RBF SVM
with C and gamma such that it has 80 support vectors, as in the paper, is trained on all of them; LARS (equation 9)
picks 8; conjugate gradient on vectors and coefficients together (equation 10) then moves those, and the record keeps
them after 0, 10, 40, 160, 640 and 2560 iterations.

:func:`draw_figure2` needs matplotlib, the extra ``plots``. Colours are from Okabe and Ito's palette, and markers and
dashes say the same, so the figure can be read in grey. :func:`animate_figure2` draws the same story as a GIF that
moves: one frame for each iteration of a record made with :data:`FRAMES`, and the way that each vector has come.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import FormatError, InputError
from svmpress.formats import as_model
from svmpress.model import KernelExpansion
from svmpress.numerics import Floats, to_numpy
from svmpress.objectives import ExpansionObjective, Parameters, SquaredError, joint_descent
from svmpress.plots.figures import new_figure, picture_format, save_figure
from svmpress.select import lars_svm
from svmpress.storage import replacing

ITERATIONS = (0, 10, 40, 160, 640, 2560)
"""The iterations that the paper shows."""
FRAMES = (*range(13), *(round(12 * 1.16**i) for i in range(1, 37)), 2560)
"""The iterations of the animation: every one at first, when most happens, then a geometric series."""

_BLUE, _VERMILLION, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#6E6E6E"
_LARS_STYLE: dict[str, Any] = {"color": _GREY, "linestyle": (0, (1, 0.8))}
_GRADIENT_STYLE: dict[str, Any] = {"color": _GREEN, "linestyle": (0, (3, 1.2))}
_FRAME_MS, _LAST_FRAME_MS = 110, 2500


@dataclass(frozen=True, eq=False)
class Figure2:
    """What Figure 2 shows.

    Parameters
    ----------
    points : (600, 2)
    labels : (600,)
        1 for the circle, -1 for the middle.
    axis : (g,)
        Both coordinates of the grid on which decision values are known.
    full : (g, g)
        Decision values of the full SVM.
    n_vectors : int
        Its number of support vectors.
    lars_vectors : (8, 2)
    lars : (g, g)
        Decision values of LARS-SVM.
    iterations : (s,)
        The iterations asked for.
    reached : (s,)
        The iterations shown: less where the descent had converged before.
    vectors : (s, 8, 2)
        The gradient support vectors then.
    values : (s, g, g)
        Their decision values.
    error : (s,)
        Squared error on the support vectors, relative to their variance.
    """

    points: Floats
    labels: NDArray[np.int64]
    axis: Floats
    full: Floats
    n_vectors: int
    lars_vectors: Floats
    lars: Floats
    iterations: NDArray[np.int64]
    reached: NDArray[np.int64]
    vectors: Floats
    values: Floats
    error: Floats

    def agreement(self, values: Floats) -> float:
        """Return the share of the grid on which decision values have the sign of the full SVM's."""
        return float(np.mean((values > 0) == (self.full > 0)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record as a NumPy archive."""
        with replacing(path) as (file,):
            np.savez_compressed(file, allow_pickle=False, **asdict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Figure2:
        """Read a record that :meth:`save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                content: dict[str, Any] = {f.name: archive[f.name] for f in fields(cls)}
        except (OSError, ValueError, KeyError) as e:
            raise FormatError(f"{path} is not a record of Figure 2") from e
        return cls(**(content | {"n_vectors": int(content["n_vectors"])}))


def ring_data(n: int = 600, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Return a Gaussian blob and a noisy circle around it: points (n, 2) and labels, 1 for the circle.

    Examples
    --------
    >>> points, labels = ring_data(600)
    >>> points.shape, int((labels == 1).sum())
    ((600, 2), 300)
    """
    rng = np.random.default_rng(seed)
    middle = rng.standard_normal((n - n // 2, 2))
    angle = rng.uniform(0, 2 * np.pi, n // 2)
    circle = 4 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.9 * rng.standard_normal((n // 2, 2))
    labels = np.repeat(np.array([-1, 1]), [n - n // 2, n // 2])
    return np.concatenate([middle, circle]), labels


def figure2_record(
    *,
    n: int = 600,
    n_small: int = 8,
    C: float = 10.0,
    gamma: float = 0.2,
    iterations: tuple[int, ...] = ITERATIONS,
    grid: int = 201,
    seed: int = 0,
) -> Figure2:
    """Compute what Figure 2 shows; see the module's docstring.

    Parameters
    ----------
    n : int
        Points.
    n_small : int
        Vectors of the compressed model.
    C, gamma : float
        Of the full SVM.
    iterations : tuple of int
        When to look at the moving vectors.
    grid : int
        Points along each axis at which decision values are recorded.
    seed : int
    """
    if not iterations or min(iterations) < 0 or list(iterations) != sorted(set(iterations)):
        raise InputError(f"iterations must increase from 0 or more, not {iterations!r}")
    X, y = ring_data(n, seed)
    from sklearn.svm import SVC

    full = as_model(SVC(C=C, gamma=gamma).fit(X, y)).expansion
    axis = np.linspace(-1.05, 1.05, grid) * float(np.abs(X).max())
    mesh = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)

    def on_grid(V: Floats, A: Floats) -> Floats:
        small = KernelExpansion(full.kernel, V, A, full.intercept)
        return to_numpy(small.decision_values(mesh)).reshape(grid, grid)

    coef = full.coef[:, 0].astype(np.float64)
    selection = lars_svm(full.kernel, full.vectors, coef, float(full.intercept[0]), n_small)
    lars = selection.at(len(selection))
    start = np.asarray(full.vectors)[lars.indices]
    seen: dict[int, tuple[Floats, Floats]] = {}

    def look(iteration: int, V: Floats, A: Floats) -> None:
        """Keep the iterations asked for, and the latest."""
        latest = next(reversed(seen), iteration)
        if latest not in iterations:
            seen.pop(latest, None)
        seen[iteration] = (V, A)

    targets = to_numpy(full.decision_values(full.vectors)) - full.intercept
    objective = ExpansionObjective(full.vectors, SquaredError(targets))
    zero = np.zeros(1)
    joint_descent(
        objective,
        Parameters(full.kernel, start, lars.coef, zero),
        max_iter=max(iterations[-1], 1),
        tol=0.0,
        snapshot=look,
    )
    reached = [max(i for i in seen if i <= wanted) for wanted in iterations]
    shown = [seen[i] for i in reached]
    return Figure2(
        points=X,
        labels=y,
        axis=axis,
        full=to_numpy(full.decision_values(mesh)).reshape(grid, grid),
        n_vectors=full.n_vectors,
        lars_vectors=start,
        lars=on_grid(start, lars.coef),
        iterations=np.array(iterations),
        reached=np.array(reached),
        vectors=np.stack([V for V, _ in shown]),
        values=np.stack([on_grid(V, A) for V, A in shown]),
        error=np.array([objective.value_and_grad(Parameters(full.kernel, V, A, zero)).value for V, A in shown]),
    )


def draw_figure2(record: Figure2, *paths: str | os.PathLike[str]) -> None:
    """Draw Figure 2 into one file or several; the suffix says PNG, SVG or PDF.

    Raises
    ------
    MissingExtraError
        When matplotlib is not installed.
    """
    for path in paths:
        picture_format(path)
    columns = 4
    rows = -(-(2 + len(record.iterations)) // columns)
    figure = new_figure((3 * columns, 3.35 * rows))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in panels[2 + len(record.iterations) :]:
        panel.set_axis_off()
    _draw_points(panels[0], record, alpha=1.0)
    panels[0].set_title(f"(a) {len(record.labels)} points: Gaussian (dots)\nin a noisy circle (triangles)", fontsize=10)
    _draw_boundaries(panels[1], record, record.lars, record.lars_vectors, _LARS_STYLE)
    panels[1].set_title(
        f"(b) SVM of {record.n_vectors} vectors, {len(record.lars_vectors)} by LARS\n{_alike(record, record.lars)}",
        fontsize=10,
    )
    for i, panel in enumerate(panels[2 : 2 + len(record.iterations)]):
        _draw_boundaries(panel, record, record.values[i], record.vectors[i], _GRADIENT_STYLE)
        panel.set_title(_title(record, i), fontsize=10)
    _draw_legend(figure, record)
    save_figure(figure, *paths)


def animate_figure2(record: Figure2, path: str | os.PathLike[str]) -> None:
    """Draw the vectors as they move, into a GIF: a frame for each iteration of the record, and a pause at the end.

    Raises
    ------
    MissingExtraError
        When matplotlib is not installed.
    """
    if Path(path).suffix.lower() != ".gif":
        raise InputError(f"an animation is a GIF: the suffix of {path} must be .gif")
    frames = [_frame(record, i) for i in range(len(record.iterations))]
    first, *rest = frames
    durations = [_FRAME_MS] * len(rest) + [_LAST_FRAME_MS]
    with replacing(path) as (file,):
        first.save(
            file, format="GIF", save_all=True, append_images=rest, duration=durations, loop=0, optimize=True, disposal=1
        )


def _frame(record: Figure2, i: int) -> Any:
    """Return one picture, with few colours so that the file stays small."""
    figure = new_figure((4.4, 4.9))
    from PIL import Image

    panel = figure.subplots()
    _draw_boundaries(panel, record, record.values[i], record.vectors[i], _GRADIENT_STYLE)
    for way in np.moveaxis(record.vectors[: i + 1], 1, 0):
        panel.plot(*way.T, color=_GREY, linewidth=1.1, zorder=3.5)
    panel.scatter(*record.vectors[0].T, s=26, facecolors="white", edgecolors=_GREY, linewidths=1.0, zorder=3.6)
    m, reached = len(record.lars_vectors), int(record.reached[i])
    panel.set_title(
        f"{m} vectors for {record.n_vectors}, after {reached} iterations\n{_alike(record, record.values[i])}",
        fontsize=10,
    )
    panel.set_xlabel("black: full SVM; dashes: the compressed one; rings: the start", fontsize=9)
    figure.set_dpi(100)
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3])
    return picture.quantize(64, dither=Image.Dither.NONE)


def _alike(record: Figure2, values: Floats) -> str:
    return f"same answer on {record.agreement(values):.1%} of the area"


def _title(record: Figure2, i: int) -> str:
    asked, reached = int(record.iterations[i]), int(record.reached[i])
    early = f", converged at {reached}" if reached < asked else ""
    return f"({chr(ord('c') + i)}) after {asked} iterations{early}\n{_alike(record, record.values[i])}"


def _draw_legend(figure: Any, record: Figure2) -> None:
    from matplotlib.lines import Line2D

    m = len(record.lars_vectors)
    handles = [
        Line2D([], [], color="black", linewidth=1.4, label="boundary of the full SVM"),
        Line2D([], [], linewidth=2.4, label="of LARS-SVM", **_LARS_STYLE),
        Line2D([], [], linewidth=2.4, label="of the gradient support vectors", **_GRADIENT_STYLE),
        Line2D([], [], color=_GREY, marker="o", markersize=8, linestyle="none", label=f"the {m} vectors"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=10)


def _draw_points(panel: Any, record: Figure2, alpha: float) -> None:
    for label, colour, marker in ((-1, _BLUE, "o"), (1, _VERMILLION, "^")):
        some = record.points[record.labels == label]
        # small open triangles and filled dots differ without colour too
        panel.scatter(
            *some.T, s=11, marker=marker, linewidths=0.6, alpha=alpha, zorder=1,
            facecolors=colour if marker == "o" else "none", edgecolors=colour,
        )  # fmt: skip
    panel.set_xlim(record.axis[0], record.axis[-1])
    panel.set_ylim(record.axis[0], record.axis[-1])
    panel.set_aspect("equal")
    panel.set_xticks([])
    panel.set_yticks([])


def _draw_boundaries(panel: Any, record: Figure2, values: Floats, vectors: Floats, style: dict[str, Any]) -> None:
    from matplotlib.patheffects import withStroke

    _draw_points(panel, record, alpha=0.25)
    axes = (record.axis, record.axis)
    panel.contour(*axes, record.full, levels=[0.0], colors="black", linewidths=1.4, zorder=2)
    if np.ptp(np.sign(values)):  # without a change of sign there is no boundary to draw
        line = panel.contour(
            *axes,
            values,
            levels=[0.0],
            colors=style["color"],
            linewidths=2.4,
            linestyles=[style["linestyle"]],
            zorder=3,
        )
        line.set_path_effects([withStroke(linewidth=4, foreground="white", alpha=0.6)])
    panel.scatter(*vectors.T, s=70, color=_GREY, edgecolors="black", linewidths=0.8, zorder=4)
