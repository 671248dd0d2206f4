"""PMML in: files of nyoka against the estimators they came from, and the specification against a naive loop."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from svmpress.cli import main
from svmpress.errors import FormatError
from svmpress.formats import load, obstacles

X, Y = load_iris(return_X_y=True)
TWO, WORDS = (Y > 0).astype(int), np.array(["a", "b", "c"])[Y]
ROWS = 0.7 * X + 0.3 * X[::-1]


# ---------------------------------------------------------------------------------------------------------
# By the specification
# ---------------------------------------------------------------------------------------------------------

V = {"v1": [0.5, 0.0, 2.0], "v2": [0.0, 1.0, -1.0], "v3": [1.5, 0.25, 0.0]}
KERNELS = {
    '<LinearKernelType description="none"/>': lambda a, b: a @ b,
    '<PolynomialKernelType gamma="0.5" coef0="2" degree="3"/>': lambda a, b: (0.5 * (a @ b) + 2) ** 3,
    "<PolynomialKernelType/>": lambda a, b: a @ b + 1,
    '<RadialBasisKernelType gamma="0.5"/>': lambda a, b: math.exp(-0.5 * ((a - b) @ (a - b))),
    '<SigmoidKernelType gamma="0.5"/>': lambda a, b: math.tanh(0.5 * (a @ b) + 1),
}
RBF = '<RadialBasisKernelType gamma="0.5"/>'


def machine(coefs: dict, constant: float, attributes: str = "") -> str:
    vectors = "".join(f'<SupportVector vectorId="{name}"/>' for name in coefs)
    values = "".join(f'<Coefficient value="{value}"/>' for value in coefs.values())
    return (
        f'<SupportVectorMachine {attributes}><SupportVectors numberOfSupportVectors="{len(coefs)}">{vectors}'
        f'</SupportVectors><Coefficients absoluteValue="{constant}">{values}</Coefficients></SupportVectorMachine>'
    )


def document(machines: str, attributes: str, kernel: str = RBF, fields: str = "", extra: str = "") -> str:
    fields = fields or "".join(f'<FieldRef field="x{j}"/>' for j in (1, 2, 3))
    return f"""<?xml version="1.0"?>
