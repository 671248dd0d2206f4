// ---- floats: f = k(x, V) A + b, in float32 by WebAssembly, in double precision by plain JavaScript ------------------------

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


const startEngine = (header, numbers, wasm) => {
  const plan = planKernel(header, numbers);
  const start = () => {
    if (header.precision === "float32") {
      try {
        return wasmEngine(header, numbers, plan, wasm);
      } catch {
        // no WebAssembly, no SIMD, a policy of the page against it, or too little memory
      }
    }
    return plainEngine(header, numbers, plan);
  };
  const engine = start();
  const readRow = readerOf(header, numbers);
  const load = (i, row, slot) => {
    const half = readRow(i, row, engine.x, slot * header.features);
    engine.norm[slot] = plan.name === "rbf" ? half : 0;
  };
  return { ...engine, load, unit: 1 };
};
