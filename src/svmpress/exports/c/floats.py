"""The C code of a model in floats, for every kernel."""

from __future__ import annotations

import numpy as np

from svmpress.exports.c.layout import decide_code, template
from svmpress.exports.c.tables import c_float, table
from svmpress.kernels import Polynomial
from svmpress.model import KernelModel
from svmpress.numerics import arrays

_TERMS = {
    "rbf": "float t = z[j] - b;\n            k += t * t;",
    "laplacian": "k += fabsf(z[j] - b);",
    "chi2": "float t = z[j] - b, s = z[j] + b;\n            k += s > 0 ? t * t / s : 0.0f;",
}
_PRODUCT = "k += z[j] * b;"
_KERNELS = {
    "rbf": "expf(-SVM_GAMMA * k)",
    "laplacian": "expf(-SVM_GAMMA * k)",
    "chi2": "expf(-SVM_GAMMA * k)",
    "sigmoid": "tanhf(SVM_GAMMA * k + SVM_COEF0)",
    "poly": "powf(SVM_GAMMA * k + SVM_COEF0, SVM_DEGREE)",
}


def source(model: KernelModel) -> str:
    """Return the text of ``svm.c``, with the prefix ``svm``."""
    e, kernel = model.expansion, model.kernel
    constants = {name.upper(): c_float(value) for name, value in kernel.params.items()}
    power = isinstance(kernel, Polynomial) and kernel.degree == int(kernel.degree) and 1 <= kernel.degree <= 20
    if power:
        constants["DEGREE"] = str(int(constants["DEGREE"][:-1].split(".")[0]))
    of_kernel = "svm_power(SVM_GAMMA * k + SVM_COEF0)" if power else _KERNELS.get(kernel.name)
    finish = "" if of_kernel is None else f"        k = {of_kernel};\n"  # a product is the linear kernel as it is
    V = np.asarray(arrays.dense(e.vectors))
    parts = [
        template("head_whole.c").replace('#include "svm.h"', '#include "svm.h"\n\n#include <math.h>'),
        "".join(f"#define SVM_{name} {value}\n" for name, value in constants.items()),
    ]
    scaled = "(float)x[j]"
    if model.scaling is not None:
        shift = np.zeros(model.n_features) if model.scaling.shift is None else model.scaling.shift
        pairs = "".join(
            f"    {{{c_float(s)}, {c_float(f)}}},\n" for s, f in zip(shift, model.scaling.factor, strict=True)
        )
        kind = "struct svm_affine {\n    float shift, factor;\n};\n"
        parts.append(f"{kind}static const struct svm_affine svm_scaling[{model.n_features}] SVM_ROM = {{\n{pairs}}};\n")
        scaled = "((float)x[j] - SVM_FLOAT(&svm_scaling[j].shift)) * SVM_FLOAT(&svm_scaling[j].factor)"
    parts += [
        table("float", "svm_vectors", V.ravel(), form="f"),
        table("float", "svm_coef", e.coef.ravel(), form="f"),
        table("float", "svm_intercept", e.intercept, form="f"),
    ]
    if power:
        parts.append(template("power.c"))
    text = template("values_float.c").replace("@SCALED@", scaled).replace("@KERNEL@", finish)
    parts += [text.replace("@TERM@", _TERMS.get(kernel.name, _PRODUCT)), "typedef float svm_sum;\n"]
    return "\n".join([*parts, decide_code(model.decoder, model.task, "")])
