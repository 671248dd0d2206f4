// ---- whole numbers: the steps of the C code for devices, and of the library's emulator, with the same results ------------

// A row becomes levels u: bytes as they are, or (x - shift) factor in float32, cut; of images, means of squares of pixels.
const levelsOf = (header, numbers) => {
  const { features, levels: d, bytes, pooling, top } = header;
  const { kept, shift, factor } = numbers;
  const seen = new Float64Array(pooling ? features / pooling.size ** 2 : features);
  const read = ([row, from], i) => {
    for (let k = 0; k < features; k++) {
      const value = row[from + k];
      if (typeof value !== "number" || !Number.isFinite(value)) refuse(i, k, value, "finite numbers");
      if (bytes && !(value >= 0 && value <= 255 && Number.isInteger(value))) {
        refuse(i, k, value, "whole numbers from 0 to 255");
      }
      if (!pooling) seen[k] = value;
    }
    if (pooling) pool(row, from);
  };
  const pool = (row, from) => {
    const { width, size } = pooling;
    const across = width / size;
    for (let p = 0; p < seen.length; p++) {
      const first = from + Math.floor(p / across) * size * width + (p % across) * size;
      let sum = size ** 2 >> 1;
      for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) sum += row[first + y * width + x];
      seen[p] = Math.floor(sum / size ** 2);
    }
  };
  const { fround, trunc, min } = Math;
  return (i, row, u, to) => {
    read(row, i);
    for (let k = 0; k < d; k++) {
      const value = seen[kept ? kept[k] : k];
      const t = shift ? fround(fround(fround(value) - shift[k]) * factor[k]) : value;
      u[to + k] = !shift ? value : t > 0 ? trunc(min(t, top)) : 0;
    }
  };
};

// A row's part of P: of a squared distance, or of a product.
const rowPartOf = ({ stage, levels, offset, zero }) => (u, at) => {
  let [sum, squares] = [0, 0];
  for (let k = at; k < at + levels; k++) {
    sum += u[k];
    squares += u[k] * u[k];
  }
  return stage.name === "halvings" ? squares - 2 * offset * sum : (offset - zero) * sum;
};

// 2^-u at u = 0, 1/32, ..., 1 in units of 1/32767.
const halvings = Uint16Array.from({ length: 33 }, (_, i) => Math.round(32767 * 2 ** (-i / 32)));

// From P to kernel values. Products can exceed 32 bits, so they are divided and not shifted.
const kernelOf = ({ stage: { name, down, factor, shift, last, degree } }) => {
  const shifted = (value, bits) => Math.floor(value / 2 ** bits);
  if (name === "halvings") {
    return (P) => {
      const d = shifted(P, down);
      if (d > last) return 0;
      const t = shifted(d * factor, shift);
      const [i, r] = [(t >> 7) & 31, t & 127];
      return (halvings[i] - (((halvings[i] - halvings[i + 1]) * r) >> 7)) >> (t >> 12);
    };
  }
  return (P) => {
    const s = Math.max(-32767, Math.min(32767, shifted(shifted(P, down) * factor + last, shift)));
    let k = s;
    for (let power = 1; power < degree; power++) k = (k * s) >> 15;
    return k;
  };
};

// A matrix (rows, columns) of 16-bit numbers as panels of four columns, each stored by pairs of rows; see whole.c.
const packPairs = (target, rows, columns, element) => {
  const pairs = (rows + 1) >> 1;
  for (let c = 0; c < columns; c++) {
    for (let r = 0; r < rows; r++) {
      target[(((c >> 2) * pairs + (r >> 1)) * 4 + (c & 3)) * 2 + (r & 1)] = element(r, c);
    }
  }
};

