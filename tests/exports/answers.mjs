// node answers.mjs MODULE ROWS ENGINE: what a web model says of the rows in a file of doubles, as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [path, file, engine] = process.argv.slice(2);
if (engine === "javascript") globalThis.WebAssembly = undefined;
const { default: model } = await import(pathToFileURL(path));
const bytes = readFileSync(file);
const rows = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const plain = (list) => Array.from(list, (item) => (ArrayBuffer.isView(item) ? Array.from(item) : item));
const answers = {
  engine: model.engine,
  labels: plain(model.predict(rows)),
  scores: plain(model.decisionFunction(rows)),
  values: plain(model.decisionValues(rows)),
  probabilities: model.predictProba ? plain(model.predictProba(rows)) : null,
};
process.stdout.write(JSON.stringify(answers));
