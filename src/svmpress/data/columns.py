"""Which columns of a table are features, which is the label, and which are carried along to the answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from svmpress.data.source import LABEL_NAMES, ReadOptions, column_name
from svmpress.errors import FormatError, InputError, shown
from svmpress.numerics import check_names

_TWICE = "{}: a column is one feature, or the label, or carried along, and one is named twice"


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by position from 0.

    Parameters
    ----------
    where : str
        The file, for messages.
    names : list of str, optional
        The names of all columns, if the table has them.
    n_columns : int
    features : tuple of int
        In the order of the model.
    label : int, optional
    carried : mapping of name to position
        Columns that are no features and go to the answers as they are.
    """

    where: str
    names: list[str] | None
    n_columns: int
    features: tuple[int, ...]
    label: int | None
    carried: Mapping[str, int]

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features; None where they have none, or one name stands for two."""
        if self.names is None:
            return None
        found = tuple(self.names[p] for p in self.features)
        return found if len(set(found)) == len(found) and all(found) else None

    def column(self, feature: int) -> str:
        """Return what messages call a feature, given its place among the features."""
        return column_name(self.names, self.features[feature])


def sort_columns(
    names: list[str] | None, n_columns: int, text: Collection[int], options: ReadOptions, where: str
) -> Columns:
    """Return what each column of a table is.

    Parameters
    ----------
    names : list of str, optional
    n_columns : int
    text : collection of int
        Columns that hold no numbers, and are carried along; empty where text is an error.
    options : ReadOptions
    where : str
        The file, for messages.

    Examples
    --------
    >>> found = sort_columns(["id", "b", "a", "y"], 4, (), ReadOptions(columns=("a", "b"), keep=("id",)), "x.csv")
    >>> found.features, found.label, dict(found.carried)
    ((2, 1), 3, {'id': 0})
    """
    if options.like is not None:
        same = _columns_like(options.like, names, n_columns, options, where)
        if same is not None:
            return same
    kept = {name: _position(names, n_columns, name, where) for name in options.keep}
    label = None
    if options.label is not None:
        label = find_label(names, n_columns, options, where)
    named = options.columns
    if named is None and names is not None and options.feature_names is not None:
        named = options.feature_names
        check_names(names, named, where)
    if named is not None:
        features = [_position(names, n_columns, name, where) for name in named]
        if len(set(features)) != len(features) or set(features) & set(kept.values()):
            raise InputError(_TWICE.format(where))
        if label in features and options.columns is None:
            raise FormatError(f"{where}: {column_name(names, label)} is a feature of the model, so it is not the label")
        label = _label_beside(names, {*features, *kept.values()}, label, options, where)
    else:
        features = [p for p in range(n_columns) if p not in kept.values()]
        features = [p for p in features if p not in text or p == label or _is_label_name(names, p)]
        if label is None and features:
            among = find_label(None if names is None else [names[p] for p in features], len(features), options, where)
            label = None if among is None else features[among]
        features = [p for p in features if p != label]
    if label in features:
        raise InputError(_TWICE.format(where))
    if not features:
        raise FormatError(f"{where} has no column that could be a feature")
    others = [p for p in text if p not in features and p != label and p not in kept.values()]
    carried = {(names[p] if names else str(p)): p for p in others}
    return Columns(where, names, n_columns, tuple(features), label, kept | carried)


def _columns_like(
    like: Columns, names: list[str] | None, n_columns: int, options: ReadOptions, where: str
) -> Columns | None:
    """Return the columns of a table that are those of another one; None where that does not tell.

    Columns with names are matched by name and must be the same, but for a label where rows may have one or not.
    Columns without names have the places of the other's.
    """
    if names is None:
        return replace(like, where=where, names=None) if n_columns == like.n_columns else None
    if like.names is None:
        return None
    own = None if like.label is None else like.names[like.label]
    given = own if own in names else next((n for n in names if n not in like.names and _is_usual(n)), None)
    free = {own, given} if options.labels is None else set()
    for one, other, file, first in ((names, like.names, where, like.where), (like.names, names, like.where, where)):
        more = [name for name in one if name not in other and name not in free]
        if more:
            plural = "s" if len(more) > 1 else ""
            listed = shown(", ".join(map(repr, more[:12])))
            raise FormatError(f"{file} has the column{plural} {listed}, and {first} has not")
    if len(names) != len(set(names)):
        raise FormatError(f"{where} has several columns of one name")
    at = {name: position for position, name in enumerate(names)}
    features = tuple(at[like.names[p]] for p in like.features)
    carried = {name: at[like.names[p]] for name, p in like.carried.items()}
    return Columns(where, names, n_columns, features, None if given is None else at[given], carried)


def find_label(names: list[str] | None, n_columns: int, options: ReadOptions, where: str) -> int | None:
    """Return the position of the label column of a table, or None if it has none.

    Parameters
    ----------
    names : list of str, optional
        The column names, if the table has them.
    n_columns : int
    options : ReadOptions
    where : str
        The file, for messages.
    """
    if options.labels is False:
        return None
    if options.label is not None:
        return _named_label(names, n_columns, options.label, where)
    if options.n_features is not None and n_columns == options.n_features:
        if options.labels:
            raise FormatError(
                f"{where} has {n_columns} columns, as many as the model has features: no column is the label"
            )
        return None
    for position, name in enumerate(names or []):
        if name.strip().lower() in LABEL_NAMES:
            return position
    if n_columns < 2:
        raise FormatError(f"{where} has a single column; a table needs features and a label")
    return n_columns - 1


def _named_label(names: list[str] | None, n_columns: int, label: str | int, where: str) -> int:
    if names is not None and str(label) in names:
        return names.index(str(label))
    try:
        position = int(label)
    except ValueError:
        known = f"; its columns are {shown(', '.join(names[:12]))}" if names else "; its columns have no names"
        raise FormatError(f"{where} has no column {label!r}{known}") from None
    if not -n_columns <= position < n_columns:
        raise FormatError(f"{where} has {n_columns} columns, so there is no column {position} (counted from 0)")
    return position % n_columns


def _is_label_name(names: Sequence[str] | None, position: int) -> bool:
    return names is not None and _is_usual(names[position])


def _is_usual(name: str) -> bool:
    return name.strip().lower() in LABEL_NAMES


def _label_beside(
    names: Sequence[str] | None, features: Collection[int], label: int | None, options: ReadOptions, where: str
) -> int | None:
    """Return the label of a table whose features are named: by its name, or the only column that is left."""
    if label is None and options.labels is not False and names is not None:
        free = [p for p in range(len(names)) if p not in features]
        usual = [p for p in free if _is_label_name(names, p)]
        if usual or (len(free) == 1 and (options.labels or not options.keep_text)):
            return (usual or free)[0]
        if options.labels:
            which = ", ".join(repr(names[p]) for p in free[:12]) or "none is left"
            raise FormatError(
                f"{where}: it is not clear which column beside the features is the label ({which}): name it (--label)"
            )
    return label


def _position(names: Sequence[str] | None, n_columns: int, name: str, where: str) -> int:
    """Return the position of a column that is named, or numbered from 0 where columns have no names."""
    if names is not None:
        if name in names:
            return list(names).index(name)
        raise FormatError(f"{where} has no column {shown(name)!r}; its columns are {shown(', '.join(names[:12]))}")
    if name.isascii() and name.isdigit() and int(name) < n_columns:
        return int(name)
    raise FormatError(f"{where} has {n_columns} columns without names, so there is no column {name!r} (counted from 0)")


def refuse_named_columns(options: ReadOptions, where: str) -> None:
    """Raise an error if columns are named for a file that has none."""
    if options.columns is not None or options.keep:
        raise InputError(f"{where} is no table: columns can be named in CSV and Parquet files")
