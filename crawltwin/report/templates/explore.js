(() => {
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const policies = data.policies;
const byId = (id) => document.getElementById(id);
const weightInputs = [...document.querySelectorAll("[data-weight]")];
const limitInputs = [...document.querySelectorAll("[data-limit]")];
const sliders = [...document.querySelectorAll("[data-slider]")];
const show = (value, digits = 4) => {
  if (value === null || !Number.isFinite(value)) return "–";
  return String(Number(value.toPrecision(digits)));
};
policies.forEach((policy) => { policy.base = policy.m; });
const value = (policy, key) => (key === "indexed" ?
  (value(policy, "arrival_rate") - value(policy, "loss_rate") - value(policy, "obsolete_rate")) / data.indexedToday :
  policy.m[data.keys.indexOf(key)]);
// What people read and type is in the unit of the label; shares are in percent.
const factors = (key) => data.factors[key] ?? 1;
const amount = (policy, key) => (value(policy, key) === null ? null : value(policy, key) * factors(key));
const speeds = [...document.querySelectorAll("[data-speed]")];
const planned = () => speeds.every((field) => field.value === "1");
const enterWorld = () => {
  const world = data.worlds[speeds.map((field) => field.value).join(" ")];
  policies.forEach((policy, at) => { policy.m = world ? world[at] : policy.base; });
};
const cost = (policy, w) => {
  const response = value(policy, "response");
  return w.loss * value(policy, "loss_rate") + w.obsolescence * value(policy, "obsolete_rate") +
    (w.response === 0 ? 0 : w.response * (response === null ? Infinity : response)) +
    w.robots * value(policy, "robots") + w.starvation * value(policy, "idle");
};
// A field that is empty counts as not set; one that holds no number from 0 up is refused, never read as 0.
const refused = (input) => input.validity.badInput ||
  (input.value.trim() !== "" && !(Number(input.value) >= 0 && Number(input.value) <= 1e100));
const read = (input, fallback) => (input.value.trim() === "" ? fallback : Number(input.value));
// A box shows six digits; as long as it is not touched, every bit of the plan's own number counts.
const untouched = (i, own) => i.value !== "" && i.value === i.defaultValue && typeof own === "number";
const exact = (i, own, fallback) => (untouched(i, own) ? own : read(i, fallback));
const weights = () => Object.fromEntries(weightInputs.map((i) =>
  [i.dataset.weight, exact(i, data.weights[i.dataset.weight], 0)]));
const limit = (i, key) => (untouched(i, data.bounds[key]) ? data.bounds[key] : i.value.trim() === "" ? null : Number(i.value) / factors(key));
const limits = () => limitInputs.map((i) => [i.dataset.limit, limit(i, i.dataset.limit)]).filter(([, v]) => v !== null);
// How far a policy exceeds the limits, relative to them, as the plan counts it; at most 0 where it keeps all of them.
const excess = (policy, bounds) => Math.max(-1, ...bounds.map(([key, bound]) => {
  const own = value(policy, key);
  if (key === "indexed") return bound - own;
  return own === null ? Infinity : (own - bound) / Math.max(bound, 1e-12);
}));
const within = (policy, bounds) => excess(policy, bounds) <= 0;
// The middle of a slider is the plan's weight; each quarter is a factor of ten; the left end is zero.
const factor = (position) => (position === 0 ? 0 : 10 ** ((position - 50) / 25));
const position = (ratio) => (ratio <= 0 ? 0 : Math.min(100, Math.max(1, Math.round(50 + 25 * Math.log10(ratio)))));
const base = (key) => (data.weights[key] > 0 ? data.weights[key] : 1);

const front = (items) => {
  const vectors = items.map((p) => data.criteria.map((key) => value(p, key) ?? Infinity));
  return items.filter((_, i) => !vectors.some((other, j) => j !== i &&
    other.every((x, k) => x <= vectors[i][k]) && other.some((x, k) => x < vectors[i][k])));
};
const svg = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, own] of Object.entries(attributes)) element.setAttribute(name, own);
  if (text !== undefined) element.textContent = text;
  return element;
};
const ticks = (low, high) => {
  const span = high - low || 1;
  const step = 10 ** Math.floor(Math.log10(span / 4));
  const width = [1, 2, 5, 10].map((k) => k * step).find((k) => span / k <= 5);
  const found = [];
  for (let t = Math.ceil(low / width) * width; t <= high + 1e-9 * span; t += width) found.push(Number(t.toPrecision(12)));
  return found;
};
// On a narrow screen a picture is drawn narrower, not smaller, so that its letters stay as large as the text.
const begin = (id, title, words) => {
  const box = byId(id);
  box.wide = Math.min(640, Math.max(320, box.clientWidth || 640));
  box.setAttribute("viewBox", `0 0 ${box.wide} ${box.viewBox.baseVal.height}`);
  box.replaceChildren(svg("title", { id: `${id}-title` }, title), svg("desc", { id: `${id}-told` }, words));
  return box;
};

