// node exports_web.mjs KIND MODEL ROWS FEATURES ROUNDS: how long one contender takes in node, and its labels, as JSON.
// KIND is wasm, javascript, or the address of the module of onnxruntime-web.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [kind, path, file, features, rounds] = process.argv.slice(2);
const bytes = readFileSync(file);
const rows = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const d = Number(features);
const n = rows.length / d;
const BATCH = 1000;
const SINGLE = 1000;

// Returns what computes the answers for rows `from` to `to`; a promise, as onnxruntime-web knows nothing else.
const load = async () => {
  if (kind === "javascript") globalThis.WebAssembly = undefined;
  if (kind === "javascript" || kind === "wasm") {
    const { default: model } = await import(pathToFileURL(path));
    if (model.engine !== kind) throw new Error(`computed by ${model.engine}`);
    return { wait: false, call: (from, to) => model.predict(rows.subarray(from * d, to * d)) };
  }
  const ort = await import(kind);
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(path)), { executionProviders: ["wasm"] });
  const call = async (from, to) => {
    const input = new ort.Tensor("float32", rows.subarray(from * d, to * d), [to - from, d]);
    const { values } = await session.run({ rows: input });
    return values.data;
  };
  return { wait: true, call };
};

const begun = performance.now();
const { wait, call } = await load();
const first = call(0, 1);
if (wait) await first;
const start = performance.now() - begun;

const best = { batch: Infinity, single: Infinity };
for (let round = 0; round < Number(rounds); round++) {
  let t = performance.now();
  for (let i = 0; i + BATCH <= n; i += BATCH) {
    const answers = call(i, i + BATCH);
    if (wait) await answers;
  }
  best.batch = Math.min(best.batch, (performance.now() - t) / (BATCH * Math.floor(n / BATCH)));
  t = performance.now();
  for (let i = 0; i < SINGLE; i++) {
    const answers = call(i, i + 1);
    if (wait) await answers;
  }
  best.single = Math.min(best.single, (performance.now() - t) / SINGLE);
}
const answers = Array.from(await call(0, n));
process.stdout.write(JSON.stringify({ start, ...best, answers, node: process.version }));
