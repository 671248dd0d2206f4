"use strict";

// What every model needs to predict. `create` below takes what svmpress wrote about one model: a header, its numbers,
// and the WebAssembly module, both in base64. Where WebAssembly with SIMD is not to be had, plain JavaScript computes.
//
// The arithmetic is in a file of its own for floats, floats.js, and for whole numbers, whole.js, of which a model gets
// the one that it needs. Each has startEngine(header, numbers, wasm), which returns
//
//     name, batch    what computes, "wasm" or "javascript", and how many rows at a time
//     load           (i, [array, from], slot): reads row i into that place of the batch
//     compute        (n): fills f for the first n rows, stride numbers each: their decision values in units of `unit`
//     decode         what it decodes in another way than `decoders` below

const decodeBase64 = (text) => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

// The model's arrays by name. An entry of the header is {type, offset, length}: the kind of number, the first byte, and
// how many; offsets are multiples of 8. Of numbers of 4 bits there are two to a byte, the first in its low half.
const readNumbers = (header, text) => {
  const kinds = {
    float32: Float32Array,
    float64: Float64Array,
    int8: Int8Array,
    int16: Int16Array,
    int32: Int32Array,
    uint8: Uint8Array,
    uint16: Uint16Array,
  };
  const { buffer } = decodeBase64(text);
  const halves = (offset, length) => {
    const bytes = new Uint8Array(buffer, offset, (length + 1) >> 1);
    return Uint8Array.from({ length }, (_, k) => (bytes[k >> 1] >> (4 * (k & 1))) & 15);
  };
  const numbers = {};
  for (const [name, { type, offset, length }] of Object.entries(header.numbers)) {
    numbers[name] = type === "uint4" ? halves(offset, length) : new kinds[type](buffer, offset, length);
  }
  return numbers;
};

const dot = (a, from, b, start, length) => {
  let sum = 0;
  for (let k = 0; k < length; k++) sum += a[from + k] * b[start + k];
  return sum;
};

// ---- rows ------------------------------------------------------------------------------------------------------------

const isList = (a) => Array.isArray(a) || (ArrayBuffer.isView(a) && !(a instanceof DataView));

// Rows as {n, at}, where at(i) is the array that holds row i and where in it the row begins.
const tableOf = (rows, d) => {
  const shape = `rows are an array of rows of ${d} numbers each, or one flat array of all their numbers`;
  if (!isList(rows)) throw new TypeError(`${shape}; this is ${rows === null ? "null" : typeof rows}`);
  if (rows.length === 0) return { n: 0 };
  if (!ArrayBuffer.isView(rows) && isList(rows[0])) {
    const at = (i) => {
      if (!isList(rows[i])) throw new TypeError(`row ${i} is no array; ${shape}`);
      if (rows[i].length !== d) throw new RangeError(`row ${i} has ${rows[i].length} numbers; the model needs ${d}`);
      return [rows[i], 0];
    };
    return { n: rows.length, at };
  }
  if (rows.length % d !== 0) {
    throw new RangeError(`${rows.length} numbers are no whole number of rows of ${d}; ${shape}`);
  }
  return { n: rows.length / d, at: (i) => [rows, i * d] };
};

const refuse = (i, k, value, needed = "finite numbers that the model's precision can hold") => {
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw new RangeError(`row ${i}, feature ${k} is ${shown}; features are ${needed}`);
};

// ---- decoders: from the M decision values at F[at], ... to a score, and to the place of a class --------------------------

const firstLargest = (a, at, n) => {
  let best = 0;
  for (let c = 1; c < n; c++) if (a[at + c] > a[at + best]) best = c;
  return best;
};

const votesOf = (K, F, at, wins) => {
  const votes = new Float64Array(K);
  for (let i = 0, pair = at; i < K; i++) for (let j = i + 1; j < K; j++) votes[wins(F[pair++]) ? i : j]++;
  return votes;
};

// Votes, and the summed confidences squashed into (-1/3, 1/3), so that they decide between equal votes only. An exact
// zero counts for the first class of a pair here, and for the second in plain votes, as in scikit-learn and LibSVM.
const votesWithConfidence = (K, F, at) => {
  const votes = votesOf(K, F, at, (value) => value >= 0);
  const confidence = new Float64Array(K);
  for (let i = 0, pair = at; i < K; i++) {
    for (let j = i + 1; j < K; j++, pair++) {
      confidence[i] += F[pair];
      confidence[j] -= F[pair];
    }
  }
  return votes.map((v, c) => v + confidence[c] / (3 * (Math.abs(confidence[c]) + 1)));
};

const eliminate = (K, F, at) => {
  const pair = (i, j) => i * K - (i * (i + 1)) / 2 + j - i - 1;
  let [low, high] = [0, K - 1];
  while (low < high) {
    if (F[at + pair(low, high)] > 0) high--;
    else low++;
  }
  return low;
};

