"use strict";
// One or several models with the same features, and something to make a row with: a canvas, or a slider a feature.
const page = (() => {
  const find = (selector) => document.querySelector(selector);
  const make = (kind, properties, parent) => parent.appendChild(Object.assign(document.createElement(kind), properties));
  const { models, image, low, high, names, start } = settings;
  const d = low.length;
  const row = Float64Array.from(start);
  let chosen = 0;
  let blank = false; // an empty canvas is no question

  // ---- the answer --------------------------------------------------------------------------------------------------

  const { task, classes } = models[0].model;
  const order = classes ? [...classes.keys()] : [];
  const shown = order.slice(0, 40);
  const bars = shown.map((c) => {
    make("span", { textContent: String(classes[c]) }, find(".bars"));
    return make("i", {}, make("div", {}, find(".bars")));
  });

  // How strongly each class is favoured, from 0 to 1: probabilities where the model has them; else what its pairs of
  // classes say on average, softly; else its scores, from the worst to the best.
  const soft = (value) => 1 / (1 + Math.exp(-2 * value));
  const strengths = ({ model, pairs }) => {
    if (model.predictProba) return model.predictProba([row])[0];
    const [values] = model.decisionValues([row]);
    const K = classes.length;
    if (pairs && K > 2) {
      const found = new Array(K).fill(0);
      let machine = 0;
      for (let i = 0; i < K; i++) {
        for (let j = i + 1; j < K; j++) {
          const first = soft(values[machine++]);
          found[i] += first / (K - 1);
          found[j] += (1 - first) / (K - 1);
        }
      }
      return found;
    }
    if (values.length === 1) return pairs ? [soft(values[0]), soft(-values[0])] : [soft(-values[0]), soft(values[0])];
    const [best, worst] = [Math.max(...values), Math.min(...values)];
    return Array.from(values, (value) => (best > worst ? (value - worst) / (best - worst) : 0));
  };

  // Batches double until one takes long enough for the clock: by then the compiler is through, too.
  const seconds = (model) => {
    for (let n = 8; ; n *= 2) {
      const since = performance.now();
      for (let i = 0; i < n; i++) model.predict([row]);
      const duration = performance.now() - since;
      if (duration > 3 && n >= 64) return duration / n / 1000;
    }
  };

  const answer = () => {
    const { model, bytes } = models[chosen];
    const label = model.predict([row])[0];
    const text = task === "regression" ? Number(label).toPrecision(5) : String(label);
    find(".answer").textContent = blank ? "–" : text;
    const strong = classes && !blank ? strengths(models[chosen]) : null;
    bars.forEach((bar, i) => { bar.style.width = strong ? `${(100 * strong[shown[i]]).toFixed(1)}%` : "0"; });
    const time = seconds(model) * 1e6;
    find("#facts").textContent =
      `${model.nVectors.toLocaleString("en")} vectors, ${bytes.toLocaleString("en")} bytes of numbers; ` +
      `${time.toLocaleString("en", { maximumSignificantDigits: 2 })} µs for one prediction, computed by ${model.engine}.`;
    return label;
  };

  // ---- a canvas ----------------------------------------------------------------------------------------------------

  // Strokes are drawn fine, then each pixel is the ink in its cell; the drawing is moved so that its middle is the
  // middle of the picture, as that of pictures in training is, most often.
  const drawCanvas = ([h, w]) => {
    const scale = Math.max(1, Math.round(320 / Math.max(h, w)));
    const canvas = make("canvas", { width: w * scale, height: h * scale }, find("#input"));
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Draw here with mouse or finger");
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    let last = null;
    const clear = () => {
      pen.fillStyle = "#000";
      pen.fillRect(0, 0, canvas.width, canvas.height);
      row.set(low);
      blank = true;
      answer();
    };
    const read = () => {
      const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
      let [ink, x, y] = [0, 0, 0];
      for (let i = 0; i < canvas.height; i++) {
        for (let j = 0; j < canvas.width; j++) {
          const v = data[4 * (i * canvas.width + j)];
          ink += v;
          y += v * i;
          x += v * j;
        }
      }
      blank = !ink;
      const [dx, dy] = ink ? [Math.round(x / ink - canvas.width / 2), Math.round(y / ink - canvas.height / 2)] : [0, 0];
      for (let r = 0; r < h; r++) {
        for (let c = 0; c < w; c++) {
          let sum = 0;
          for (let i = r * scale + dy; i < (r + 1) * scale + dy; i++) {
            for (let j = c * scale + dx; j < (c + 1) * scale + dx; j++) {
              if (i >= 0 && j >= 0 && i < canvas.height && j < canvas.width) sum += data[4 * (i * canvas.width + j)];
            }
          }
          const k = r * w + c;
          row[k] = low[k] + (high[k] - low[k]) * (sum / (255 * scale * scale));
        }
      }
      answer();
    };
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * canvas.width, ((event.clientY - box.top) / box.height) * canvas.height];
    };
    const stroke = (event) => {
      if (!last) return;
      const next = place(event);
      pen.strokeStyle = "#fff";
      pen.lineWidth = canvas.width / 8;
      pen.lineCap = "round";
      pen.beginPath();
      pen.moveTo(...last);
      pen.lineTo(...next);
      pen.stroke();
      last = next;
      read();
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      last = place(event);
      stroke(event);
    });
    canvas.addEventListener("pointermove", stroke);
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { last = null; });
    const button = make("button", { type: "button", textContent: "Clear" }, find("#input"));
    button.addEventListener("click", clear);
    clear();
  };

  // ---- sliders -----------------------------------------------------------------------------------------------------

  const showSliders = () => {
    const list = make("div", { className: "features" }, find("#input"));
    for (let k = 0; k < d; k++) {
      make("label", { textContent: names[k], htmlFor: `f${k}` }, list);
      const step = (high[k] - low[k]) / 200 || 1;
      const input = make("input", { type: "range", id: `f${k}`, min: low[k], max: high[k], step }, list);
      input.value = row[k];
      const text = make("span", { textContent: row[k].toPrecision(4) }, list);
      input.addEventListener("input", () => {
        row[k] = Number(input.value);
        text.textContent = row[k].toPrecision(4);
        answer();
      });
    }
    answer();
  };

  // ---- which model -------------------------------------------------------------------------------------------------

  if (models.length > 1) {
    const field = find("fieldset");
    field.hidden = false;
    models.forEach(({ name, model }, i) => {
      const label = make("label", {}, field);
      const radio = make("input", { type: "radio", name: "model", checked: i === 0 }, label);
      label.append(` ${name} (${model.nVectors.toLocaleString("en")} vectors)`);
      radio.addEventListener("change", () => { chosen = i; answer(); });
    });
  }
  find("#about").textContent = image
    ? "Draw, and fill the square: the model answers as you do. It is inside this page, and nothing leaves it."
    : "Move a feature: the model answers as you do. It is inside this page, and nothing leaves it.";
  if (image) drawCanvas(image);
  else showSliders();
  return { ask: (values) => { row.set(values); blank = false; return answer(); } };
})();
