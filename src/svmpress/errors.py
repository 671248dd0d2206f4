"""The errors that svmpress raises on purpose, and its warnings, each written for the person who will read it.

Whatever derives from :class:`SvmpressError` is a sentence about the caller's input; the command line prints
it and exits with code 2. Any other exception is a defect of svmpress.
"""

from __future__ import annotations

_LONGEST = 200
"""Characters of somebody else's text that a message repeats."""


def shown(text: str, longest: int = _LONGEST) -> str:
    """Return text of a file as a message may repeat it: printable, and cut where it is long.

    Examples
    --------
    >>> shown("petal width"), shown("9" * 5000, 8)
    ('petal width', '99999999...')
    """
    cut = text[:longest] + ("..." if len(text) > longest else "")
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


class SvmpressError(Exception):
    """Base of all errors that svmpress raises on purpose."""


class InputError(SvmpressError, ValueError):
    """Data, a model or an argument that cannot be used as given."""


class FormatError(InputError):
    """A file that is not what it was said to be, or a model that a format cannot hold."""


class MissingExtraError(SvmpressError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    what : str
        What needs it, as the subject of the sentence.
    package, extra : str
        The package that is missing and the extra of svmpress that brings it.
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'svmpress[{extra}]'")


class SvmpressWarning(UserWarning):
    """A result that does not do what was asked, or input that was not used as given."""