const decoders = {
  Identity: () => ({}),
  Sign: ({ zeroClass }) => ({ place: (F, at) => Number(zeroClass === 1 ? F[at] >= 0 : F[at] > 0) }),
  Argmax: ({ classes }) => ({ place: (F, at) => firstLargest(F, at, classes.length) }),
  PairDAG: ({ classes }) => ({ place: (F, at) => eliminate(classes.length, F, at) }),
  PairVote: ({ classes, shape, breakTies }) => {
    const K = classes.length;
    const full = (F, at) => votesWithConfidence(K, F, at);
    const votes = (F, at) => (breakTies ? full(F, at) : votesOf(K, F, at, (value) => value > 0));
    const score = K === 2 ? (F, at) => full(F, at).slice(1) : full;
    return { score: shape === "ovr" ? score : undefined, place: (F, at) => firstLargest(votes(F, at), 0, K) };
  },
};

// ---- probabilities, as LibSVM computes them ---------------------------------------------------------------------------------

// P(first class of the pair) for a decision value in LibSVM's sign.
const pairProbability = (value, A, B) => {
  const s = value * A + B;
  const p = s >= 0 ? Math.exp(-s) / (1 + Math.exp(-s)) : 1 / (1 + Math.exp(s));
  return Math.min(Math.max(p, 1e-7), 1 - 1e-7);
};

// Wu, Lin and Weng (2004), second approach: minimise sum (r_ji p_i - r_ij p_j)^2 over probabilities p.
const couple = (K, r) => {
  const Q = Array.from({ length: K }, (_, t) => {
    const row = Float64Array.from({ length: K }, (_, j) => (j === t ? 0 : -r[j][t] * r[t][j]));
    for (let j = 0; j < K; j++) if (j !== t) row[t] += r[j][t] * r[j][t];
    return row;
  });
  const p = new Float64Array(K).fill(1 / K);
  for (let round = 0; round < Math.max(100, K); round++) {
    const Qp = Q.map((row) => dot(row, 0, p, 0, K));
    let pQp = dot(p, 0, Qp, 0, K);
    if (Math.max(...Qp.map((value) => Math.abs(value - pQp))) < 0.005 / K) break;
    for (let t = 0; t < K; t++) {
      const change = (pQp - Qp[t]) / Q[t][t];
      p[t] += change;
      pQp = (pQp + change * (change * Q[t][t] + 2 * Qp[t])) / (1 + change) ** 2;
      for (let j = 0; j < K; j++) {
        Qp[j] = (Qp[j] + change * Q[t][j]) / (1 + change);
        p[j] /= 1 + change;
      }
    }
  }
  return p;
};

const probabilitiesOf = (header, { probA, probB }) => {
  const K = header.decoder.classes.length;
  const sign = header.decoder.name === "Sign" ? -1 : 1; // a positive value means the second of two classes there
  return (F, at) => {
    const r = Array.from({ length: K }, () => new Float64Array(K));
    for (let i = 0, pair = 0; i < K; i++) {
      for (let j = i + 1; j < K; j++, pair++) {
        r[i][j] = pairProbability(sign * F[at + pair], probA[pair], probB[pair]);
        r[j][i] = 1 - r[i][j];
      }
    }
    return K === 2 ? Float64Array.of(r[0][1], r[1][0]) : couple(K, r);
  };
};

// ---- the model ---------------------------------------------------------------------------------------------------------------

const create = (header, text, wasm) => {
  const numbers = readNumbers(header, text);
  const engine = startEngine(header, numbers, wasm);
  const { features: d, outputs: M, decoder } = header;
  const decode = { ...decoders[decoder.name](decoder), ...engine.decode };

  // Calls use(F, at, i) for each row, whose decision values begin at F[at].
  const run = (rows, use) => {
    const { n, at } = tableOf(rows, d);
    for (let start = 0; start < n; start += engine.batch) {
      const count = Math.min(engine.batch, n - start);
      for (let i = 0; i < count; i++) engine.load(start + i, at(start + i), i);
      engine.compute(count);
      for (let i = 0; i < count; i++) {
        const begin = i * engine.stride;
        for (let o = 0; o < M; o++) {
          if (!Number.isFinite(engine.f[begin + o])) {
            throw new RangeError(`row ${start + i}: the decision values overflow or are undefined; are its features too large?`);
          }
        }
        use(engine.f, begin, start + i);
      }
    }
    return n;
  };

  // One number a row as one typed array, several as an array of typed arrays.
  const collect = (rows, score, single) => {
    const out = [];
    run(rows, (F, at) => out.push(score(F, at)));
    return single ? Float64Array.from(out, ([value]) => value) : out;
  };

  const raw = (F, at) => Float64Array.from(F.subarray(at, at + M), (value) => value * engine.unit);
  const decisionValues = (rows) => collect(rows, raw, false);
  const score = decode.score ? (F, at) => decode.score(raw(F, at), 0) : raw;
  const single = M === 1 && (decoder.name === "Sign" || decoder.name === "Identity" || decode.score !== undefined);
  const decisionFunction = (rows) => collect(rows, score, single);
  const predict = (rows) => {
    if (!decode.place) return decisionFunction(rows);
    const labels = [];
    run(rows, (F, at) => labels.push(decoder.classes[decode.place(F, at)]));
    return labels;
  };
  const model = {
    predict,
    decisionFunction,
    decisionValues,
    classes: decoder.classes ? Object.freeze([...decoder.classes]) : null,
    task: header.task,
    nFeatures: d,
    nVectors: header.count,
    engine: engine.name,
  };
  if (numbers.probA) {
    const probabilities = probabilitiesOf(header, numbers);
    model.predictProba = (rows) => collect(rows, probabilities, false);
  }
  return Object.freeze(model);
};