const wasmEngine = (header, numbers, wasm) => {
  const { levels: d, vectors: m, outputs: M, scale, stage } = header;
  const up = (n, to) => Math.ceil(n / to) * to;
  const [pairs, wide] = [up(d, 2) / 2, up(M, 4)];
  const batch = Math.max(4, Math.min(64, Math.floor(16384 / d)));
  const layout = {
    intercept: [Float64Array, wide],
    f: [Float64Array, batch * wide],
    x: [Int16Array, batch * 2 * pairs],
    row: [Int32Array, batch],
    vectors: [Int16Array, up(m, 4) * 2 * pairs],
    norm: [Int32Array, up(m, 4)],
    table: [Uint16Array, halvings.length],
    k: [Int16Array, up(m, 4)],
    coef: [Int16Array, wide * up(m, 2)],
  };
  const bytes = ([kind, size]) => up(size * kind.BYTES_PER_ELEMENT, 16);
  const total = Object.values(layout).reduce((sum, part) => sum + bytes(part), 0);
  const { memory, values } = new WebAssembly.Instance(new WebAssembly.Module(decodeBase64(wasm))).exports;
  let place = memory.grow(Math.ceil(total / 65536)) * 65536;
  const parts = {};
  for (const [name, part] of Object.entries(layout)) {
    parts[name] = new part[0](memory.buffer, place, part[1]);
    place += bytes(part);
  }
  packPairs(parts.vectors, d, m, (k, j) => numbers.vectors[j * d + k]);
  packPairs(parts.coef, m, M, (j, o) => numbers.coef[j * M + o]);
  parts.norm.set(Array.from(numbers.norms, (norm) => norm << stage.down));
  parts.table.set(halvings);
  parts.intercept.set(numbers.intercept);
  const at = ["x", "row", "vectors", "norm", "table", "k", "coef", "intercept", "f"].map((n) => parts[n].byteOffset);
  const steps = [stage.degree, stage.down, stage.factor, stage.shift, stage.last, scale];
  const compute = (n) => values(n, pairs, m, M, ...steps, ...at);
  return { name: "wasm", batch, x: parts.x, row: parts.row, width: 2 * pairs, f: parts.f, stride: wide, compute };
};

const plainEngine = (header, numbers) => {
  const { levels: d, vectors: m, outputs: M, scale, stage } = header;
  const [x, row, f] = [new Float64Array(d), new Float64Array(1), new Float64Array(M)];
  const [W, C, norm] = [Float64Array.from(numbers.vectors), numbers.coef, numbers.norms];
  const kernel = kernelOf(header);
  const compute = () => {
    f.set(numbers.intercept);
    for (let j = 0; j < m; j++) {
      const k = kernel(row[0] + norm[j] * 2 ** stage.down + scale * dot(x, 0, W, j * d, d));
      if (k !== 0) for (let o = 0; o < M; o++) f[o] += k * C[j * M + o];
    }
  };
  return { name: "javascript", batch: 1, x, row, width: d, f, stride: M, compute };
};

// Of equal votes the larger sum of values decides, which in whole numbers is exact.
const placeBySums = ({ classes: { length: K } }) => (F, at) => {
  const votes = votesOf(K, F, at, (value) => value >= 0);
  const sums = new Float64Array(K);
  for (let i = 0, pair = at; i < K; i++) {
    for (let j = i + 1; j < K; j++, pair++) {
      sums[i] += F[pair];
      sums[j] -= F[pair];
    }
  }
  let best = 0;
  for (let c = 1; c < K; c++) {
    if (votes[c] > votes[best] || (votes[c] === votes[best] && sums[c] > sums[best])) best = c;
  }
  return best;
};

const startEngine = (header, numbers, wasm) => {
  const start = () => {
    try {
      return wasmEngine(header, numbers, wasm);
    } catch {
      return plainEngine(header, numbers); // no WebAssembly, no SIMD, a policy of the page against it, or no memory
    }
  };
  const engine = start();
  const [read, rowPart] = [levelsOf(header, numbers), rowPartOf(header)];
  const load = (i, row, slot) => {
    read(i, row, engine.x, slot * engine.width);
    engine.row[slot] = rowPart(engine.x, slot * engine.width);
  };
  const decode = header.decoder.breakTies ? { place: placeBySums(header.decoder) } : {};
  return { ...engine, load, decode, unit: header.unit };
};