<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/>
<DataDictionary><DataField name="x1" optype="continuous" dataType="double"/>
<DataField name="y" optype="categorical" dataType="integer">
<Value value="7"/><Value value="3"/><Value value="5"/></DataField>
</DataDictionary>
<SupportVectorMachineModel {attributes}>
<MiningSchema><MiningField name="x1"/><MiningField name="y" usageType="target"/></MiningSchema>{extra}
{kernel}
<VectorDictionary numberOfVectors="3"><VectorFields numberOfFields="3">{fields}</VectorFields>
<VectorInstance id="v1"><REAL-SparseArray n="3"><Indices>1 3</Indices>
<REAL-Entries>0.5 2</REAL-Entries></REAL-SparseArray></VectorInstance>
<VectorInstance id="v2"><Array n="3" type="real">0 1 -1</Array></VectorInstance>
<VectorInstance id="v3"><Array n="3" type="real">1.5 0.25 0</Array></VectorInstance>
</VectorDictionary>
{machines}
</SupportVectorMachineModel></PMML>
"""


REGRESSION = 'functionName="regression"'
COEFS = {"v1": 1.25, "v3": -2.0}
ROWS3 = np.random.default_rng(0).normal(size=(60, 3))


def value(coefs, constant, kernel, x):
    return sum(c * KERNELS[kernel](np.array(V[name]), x) for name, c in coefs.items()) + constant


def written(tmp_path, text):
    (tmp_path / "a.pmml").write_text(text)
    return tmp_path / "a.pmml"


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_of_the_specification(tmp_path, kernel):
    model = load(written(tmp_path, document(machine(COEFS, 0.25), REGRESSION, kernel)))
    np.testing.assert_allclose(model.predict(ROWS3), [value(COEFS, 0.25, kernel, x) for x in ROWS3], rtol=1e-12)
    assert model.feature_names == ("x1", "x2", "x3")


@pytest.mark.parametrize("wins", [True, False])
@pytest.mark.parametrize("threshold", [0.0, -0.2])
def test_two_classes(tmp_path, wins, threshold):
    """The target category where the value is beyond the threshold, on the side that maxWins says."""
    head = f'functionName="classification" maxWins="{str(wins).lower()}" threshold="{threshold}"'
    one = machine(COEFS, 0.1, 'targetCategory="3" alternateTargetCategory="7"')
    model = load(written(tmp_path, document(one, head)))
    f = np.array([value(COEFS, 0.1, RBF, x) for x in ROWS3])
    np.testing.assert_array_equal(model.predict(ROWS3), np.where(f > threshold if wins else f < threshold, 3, 7))
    assert len(set(model.predict(ROWS3).tolist())) == 2


PAIRS = [("5", "7", {"v1": 1.0, "v2": -0.5}, 0.1), ("7", "3", {"v2": 1.5, "v3": -1}, -0.2), ("5", "3", COEFS, 0.3)]


@pytest.mark.parametrize("wins", [True, False])
def test_one_against_one(tmp_path, wins):
    """Votes; the first class of equal votes, in the order of the data dictionary."""
    head = f'functionName="classification" classificationMethod="OneAgainstOne" maxWins="{str(wins).lower()}"'
    of = 'targetCategory="{}" alternateTargetCategory="{}"'
    machines = "".join(machine(coefs, b, of.format(t, other)) for t, other, coefs, b in PAIRS)
    model = load(written(tmp_path, document(machines, head)))
    assert model.classes_.tolist() == [7, 3, 5]
    wanted = []
    for x in ROWS3:
        votes = {"7": 0, "3": 0, "5": 0}
        for t, other, coefs, b in PAIRS:
            f = value(coefs, b, RBF, x)
            votes[t if (f > 0) == wins else other] += 1
        wanted.append(int(max(votes, key=votes.__getitem__)))
    np.testing.assert_array_equal(model.predict(ROWS3), wanted)


@pytest.mark.parametrize("wins", [True, False])
def test_one_against_all(tmp_path, wins):
    head = f'functionName="classification" maxWins="{str(wins).lower()}"'
    machines = "".join(
        machine(coefs, b, f'targetCategory="{t}"') for (_, _, coefs, b), t in zip(PAIRS, "573", strict=True)
    )
    model = load(written(tmp_path, document(machines, head)))
    values = np.array([[value(coefs, b, RBF, x) for _, _, coefs, b in PAIRS] for x in ROWS3])
    best = values.argmax(axis=1) if wins else values.argmin(axis=1)
    np.testing.assert_array_equal(model.predict(ROWS3), np.array([5, 7, 3])[best])


DERIVED = """<LocalTransformations>
<DerivedField name="z1" optype="continuous" dataType="double"><NormContinuous field="x1">
<LinearNorm orig="1" norm="0"/><LinearNorm orig="5" norm="1"/></NormContinuous></DerivedField>
<DerivedField name="z2" optype="continuous" dataType="double"><Apply function="/"><Apply function="-">
<FieldRef field="x2"/><Constant>2</Constant></Apply><Constant>0.5</Constant></Apply></DerivedField>
<DerivedField name="z3" optype="continuous" dataType="double"><Apply function="*"><Constant>3</Constant>
<Apply function="+"><Constant>1</Constant><FieldRef field="z4"/></Apply></Apply></DerivedField>
<DerivedField name="z4" optype="continuous" dataType="double"><FieldRef field="x3"/></DerivedField>
</LocalTransformations>"""
FIELDS = "".join(f'<FieldRef field="z{j}"/>' for j in (1, 2, 3))


def test_linear_functions_of_fields_become_a_scaling(tmp_path):
    text = document(machine(COEFS, 0.25), REGRESSION, fields=FIELDS, extra=DERIVED)
    model = load(written(tmp_path, text))
    Z = np.column_stack([(ROWS3[:, 0] - 1) / 4, (ROWS3[:, 1] - 2) / 0.5, 3 * (1 + ROWS3[:, 2])])
    np.testing.assert_allclose(model.predict(ROWS3), [value(COEFS, 0.25, RBF, z) for z in Z], rtol=1e-10)
    assert model.feature_names == ("x1", "x2", "x3")


# ---------------------------------------------------------------------------------------------------------
# Files that another program wrote
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nyoka():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("nyoka", reason="nyoka is not installed: make test-all brings it")


NYOKA = [
    (Pipeline([("m", SVC())]), Y),
    (Pipeline([("m", SVC(kernel="poly", coef0=0.5, degree=2))]), TWO),
    (Pipeline([("m", SVC(kernel="sigmoid", gamma=0.01))]), TWO),
    (Pipeline([("s", StandardScaler()), ("m", SVC(kernel="linear"))]), WORDS),
    (Pipeline([("s", MinMaxScaler()), ("m", SVR())]), X[:, 0]),
    (Pipeline([("s", MaxAbsScaler()), ("m", SVC())]), Y),
]


@pytest.mark.parametrize(("pipeline", "y"), NYOKA, ids=str)
def test_files_of_nyoka(tmp_path, nyoka, pipeline, y):
    pipeline.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nyoka.skl_to_pmml(pipeline, list("pqrs"), "t", str(tmp_path / "a.pmml"))
    model = load(tmp_path / "a.pmml")
    assert model.feature_names == ("p", "q", "r", "s")
    if model.task == "regression":
        np.testing.assert_allclose(model.predict(ROWS), pipeline.predict(ROWS), rtol=1e-9)
    else:
        np.testing.assert_array_equal(model.predict(ROWS), pipeline.predict(ROWS))


def test_the_command_line_takes_them(tmp_path, capsys):
    one = machine(COEFS, 0.1, 'targetCategory="3" alternateTargetCategory="7"')
    path = written(tmp_path, document(one, 'functionName="classification"'))
    assert main(["inspect", str(path)]) == 0
    assert "3: x1, x2, x3" in capsys.readouterr().out
    assert main(["export", str(path), "-o", str(tmp_path / "a.model")]) == 0
    np.testing.assert_array_equal(load(tmp_path / "a.model").predict(ROWS3), load(path).predict(ROWS3))
    assert main(["export", str(path), "-o", str(tmp_path / "b.pmml")]) == 2
    assert obstacles(load(path), "pmml") == ["svmpress reads PMML and does not write it"]


# ---------------------------------------------------------------------------------------------------------
# Files that are wrong
# ---------------------------------------------------------------------------------------------------------

TEXT = document(machine(COEFS, 0.25), REGRESSION)
BAD = [
    (RBF, "", "has no kernel"),
    (RBF, "<WaveKernelType/>", "the kernel WaveKernelType is not one that svmpress knows"),
    ('gamma="0.5"', 'gamma="wide"', "holds what is no number"),
    ('gamma="0.5"', 'gamma="-1"', "gamma of the rbf kernel must not be negative"),
    ('vectorId="v3"', 'vectorId="v9"', "the vector 'v9' is not in the dictionary"),
    ('id="v3"', 'id="v2"', "line 14: the vector 'v2' is there twice"),
    ("0 1 -1", "0 1", "2 numbers for 3 vector fields"),
    ("0 1 -1", "0 1 nan", "holds a NaN or an infinity"),
    ("<Indices>1 3<", "<Indices>1 4<", "indices from 1 to 3 and as many entries"),
    ("<Indices>1 3<", "<Indices>1 2.5<", "indices from 1 to 3"),
    ("<Indices>1 3<", "<Indices>1<", "indices from 1 to 3"),
    ('<Coefficient value="-2.0"/>', "", "1 coefficients for 2 support vectors"),
    ('<FieldRef field="x2"/>', '<FieldRef field="x1"/>', "of different ones"),
    (
        '<FieldRef field="x2"/>',
        '<CategoricalPredictor name="x2" value="a" coefficient="1"/>',
        "has a <CategoricalPredictor>",
    ),
    (REGRESSION, 'functionName="classification"', "one against all needs a machine for each of 1 classes"),
    (REGRESSION, 'functionName="regression" svmRepresentation="Coefficients"', "weights alone has nothing"),
    ("</MiningSchema>", '</MiningSchema><Targets><Target rescaleFactor="2"/></Targets>', "the answer is rescaled"),
    ("<PMML", "<!DOCTYPE PMML><PMML", "needs no document type declaration"),
    ("</PMML>", "", "not well-formed XML"),
    ("SupportVectorMachineModel", "TreeModel", "holds TreeModel, and svmpress reads a SupportVectorMachineModel"),
]


@pytest.mark.parametrize(("old", "new", "words"), BAD, ids=[words[:40] for _, _, words in BAD])
def test_wrong_files(tmp_path, old, new, words):
    assert old in TEXT
    with pytest.raises(FormatError, match=words) as caught:
        load(written(tmp_path, TEXT.replace(old, new)))
    assert "a.pmml" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '<LinearNorm orig="5" norm="1"/>',
            '<LinearNorm orig="5" norm="1"/><LinearNorm orig="6" norm="9"/>',
            "more than one",
        ),
        ('<LinearNorm orig="5" norm="1"/>', '<LinearNorm orig="1" norm="1"/>', "no function of it"),
        ('<NormContinuous field="x1">', '<NormContinuous field="x1" outliers="asExtremeValues">', "more than one line"),
        ("<Constant>0.5</Constant>", "<Constant>0</Constant>", "a quotient by another or by 0"),
        ("<Constant>3</Constant>", '<FieldRef field="x1"/>', "a field is made of two"),
        ("<Constant>3</Constant>", "<Constant>0</Constant>", "multiplied by 0, or overflows"),
        ("<Constant>3</Constant>", "<Constant>three</Constant>", "'three' is no number"),
        ('function="*"', 'function="pow"', "a field is made by 'pow'"),
        ('<FieldRef field="x3"/>', '<FieldRef field="z3"/>', "in a circle, or too deep"),
        ('<FieldRef field="x3"/>', '<Discretize field="x3"/>', "a field is a <Discretize>"),
    ],
)
def test_fields_that_are_no_linear_functions(tmp_path, old, new, words):
    text = document(machine(COEFS, 0.25), REGRESSION, fields=FIELDS, extra=DERIVED)
    assert old in text
    with pytest.raises(FormatError, match=rf"a\.pmml, line \d+: .*{words}"):
        load(written(tmp_path, text.replace(old, new)))


def test_few_bytes_do_not_make_a_large_table(tmp_path):
    """Sparse vectors are short in the file and as long as there are fields in memory."""
    fields = "".join(f'<FieldRef field="f{j}"/>' for j in range(6000))
    vectors = "".join(f'<VectorInstance id="w{i}"><REAL-SparseArray/></VectorInstance>' for i in range(50_000))
    text = document(machine(COEFS, 0.25), REGRESSION, fields=fields)
    with pytest.raises(FormatError, match="unfolds to 6,000,360,000 or more"):
        load(written(tmp_path, text.replace("</VectorDictionary>", f"{vectors}</VectorDictionary>")))


def test_a_pair_that_is_missing(tmp_path):
    of = 'targetCategory="{}" alternateTargetCategory="{}"'
    machines = "".join(machine(coefs, b, of.format(t, other)) for t, other, coefs, b in PAIRS[:2])
    head = 'functionName="classification" classificationMethod="OneAgainstOne"'
    with pytest.raises(FormatError, match="one against one needs a machine for each pair of 3 classes"):
        load(written(tmp_path, document(machines, head)))