const drawLevels = (policy) => {
  const masses = planned() ? policy.l : null;
  if (!masses) {
    const box = begin("levels", "Backlog", "The distribution of the backlog is not embedded here.");
    box.append(svg("text", { x: 20, y: 40 }, "Not embedded here: crawltwin solve --levels shows it."));
    return;
  }
  const peak = Math.max(...masses);
  const most = masses.indexOf(peak);
  const box = begin("levels", `Backlog under the policy ${policy.n}`,
    `Most often ${most} pages are in the system, ${show(100 * peak, 3)} percent of the time; ` +
    `it is full ${show(100 * masses[masses.length - 1], 3)} percent of the time.`);
  const left = 56, right = box.wide - 10, bottom = 216, wide = (right - left) / masses.length;
  const robots = [...new Set(policy.t)].sort((a, b) => b - a);
  const inRow = Math.floor((right - left) / 80), top = 12 + 18 * Math.ceil(robots.length / inRow);
  for (const t of ticks(0, peak)) {
    const y = bottom - (t / peak) * (bottom - top);
    box.append(svg("line", { class: "axis", x1: left, x2: right, y1: y, y2: y, opacity: 0.35 }));
    box.append(svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, `${show(100 * t, 3)}%`));
  }
  masses.forEach((mass, level) => {
    const running = policy.t[Math.min(level, policy.t.length - 1)];
    const height = (mass / peak) * (bottom - top);
    box.append(svg("rect", { class: `bar${robots.indexOf(running) % 6}`, x: left + level * wide + 1, y: bottom - height,
      width: Math.max(1, wide - 2), height }));
    if (level % Math.ceil((24 * masses.length) / (right - left)) === 0)
      box.append(svg("text", { x: left + (level + 0.5) * wide, y: bottom + 16, "text-anchor": "middle" }, String(level)));
  });
  robots.forEach((number, index) => {
    const x = left + 80 * (index % inRow), y = 4 + 18 * Math.floor(index / inRow);
    box.append(svg("rect", { class: `bar${index % 6}`, x, y, width: 12, height: 12 }));
    box.append(svg("text", { x: x + 16, y: y + 11 }, `${number} robot${number === 1 ? "" : "s"}`));
  });
  box.append(svg("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle" }, "pages in the system"));
};

