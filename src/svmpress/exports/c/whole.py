"""The C code of a model in whole numbers: tables, and the templates of the steps that it needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmpress.exports.c.layout import decide_code, template
from svmpress.exports.c.tables import c_float, table
from svmpress.exports.quantized import Halvings, QuantizedModel
from svmpress.exports.quantized import table as halvings_table


def source(q: QuantizedModel) -> str:
    """Return the text of ``svm.c``, with the prefix ``svm``."""
    in_place = reads_in_place(q)
    parts = [template("head_whole.c"), _constants(q), _tables(q, in_place)]
    if not in_place:
        parts += [_read(q)]
    stage = "halvings" if isinstance(q.stage, Halvings) else "powers"
    where = "runs" if in_place and len(q.grid.kept) < q.grid.n_inputs else "blocks"
    if q.weight_type != "int16":
        parts += [template(f"block_{q.weight_type}.c"), template(f"dot_{where}.c")]
    else:
        parts += [template("dot_int16.c")]
    parts += [_row(q, stage, where), template(f"kernel_{stage}.c")]
    levels = "    const svm_level *u = x;" if in_place else "    svm_level u[SVM_PADDED];\n    svm_read(x, u);"
    values = template("values_whole.c").replace("@LEVELS@", levels)
    parts += [template(f"add_{q.coef_type}.c"), values, decide_code(q.decoder, q.task, " * SVM_UNIT")]
    return "\n".join(parts)


def reads_in_place(q: QuantizedModel) -> bool:
    """Return whether the dot products read the bytes of the input where they are."""
    grid = q.grid
    plain = grid.bytes_in and grid.shift is None and grid.pooling is None and q.weight_type != "int16"
    return plain and len(grid.kept) % 4 == 0 and grid.n_inputs % 4 == 0 and len(_runs(grid.kept)) <= 255


def padded(q: QuantizedModel) -> int:
    """Return the levels of a vector with those of no account at its end: blocks are of four."""
    return q.grid.n_levels if q.weight_type == "int16" else -(-q.grid.n_levels // 4) * 4


def _runs(kept: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return fours that are left out and fours that follow and take part, at most 64 of these, (runs, 2)."""
    fours = kept[::4] // 4
    runs: list[list[int]] = []
    at = 0
    for four in fours:
        if runs and four == at and runs[-1][1] < 64:
            runs[-1][1] += 1
        else:
            skip = int(four) - at
            while skip > 255:
                return np.zeros((256, 2), dtype=np.intp)
            runs.append([skip, 1])
        at = int(four) + 1
    return np.array(runs, dtype=np.intp)


