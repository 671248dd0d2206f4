"""What all C code shares: templates, the decoder, and names with a prefix."""

from __future__ import annotations

import re
from importlib.resources import files

from svmpress.decoders import Argmax, Decoder, Identity, PairDAG, PairVote, Sign
from svmpress.errors import InputError


def template(name: str) -> str:
    """Return the text of a template, written for the prefix ``svm``."""
    return files("svmpress.exports.c").joinpath("templates", name).read_text(encoding="utf-8")


def decide_code(decoder: Decoder, task: str, unit: str) -> str:
    """Return the functions that turn decision values into an answer."""
    if isinstance(decoder, Identity):
        return template("predict_value.c").replace("@UNIT@", unit)
    if isinstance(decoder, Sign):
        text = template("decide_sign.c").replace("@GREATER@", ">=" if decoder.zero_class == 1 else ">")
    elif isinstance(decoder, Argmax):
        text = template("decide_argmax.c")
    elif isinstance(decoder, PairVote):
        text = template("decide_sums.c" if decoder.break_ties else "decide_votes.c")
    elif isinstance(decoder, PairDAG):
        text = template("decide_dag.c")
    else:
        raise InputError(f"there is no C code for the decoder {type(decoder).__name__}")
    return f"{text}\n{template('predict_class.c')}"


def renamed(text: str, prefix: str) -> str:
    """Return a text with another prefix than ``svm``.

    Examples
    --------
    >>> renamed('#include "svm.h"  SVM_ROWS svm_predict', "gesture")
    '#include "gesture.h"  GESTURE_ROWS gesture_predict'
    """
    if prefix == "svm":
        return text
    text = re.sub(r"\bsvm(?=_|\.[ch]\b)", prefix, text)
    return re.sub(r"\bSVM(?=_)", prefix.upper(), text)


_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while class
delete explicit export false friend mutable namespace new operator private protected public template this throw true try
typename using virtual bool"""


def check_prefix(prefix: str) -> None:
    """Refuse a prefix that no name in C can begin with."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", prefix) or prefix in _KEYWORDS.split():
        raise InputError(f"the prefix must be lower-case letters, digits and underscores, not {prefix!r}")