const drawFront = (all, best, items, kept) => {
  const kx = byId("axis-x").value, ky = byId("axis-y").value;
  const words = Object.fromEntries([...byId("axis-x").options].map((one) => [one.value, one.textContent]));
  const box = begin("front", `${words[ky]} over ${words[kx]}`,
    (kept ? `${items.length} policies on the front of ${all.length}; the best one now has ` :
      "No policy keeps the limits; the nearest one has ") +
      `${words[kx]} ${show(amount(best, kx))} and ${words[ky]} ${show(amount(best, ky))}.`);
  const shown = all.filter((p) => amount(p, kx) !== null && amount(p, ky) !== null);
  if (!shown.length) return;
  const range = (key) => {
    const own = shown.map((p) => amount(p, key));
    const low = Math.min(...own), high = Math.max(...own), pad = (high - low || Math.abs(high) || 1) * 0.06;
    return [Math.max(0, low - pad), high + pad];
  };
  const [x0, x1] = range(kx), [y0, y1] = range(ky);
  const left = 70, right = box.wide - 15, top = 14, bottom = 310;
  const px = (v) => left + ((v - x0) / (x1 - x0)) * (right - left);
  const py = (v) => bottom - ((v - y0) / (y1 - y0)) * (bottom - top);
  for (const t of ticks(x0, x1)) box.append(svg("text", { x: px(t), y: bottom + 18, "text-anchor": "middle" }, String(t)));
  for (const t of ticks(y0, y1)) {
    box.append(svg("line", { class: "axis", x1: left, x2: right, y1: py(t), y2: py(t), opacity: 0.35 }));
    box.append(svg("text", { x: left - 6, y: py(t) + 4, "text-anchor": "end" }, String(t)));
  }
  box.append(svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
  box.append(svg("text", { x: (left + right) / 2, y: bottom + 40, "text-anchor": "middle" }, words[kx]));
  box.append(svg("text", { x: 16, y: (top + bottom) / 2, "text-anchor": "middle",
    transform: `rotate(-90 16 ${(top + bottom) / 2})` }, words[ky]));
  for (const p of shown) box.append(svg("circle", { class: "all", cx: px(amount(p, kx)), cy: py(amount(p, ky)), r: 2 }));
  for (const p of items) {
    const dot = svg("circle", { class: "front", cx: px(amount(p, kx)), cy: py(amount(p, ky)), r: 4 });
    dot.append(svg("title", {}, p.n));
    box.append(dot);
  }
  if (shown.includes(best)) {
    const x = px(amount(best, kx)), y = py(amount(best, ky));
    box.append(svg("path", { class: "best", d: `M${x} ${y - 9}L${x + 9} ${y}L${x} ${y + 9}L${x - 9} ${y}Z` }));
  }
};

const cells = (...texts) => {
  const row = document.createElement("tr");
  texts.forEach((text, index) => {
    const cell = document.createElement(index ? "td" : "th");
    if (index) cell.className = "number"; else cell.scope = "row";
    cell.textContent = text;
    row.append(cell);
  });
  return row;
};

// The address holds whatever differs from the plan, so that a link or a bookmark shows the same page again.
const fields = () => [...weightInputs, ...limitInputs, ...speeds, byId("axis-x"), byId("axis-y")];
const standard = new Map();
const keepState = () => {
  const changed = fields().filter((field) => field.value !== standard.get(field.id));
  const words = new URLSearchParams(changed.map((field) => [field.id, field.value])).toString();
  history.replaceState(null, "", words ? `#${words}` : location.pathname + location.search);
};
// An address can be typed or cut: what no field can hold is left out, and said.
let ignored = [];
const recallState = () => {
  for (const field of fields()) field.value = standard.get(field.id);
  ignored = [];
  for (const [id, own] of new URLSearchParams(location.hash.slice(1))) {
    const field = fields().find((one) => one.id === id);
    if (!field) continue;
    field.value = own;
    if (field.value === own && (field.tagName === "SELECT" || !refused(field))) continue;
    field.value = standard.get(id);
    ignored.push(field.labels[0].textContent);
  }
};
const moveSliders = () => {
  for (const slider of sliders) {
    const key = slider.dataset.slider, weight = read(byId(`w-${key}`), 0);
    slider.value = position(weight / base(key));
    slider.setAttribute("aria-valuetext", `weight ${show(weight, 4)}` +
      (data.weights[key] > 0 ? `, ${show(weight / data.weights[key], 3)} times the plan's` : ""));
  }
};
let shown = { best: null, rows: [] };
const save = (name, kind, text) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

const update = () => {
  const wrong = [...weightInputs, ...limitInputs].filter(refused);
  for (const input of [...weightInputs, ...limitInputs]) input.setAttribute("aria-invalid", String(wrong.includes(input)));
  byId("refused").hidden = wrong.length + ignored.length === 0;
  byId("refused").textContent = [
    ...wrong.map((input) => `${input.labels[0].textContent} must be a number from 0 up, at most 1e100.`),
    ...(wrong.length ? ["Until then the answer is that of the values before."] : []),
    ...(ignored.length ? [`The address holds no usable value for: ${ignored.join("; ")}. The plan's are taken.`] : []),
  ].join(" ");
  ignored = [];
  if (wrong.length) return;
  enterWorld();
  moveSliders();
  keepState();
  const w = weights(), bounds = limits();
  const allowed = policies.filter((p) => within(p, bounds));
  const priced = allowed.map((p) => [cost(p, w), p]);
  let best = null;
  for (const [c, p] of priced) {
    const gap = best === null ? -1 : (c - best[0]) / Math.max(Math.abs(best[0]), 1e-300);
    // Equal costs: the policy with the fewest numbers of robots, as crawltwin optimize does.
    if (best === null || gap < -1e-11 || (Math.abs(gap) <= 1e-11 && new Set(p.t).size < new Set(best[1].t).size)) best = [c, p];
  }
  const plan = policies[data.plan];
  const winner = byId("winner");
  winner.replaceChildren();
  const say = (text, kind) => {
    const line = document.createElement("p");
    if (kind) line.className = kind;
    line.textContent = text;
    winner.append(line);
  };
  winner.className = `note ${best ? "good" : "bad"}`;
  winner.dataset.policy = best ? best[1].n : "";
  winner.dataset.cost = best ? String(best[0]) : "";
  const tell = (key, own) => own + (data.units[key] ?? "");
  // A share near 0 is told as in the report.
  const few = (key, own) => data.units[key] === "%" && own > 0 && own < 1e-3;
  const shownOf = (policy, key) => tell(key, few(key, amount(policy, key)) ? "less than 0.001" : show(amount(policy, key)));
  // Where nothing keeps the limits the page shows what comes nearest, and says so wherever it stands.
  const nearest = best ? null : policies.reduce((one, p) => {
    const gap = Math.max(0, excess(p, bounds)) - Math.max(0, excess(one, bounds));
    return gap < 0 || (gap === 0 && cost(p, w) < cost(one, w)) ? p : one;
  }, policies[0]);
  const extreme = (key) => policies.reduce((one, p) => (excess(p, [[key, 1]]) < excess(one, [[key, 1]]) ? p : one));
  const now = best ? best[1] : nearest, price = cost(now, w), words = Object.fromEntries(data.labels);
  if (!best) {
    say("No policy keeps these limits.", "policy");
    say(`Nearest is ${now.n}: ${now.w}`);
    for (const [key, bound] of bounds.filter((one) => !within(now, [one])))
      say(`${words[key][0].toUpperCase()}${words[key].slice(1)}: ${shownOf(now, key)}, ` +
        `${key === "indexed" ? "at least" : "at most"} ${tell(key, show(bound * factors(key)))} is asked for; of all policies ` +
        `the ${key === "indexed" ? "most" : "least"} is ${shownOf(extreme(key), key)}.`);
    say("Loosen a limit, or try other speeds.");
  } else {
    say(now.w, "policy");
    say(`In short: ${now.n}. Cost ${show(price, 6)}; ${allowed.length.toLocaleString("en")} of ${policies.length.toLocaleString("en")} policies keep the limits. ` +
      (now === plan ? `This is the ${data.planned}.` : `The ${data.planned} ${plan.n} costs ${show(cost(plan, w), 6)}` +
        (within(plan, bounds) ? "." : " and does not keep the limits.")));
  }
  byId("best-head").textContent = best ? "best now" : "nearest now";
  byId("measures").replaceChildren(...data.labels.map(([key, label]) =>
    cells(label, shownOf(now, key), shownOf(plan, key))), cells("cost", show(price, 6), show(cost(plan, w), 6)));
  const items = front(allowed);
  items.sort((a, b) => cost(a, w) - cost(b, w));
  byId("front-caption").textContent = best ? `The front, cheapest first: ${items.length.toLocaleString("en")} ` +
    (items.length === 1 ? "policy" : "policies") + (items.length > 15 ? ", 15 shown" : "") : "No policy keeps the limits; the nearest one";
  byId("front-rows").replaceChildren(...(best ? items.slice(0, 15) : [now]).map((p) =>
    cells(p.n, show(cost(p, w), 6), ...data.criteria.map((key) => shownOf(p, key)))));
  byId("front-words").textContent = best ? "Every policy within the limits (faint), the front (circles), the best one now (diamond)." :
    "No policy keeps the limits. Every policy (faint), the nearest one (diamond).";
  byId("levels-caption").textContent = "Share of time with each number of pages in the system, under the " +
    (best ? "best policy now." : `nearest policy, ${now.n}: none keeps the limits.`);
  shown = { best: best && now, cost: best && price, rows: items.map((p) => [p.n, cost(p, w), ...data.columns.map(([key]) => value(p, key))]) };
  for (const id of ["save-policy", "save-table", "save-json"]) byId(id).disabled = !best;
  for (const input of limitInputs) {
    const known = policies.map((p) => amount(p, input.dataset.limit)).filter((own) => own !== null);
    const ends = [Math.min(...known), Math.max(...known)].map((own) => (few(input.dataset.limit, own) ? "less than 0.001" : show(own, 3)));
    byId(`h-l-${input.dataset.limit}`).textContent = known.length ? `policies have ${tell(input.dataset.limit, ends.join(" to "))}` : "";
  }
  // The answer stays in sight where it leaves most of the window free, and what has the focus never lies under it.
  const answer = winner.parentElement, tall = answer.offsetHeight;
  answer.classList.toggle("stays", tall < 0.35 * innerHeight);
  document.documentElement.style.scrollPaddingTop = answer.classList.contains("stays") ? `${tall + 8}px` : "";
  drawLevels(now);
  drawFront(best ? allowed : policies, now, items, Boolean(best));
};

for (const input of [...weightInputs, ...limitInputs]) input.addEventListener("input", update);
for (const slider of sliders) slider.addEventListener("input", () => {
  const key = slider.dataset.slider;
  byId(`w-${key}`).value = show(base(key) * factor(Number(slider.value)), 6);
  update();
});
for (const field of [...speeds, byId("axis-x"), byId("axis-y")]) field.addEventListener("change", update);
byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("controls").addEventListener("reset", () => setTimeout(update));
byId("save-policy").addEventListener("click", () => shown.best && save("policy.json", "application/json", JSON.stringify({
  format: "crawltwin policy 1", words: shown.best.w, table: shown.best.t, threads_per_robot: data.share,
  capacity: shown.best.t.length - 1, cost: shown.cost,
}, null, 1)));
const heads = ["policy", "cost", ...data.columns.map(([, name]) => name)];
byId("save-table").addEventListener("click", () => save("front.csv", "text/csv",
  [heads, ...shown.rows].map((row) => row.map((cell) => (String(cell ?? "").includes(",") ? `"${cell}"` : cell ?? "")).join(",")).join("\n") + "\n"));
byId("save-json").addEventListener("click", () => save("front.json", "application/json",
  JSON.stringify(shown.rows.map((row) => Object.fromEntries(row.map((cell, at) => [heads[at], cell]))), null, 1)));
let drawnAt = `${innerWidth} ${innerHeight}`;
addEventListener("resize", () => { if (`${innerWidth} ${innerHeight}` !== drawnAt) { drawnAt = `${innerWidth} ${innerHeight}`; update(); } });
// A link to a place of this page (the first one, by keyboard) moves the focus alone: what was set stays.
addEventListener("hashchange", () => { if (!byId(location.hash.slice(1))) recallState(); update(); });
for (const field of fields()) standard.set(field.id, field.value);
recallState();
update();
})();
