"use strict";

// What every model needs to predict. `create` below takes what svmpress wrote about one model: a header, its numbers,
// and the WebAssembly module, both in base64. Where WebAssembly with SIMD is not to be had, plain JavaScript computes.

const decodeBase64 = (text) => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

// The model's arrays by name. An entry of the header is {type, offset, length}: the kind of number, the first byte, and
// how many; offsets are multiples of 8.
const readNumbers = (header, text) => {
  const kinds = { float32: Float32Array, float64: Float64Array };
  const { buffer } = decodeBase64(text);
  const numbers = {};
  for (const [name, { type, offset, length }] of Object.entries(header.numbers)) {
    numbers[name] = new kinds[type](buffer, offset, length);
  }
  return numbers;
};

const dot = (a, from, b, start, length) => {
  let sum = 0;
  for (let k = 0; k < length; k++) sum += a[from + k] * b[start + k];
  return sum;
};

// k = phi(scale (t - norm) + shift), where t is a sum over features that starts at offset[j], and norm is |x|^2/2 for
// RBF and 0 for others.
const planKernel = (header, numbers) => {
  const { name, gamma = 1, coef0 = 0, degree = 1 } = header.kernel;
  const { features: d, vectors: m } = header;
  const { vectors } = numbers;
  const codes = { rbf: 0, laplacian: 1, chi2: 2, sigmoid: 3, poly: 4, linear: 5 };
  const exponential = gamma * Math.LOG2E;
  const [scale, shift] = {
    rbf: [2 * exponential, 0],
    laplacian: [-exponential, 0],
    chi2: [-exponential, 0],
    sigmoid: [2 * exponential, 2 * coef0 * Math.LOG2E],
    poly: [gamma, coef0],
    linear: [1, 0],
  }[name];
  const offset = new Float64Array(m);
  for (let j = 0; j < m; j++) {
    if (name === "rbf") offset[j] = -dot(vectors, j * d, vectors, j * d, d) / 2;
    if (name === "linear") offset[j] = numbers.intercept[j];
  }
  return { name, code: codes[name], scale, shift, degree, offset };
};

// ---- engines: both have a row buffer `x` for `batch` rows, and fill `f` with their decision values ----------------

// A matrix (rows, columns), given by its element function, as panels of four columns, each stored row by row.
const packPanels = (target, rows, columns, element) => {
  for (let c = 0; c < columns; c++) {
    for (let r = 0; r < rows; r++) target[((c >> 2) * rows + r) * 4 + (c & 3)] = element(r, c);
  }
};

const wasmEngine = (header, numbers, plan, wasm) => {
  const { features: d, vectors: m, outputs: M } = header;
  const up = (n) => (n + 3) & ~3;
  const batch = Math.max(4, Math.min(64, up(16384 / d)));
  const sizes = {
    vectors: up(m) * d,
    offset: up(m),
    coef: m * up(M),
    intercept: up(M),
    norm: batch,
    x: batch * d,
    k: batch * up(m),
    f: batch * up(M),
  };
  const total = Object.values(sizes).reduce((sum, size) => sum + 4 * up(size), 0);
  const module = new WebAssembly.Module(decodeBase64(wasm));
  const { memory, values } = new WebAssembly.Instance(module, { env: { pow: Math.pow } }).exports;
  let place = memory.grow(Math.ceil(total / 65536)) * 65536;
  const parts = {};
  for (const [name, size] of Object.entries(sizes)) {
    parts[name] = new Float32Array(memory.buffer, place, size);
    place += 4 * up(size);
  }
  packPanels(parts.vectors, d, m, (k, j) => numbers.vectors[j * d + k]);
  if (numbers.coef) packPanels(parts.coef, m, M, (j, o) => numbers.coef[j * M + o]);
  parts.offset.set(plan.offset);
  parts.intercept.set(numbers.intercept);
  const at = (name) => parts[name].byteOffset;
  const pointers = ["x", "norm", "vectors", "offset", "k", "coef", "intercept", "f"].map(at);
  const compute = (n) => values(n, d, m, M, plan.code, plan.scale, plan.shift, plan.degree, ...pointers);
  return { name: "wasm", batch, x: parts.x, norm: parts.norm, f: parts.f, stride: up(M), compute };
};

const phi = {
  rbf: (s) => Math.exp(Math.LN2 * Math.min(s, 0)),
  laplacian: (s) => Math.exp(Math.LN2 * s),
  chi2: (s) => Math.exp(Math.LN2 * s),
  sigmoid: (s) => Math.tanh((Math.LN2 / 2) * s),
  poly: (s, degree) => s ** degree,
};

