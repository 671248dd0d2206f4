// Answer rows with ONNX files in node, by onnxruntime-web: what a browser runs, WebAssembly on one thread.
//
//     node onnx_web.cjs NODE_MODULES JOBS.json
//
// JOBS.json is a list of {model, rows, dtype, n, d, answers}: a file of n rows of d little-endian numbers, and where to
// write the answers, {outputs: {name: [...]}, seconds: best time of one row alone}.

const fs = require("node:fs");
const path = require("node:path");

const ort = require(path.join(process.argv[2], "onnxruntime-web"));
const ROUNDS = 300;

async function answer({ model, rows, dtype, n, d, answers }) {
  const session = await ort.InferenceSession.create(fs.readFileSync(model));
  const bytes = fs.readFileSync(rows);
  const Numbers = dtype === "float64" ? Float64Array : Float32Array;
  const values = new Numbers(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const found = await session.run({ rows: new ort.Tensor(dtype, values, [n, d]) });
  const outputs = {};
  for (const [name, tensor] of Object.entries(found)) {
    outputs[name] = Array.from(tensor.data, (v) => (typeof v === "bigint" ? Number(v) : v));
  }
  const one = new ort.Tensor(dtype, values.slice(0, d), [1, d]);
  let seconds = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.hrtime.bigint();
    await session.run({ rows: one }, [session.outputNames[0]]);
    seconds = Math.min(seconds, Number(process.hrtime.bigint() - start) * 1e-9);
  }
  fs.writeFileSync(answers, JSON.stringify({ outputs, seconds }));
  await session.release();
}

async function main() {
  ort.env.wasm.numThreads = 1;
  for (const job of JSON.parse(fs.readFileSync(process.argv[3], "utf8"))) {
    await answer(job);
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