def _constants(q: QuantizedModel) -> str:
    g, s = q.grid, q.stage
    names: dict[str, object] = {
        "LEVELS": g.n_levels,
        "PADDED": padded(q),
        "OFFSET": g.offset,
        "SCALE": f"{s.scale(g.ratio)}L",
        "DOWN": s.down,
        "FACTOR": f"{s.factor}L",
        "SHIFT": s.shift,
    }
    if isinstance(s, Halvings):
        names["FAR"] = f"{s.far}U"
    else:
        least, most = s.ends
        names |= {"ADD": f"{s.add}L", "DEGREE": s.degree, "ZERO": q.zero, "LEAST": f"({least}L)", "MOST": f"{most}L"}
    if q.weight_type != "int16":
        names["BYTES_OF_4"] = 4 if q.weight_type == "int8" else 2
    if q.sum_bits == 32:
        names["SUM_32"] = 1
    if g.shift is not None:
        names["TOP"] = g.top
    names["SEEN"] = g.n_inputs if g.pooling is None else g.pooling.n_outputs
    if g.pooling is not None:
        names |= {"POOL": g.pooling.size, "WIDTH": g.pooling.width, "COLUMNS": g.pooling.width // g.pooling.size}
    norm, read = ("uint16_t", "SVM_U16") if _short_norms(q) else ("int32_t", "(int32_t)SVM_U32")
    wide = "int32_t" if q.sum_bits == 32 else "int64_t"
    names |= {
        "WEIGHT": "uint16_t" if q.weight_type == "int16" else "uint8_t",
        "NORM": norm,
        "READ_NORM(p)": f"{read}(p)",
        "COEF": f"{q.coef_type}_t",
        "INDEX": "uint8_t" if q.n_outputs < 256 else "uint16_t",
        "READ_INTERCEPT(p)": f"({wide})SVM_U32(p)" if wide == "int32_t" else "svm_wide(p)",
    }
    level = "uint16_t" if q.weight_type == "int16" else "uint8_t"
    lines = [f"#define SVM_{name} {value}" for name, value in names.items()]
    return "\n".join(lines) + f"\n\ntypedef {level} svm_level;\ntypedef int64_t svm_sum;\n"


def _short_norms(q: QuantizedModel) -> bool:
    return int(q.norms.min(initial=0)) >= 0 and int(q.norms.max(initial=0)) <= 65535


def _tables(q: QuantizedModel, in_place: bool) -> str:
    g = q.grid
    parts = []
    if isinstance(q.stage, Halvings):
        parts.append(table("uint16_t", "svm_table", halvings_table()))
    if g.shift is not None and g.factor is not None:
        pairs = "".join(f"    {{{c_float(s)}, {c_float(f)}}},\n" for s, f in zip(g.shift, g.factor, strict=True))
        kind = "struct svm_affine {\n    float shift, factor;\n};\n"
        parts.append(f"{kind}static const struct svm_affine svm_scaling[{g.n_levels}] SVM_ROM = {{\n{pairs}}};\n")
    if in_place and len(g.kept) < g.n_inputs:
        runs = _runs(g.kept)
        parts.append(f"#define SVM_RUNS {len(runs)}\n" + table("uint8_t", "svm_runs", runs))
    elif _masked(q, in_place):
        n = g.n_inputs if g.pooling is None else g.pooling.n_outputs
        mask = np.zeros(n, dtype=np.uint8)
        mask[g.kept] = 1
        parts.append(table("uint8_t", "svm_kept", np.packbits(mask, bitorder="little")))
    parts.append(table("SVM_WEIGHT", "svm_vectors", packed_weights(q)))
    parts.append(table("SVM_NORM", "svm_norms", q.norms))
    parts.append(table("SVM_COEF", "svm_coef", q.coef.ravel()))
    if q.sum_bits == 32:
        parts.append(table("int32_t", "svm_intercept", q.intercept))
    else:
        halves = np.stack([q.intercept & 0xFFFFFFFF, (q.intercept >> 32) & 0xFFFFFFFF], axis=1)
        parts.append(
            table("uint32_t", "svm_intercept", halves).replace("},", "u},").replace(", ", "u, ").replace("uu", "u")
        )
        parts.append(
            "static int64_t svm_wide(const uint32_t (*p)[2])\n{\n"
            "    return (int64_t)((uint64_t)SVM_U32(&(*p)[1]) << 32 | SVM_U32(&(*p)[0]));\n}\n"
        )
    return "\n".join(parts)


def _masked(q: QuantizedModel, in_place: bool) -> bool:
    g = q.grid
    return not in_place and g.n_levels < (g.n_inputs if g.pooling is None else g.pooling.n_outputs)


def packed_weights(q: QuantizedModel) -> NDArray[np.int64]:
    """Return the weights as they lie in memory: two of 4 bits to a byte, the first in its low half."""
    w = np.zeros((q.n_vectors, padded(q)), dtype=np.int64)
    w[:, : q.grid.n_levels] = q.weights
    if q.weight_type == "int4":
        w = w[:, ::2] | w[:, 1::2] << 4
    return w.ravel()


def _read(q: QuantizedModel) -> str:
    """Return the function that makes levels of a row."""
    g = q.grid
    masked = _masked(q, in_place=False)
    declared, before, after, filled = "", "", "", ""
    pixel = "svm_pixel(x)" if g.pooling is not None else "*x"
    at = "kept" if masked else "j"
    if masked:
        declared += "    uint16_t kept = 0;\n    uint8_t bits = 0;\n"
        before = "        if ((j & 7) == 0) {\n            bits = SVM_U8(&svm_kept[j >> 3]);\n        }\n"
        before += "        if (bits & 1)\n"
        after += "        bits >>= 1;\n"
    if g.shift is None:
        level = f"            u[{at}] = {pixel};"
    else:
        level = (
            f"            float t = ((float){pixel} - SVM_FLOAT(&svm_scaling[{at}].shift)) *\n"
            f"                      SVM_FLOAT(&svm_scaling[{at}].factor);\n"
            f"            u[{at}] = (svm_level)(t > 0 ? t < (float)SVM_TOP ? t : (float)SVM_TOP : 0.0f);"
        )
    if masked:
        level += "\n            kept++;"
    if g.pooling is None:
        after += "        x++;\n"
    else:
        declared += "    uint8_t column = 0;\n"
        after += (
            "        x += SVM_POOL;\n        if (++column == SVM_COLUMNS) {\n            column = 0;\n"
            "            x += (SVM_POOL - 1) * SVM_WIDTH;\n        }\n"
        )
    if padded(q) > g.n_levels:
        filled = "    for (j = SVM_LEVELS; j < SVM_PADDED; j++) {\n        u[j] = 0;\n    }\n"
    text = template("read.c")
    for name, value in {
        "DECLARED": declared,
        "BEFORE": before,
        "LEVEL": level,
        "AFTER": after,
        "FILLED": filled,
    }.items():
        text = text.replace(f"@{name}@", value)
    return text if g.pooling is None else template("pixel.c") + "\n" + text


def _row(q: QuantizedModel, stage: str, where: str) -> str:
    u = "*u" if where == "runs" else "u[j]"
    if q.weight_type == "int16":
        square = f"(int32_t){u} * ((int32_t){u} - 2L * SVM_OFFSET)"
    elif q.grid.offset == 0:
        square = f"(int32_t)(uint32_t)(uint16_t)((uint16_t){u} * (uint16_t){u})"
    else:
        square = f"(int32_t)(int16_t){u} * (int16_t)((int16_t){u} - 2 * SVM_OFFSET)"
    return template(f"row_{stage}_{where}.c").replace("@SQUARE@", square)