// t[j] = offset[j] + x.v_j. Four vectors at a time, whose sums do not wait for each other.
const sumProducts = (x, V, d, m, offset, t) => {
  let j = 0;
  for (; j + 4 <= m; j += 4) {
    const b = j * d;
    let [s0, s1, s2, s3] = [offset[j], offset[j + 1], offset[j + 2], offset[j + 3]];
    for (let k = 0; k < d; k++) {
      const v = x[k];
      s0 += v * V[b + k];
      s1 += v * V[b + d + k];
      s2 += v * V[b + 2 * d + k];
      s3 += v * V[b + 3 * d + k];
    }
    [t[j], t[j + 1], t[j + 2], t[j + 3]] = [s0, s1, s2, s3];
  }
  for (; j < m; j++) t[j] = offset[j] + dot(x, 0, V, j * d, d);
};

const sumDistances = (x, V, d, m, offset, t, squared) => {
  for (let j = 0; j < m; j++) {
    let sum = 0;
    for (let k = 0; k < d; k++) {
      const difference = x[k] - V[j * d + k];
      const total = x[k] + V[j * d + k];
      if (!squared) sum += Math.abs(difference);
      else if (total > 0) sum += (difference * difference) / total;
    }
    t[j] = sum;
  }
};

const plainEngine = (header, numbers, plan) => {
  const { features: d, vectors: m, outputs: M } = header;
  const [x, norm, t] = [new Float64Array(d), new Float64Array(1), new Float64Array(m)];
  const [V, A] = [Float64Array.from(numbers.vectors), numbers.coef];
  const f = A ? new Float64Array(M) : t;
  const apart = plan.name === "laplacian" || plan.name === "chi2";
  const sum = apart ? sumDistances : sumProducts;
  const { scale, shift, degree, offset } = plan;
  const compute = () => {
    sum(x, V, d, m, offset, t, plan.name === "chi2");
    if (!A) return;
    f.set(numbers.intercept);
    for (let j = 0; j < m; j++) {
      const k = phi[plan.name](scale * (t[j] - norm[0]) + shift, degree);
      for (let o = 0; o < M; o++) f[o] += k * A[j * M + o];
    }
  };
  return { name: "javascript", batch: 1, x, norm, f, stride: M, compute };
};

const startEngine = (header, numbers, plan, wasm) => {
  if (header.precision === "float32") {
    try {
      return wasmEngine(header, numbers, plan, wasm);
    } catch {
      // no WebAssembly, no SIMD, a policy of the page against it, or too little memory
    }
  }
  return plainEngine(header, numbers, plan);
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

const refuse = (i, k, value) => {
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw new RangeError(`row ${i}, feature ${k} is ${shown}; features are finite numbers that the model's precision can hold`);
};

// Reads row i into x at `to`, scaled and centred, and returns |x|^2/2.
const readerOf = (header, numbers) => {
  const { features: d } = header;
  const shift = numbers.shift ?? new Float64Array(d);
  const factor = numbers.factor ?? new Float64Array(d).fill(1);
  const centre = Float64Array.from(numbers.centre ?? new Float64Array(d));
  const isChi = header.kernel.name === "chi2";
  return (i, [row, from], x, to) => {
    let sum = 0;
    let least = 0;
    for (let k = 0; k < d; k++) {
      const value = row[from + k];
      if (typeof value !== "number") refuse(i, k, value);
      x[to + k] = (value - shift[k]) * factor[k] - centre[k];
      const v = x[to + k];
      sum += v * v;
      if (v < least) least = v;
    }
    if (!(sum < Infinity)) {
      for (let k = 0; k < d; k++) if (!Number.isFinite(x[to + k])) refuse(i, k, row[from + k]);
    }
    if (isChi && least < 0) {
      throw new RangeError(`row ${i} has a negative feature; the chi-squared kernel needs features of at least 0`);
    }
    return sum / 2;
  };
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
  const engine = startEngine(header, numbers, planKernel(header, numbers), wasm);
  const { features: d, outputs: M, decoder } = header;
  const readRow = readerOf(header, numbers);
  const decode = decoders[decoder.name](decoder);
  const isRbf = header.kernel.name === "rbf";

  // Calls use(F, at, i) for each row, whose decision values begin at F[at].
  const run = (rows, use) => {
    const { n, at } = tableOf(rows, d);
    for (let start = 0; start < n; start += engine.batch) {
      const count = Math.min(engine.batch, n - start);
      for (let i = 0; i < count; i++) {
        const half = readRow(start + i, at(start + i), engine.x, i * d);
        engine.norm[i] = isRbf ? half : 0;
      }
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

  const raw = (F, at) => Float64Array.from(F.subarray(at, at + M));
  const decisionValues = (rows) => collect(rows, raw, false);
  const score = decode.score ?? raw;
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
