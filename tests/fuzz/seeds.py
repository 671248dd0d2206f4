"""Good files of every kind that svmpress reads, small enough that a changed byte matters."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from svmpress.decoders import Argmax, Decoder, Identity, PairVote, Sign
from svmpress.formats import save
from svmpress.kernels import RBF, ChiSquared, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling

LETTERS = np.array(["a", "b", "c"])


def model(kernel: Kernel, decoder: Decoder, n_outputs: int, *, csr: bool = False, **changes: Any) -> KernelModel:
    """A model of four vectors and three features."""
    rng = np.random.default_rng(0)
    V = rng.uniform(0.1, 1.0, size=(4, 3)).round(3) * (rng.random((4, 3)) < 0.7)
    coef = rng.normal(size=(4, n_outputs)).round(4)
    f = KernelExpansion(kernel, sparse.csr_array(V) if csr else V, coef, rng.normal(size=n_outputs).round(4))
    return KernelModel(f, decoder, **changes)


def models() -> dict[str, KernelModel]:
    """Models by the names of their files."""
    scaling = Scaling(np.array([0.5, 0.0, -1.0]), np.array([2.0, 1.0, 0.25]))
    two = Sign(np.array([-1, 1]))
    regression: Any = {"task": "regression"}
    return {
        "rbf.svmpress": model(RBF(0.5), two, 1, scaling=scaling),
        "csr.svmpress": model(Laplacian(0.5), Argmax(LETTERS), 3, csr=True, provenance={"from": "here", "n": 3}),
        "pairs.svmpress": model(ChiSquared(0.5), PairVote(LETTERS), 3, probability={"probA": np.ones(3)}),
        "values.svmpress": model(Sigmoid(0.1, 0.2), Identity(), 2, **regression),
        "two.model": model(RBF(0.5), two, 1, probability={"probA": np.ones(1), "probB": np.zeros(1)}),
        "three.model": model(Polynomial(0.5, 1.0, 2), PairVote(np.array([1, 5, -3])), 3),
        "value.model": model(Linear(), Identity(), 1, **regression),
        "scaled.model": model(RBF(0.5), two, 1, scaling=scaling),
        "two.xml": model(RBF(0.5), two, 1),
        "value.yml": model(Sigmoid(0.1, 0.2), Identity(), 1, **regression),
        "two.svmlight": model(Polynomial(0.5, 1.0, 2), two, 1, csr=True),
        "two.skops": model(RBF(0.5), two, 1, scaling=scaling),
    }


PMML = b"""<?xml version="1.0"?>
<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/>
<DataDictionary><DataField name="x1" optype="continuous" dataType="double"/>
<DataField name="y" optype="categorical" dataType="integer"><Value value="7"/><Value value="3"/></DataField>
</DataDictionary>
<SupportVectorMachineModel functionName="classification" maxWins="true">
<MiningSchema><MiningField name="x1"/><MiningField name="y" usageType="target"/></MiningSchema>
<LocalTransformations><DerivedField name="z" optype="continuous" dataType="double">
<NormContinuous field="x2"><LinearNorm orig="1" norm="0"/><LinearNorm orig="3" norm="1"/></NormContinuous>
</DerivedField></LocalTransformations>
<RadialBasisKernelType gamma="0.5"/>
<VectorDictionary><VectorFields><FieldRef field="x1"/><FieldRef field="z"/></VectorFields>
<VectorInstance id="v1"><REAL-SparseArray n="2"><Indices>2</Indices><REAL-Entries>0.5</REAL-Entries></REAL-SparseArray>
</VectorInstance><VectorInstance id="v2"><Array n="2" type="real">0 1</Array></VectorInstance></VectorDictionary>
<SupportVectorMachine targetCategory="3" alternateTargetCategory="7">
<SupportVectors><SupportVector vectorId="v1"/><SupportVector vectorId="v2"/></SupportVectors>
<Coefficients absoluteValue="0.25"><Coefficient value="1.25"/><Coefficient value="-2.0"/></Coefficients>
</SupportVectorMachine></SupportVectorMachineModel></PMML>
"""

VMAF = {
    "param_dict": {"C": 4.0},
    "model_dict": {
        "model": "svm_type nu_svr\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho -0.25\nSV\n"
        "-4 1:0.5 2:0.25 \n1.7 1:0.125 2:1 \n",
        "model_type": "LIBSVMNUSVR",
        "norm_type": "linear_rescale",
        "feature_names": ["adm", "motion"],
        "slopes": [0.012, 2.8, 0.06],
        "intercepts": [-0.3, -1.8, -0.003],
    },
}


def foreign() -> dict[str, bytes]:
    """Model files of formats that svmpress does not write, or not from any model."""
    from onnx import helper

    rows = helper.make_tensor_value_info("X", 1, ["n", 2])
    value = helper.make_tensor_value_info("value", 1, ["n", 1])
    scaler = helper.make_node("Scaler", ["X"], ["Z"], domain="ai.onnx.ml", offset=[1.0, 0.0], scale=[0.5, 2.0])
    svm = helper.make_node(
        "SVMRegressor",
        ["Z"],
        ["value"],
        domain="ai.onnx.ml",
        kernel_type="RBF",
        kernel_params=[0.5, 0.0, 3.0],
        n_supports=2,
        support_vectors=[0.5, 1.0, -1.0, 0.25],
        coefficients=[1.5, -0.5],
        rho=[0.25],
    )
    graph = helper.make_graph([scaler, svm], "svm", [rows], [value])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 1)])
    return {
        "two.pmml": PMML,
        "vmaf.json": json.dumps(VMAF, indent=4).encode(),
        "value.onnx": proto.SerializeToString(),
    }


def _of_numpy(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _of_parquet(columns: dict[str, Any], **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, **options)
    return stream.getvalue()


def data() -> dict[str, bytes]:
    """Data files by name."""
    svm = b"# rows\n1 1:0.5 3:2\n-1 qid:1 2:1e-3 3:-0.25\n1 1:7\n-1 3:1\n"
    csv = b'width,"the height",label\n1.5,2,cat\n-3,4e-1,"d,og"\n0,1,cat\n'
    X = np.arange(12.0).reshape(4, 3)
    rows = sparse.csr_array(X * (X % 2))
    parts = {f"X_{p}": getattr(rows, p) for p in ("data", "indices", "indptr")} | {"X_shape": np.array(rows.shape)}
    packed = io.BytesIO()
    np.savez_compressed(packed, X_train=X.astype(np.float32), y_train=np.array(["u", "v", "u", "v"]), X_test=X[:1])
    of_scipy = io.BytesIO()
    sparse.save_npz(of_scipy, rows.tocsr())
    table = {"a": [1.0, 2.5, -3.0], "b": [1, 2, 3], "label": ["u", "v", "u"]}
    return {
        "rows.svm": svm,
        "rows.csv": csv,
        "rows.tsv": b"1\t2\t0\n3\t4\t1\n",
        "rows.svm.gz": gzip.compress(svm, mtime=0),
        "rows.csv.bz2": bz2.compress(csv),
        "rows.svm.xz": lzma.compress(svm),
        "rows.npz": _of_numpy(X=X, y=np.array([0, 1, 1, 0])),
        "columns.npz": _of_numpy(X=np.asfortranarray(X), y=np.array([0.5, 1.0, 2.0, 0.0])),
        "sparse.npz": _of_numpy(**parts, y=np.array([0, 1, 1, 0])),
        "packed.npz": packed.getvalue(),
        "scipy.npz": of_scipy.getvalue(),
        "rows.parquet": _of_parquet(table, compression="none"),
        "packed.parquet": _of_parquet(table, compression="zstd", use_dictionary=True),
    }


def records() -> dict[str, bytes]:
    """Records of searches and studies."""
    point = {"vectors": 3, "outputs": 1, "score": 0.5}
    trial = {"number": 0, "stage": "trial", "params": {"C": 1.0}, "rows": 9, "source": point, "curve": [point],
             "seconds": 0.5, "error": ""}  # fmt: skip
    header = {"svmpress_search": 1, "search": {"data": "x", "goal": {}}}
    cell = {"kind": "cell", "set": "magic", "method": "dlib", "seed": 0, "size": 10, "status": "skipped"}
    return {
        "search.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in (header, trial)),
        "study.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in (cell, cell)),
    }


def files(folder: Path) -> dict[str, bytes]:
    """Every file by name; range files are beside their models."""
    content = data() | records() | foreign()
    for name, each in models().items():
        save(each, folder / name)
        content[name] = (folder / name).read_bytes()
        (folder / name).unlink()
    ranges = folder / "scaled.model.range"
    content[ranges.name] = ranges.read_bytes()
    ranges.unlink()
    return content
