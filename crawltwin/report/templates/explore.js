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
const value = (policy, key) => policy.m[data.keys.indexOf(key)];
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
  (input.value.trim() !== "" && !(Number.isFinite(Number(input.value)) && Number(input.value) >= 0));
const read = (input, fallback) => (input.value.trim() === "" ? fallback : Number(input.value));
// A box shows six digits; as long as it is not touched, every bit of the plan's own number counts.
const untouched = (i, own) => i.value !== "" && i.value === i.defaultValue && typeof own === "number";
const exact = (i, own, fallback) => (untouched(i, own) ? own : read(i, fallback));
const weights = () => Object.fromEntries(weightInputs.map((i) =>
  [i.dataset.weight, exact(i, data.weights[i.dataset.weight], 0)]));
const limits = () => limitInputs.map((i) => [i.dataset.limit, exact(i, data.bounds[i.dataset.limit], null)]).filter(([, v]) => v !== null);
const within = (policy, bounds) => bounds.every(([key, bound]) => {
  const own = value(policy, key);
  return own !== null && own <= bound;
});
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
const begin = (id, title, words) => {
  const box = byId(id);
  box.replaceChildren(svg("title", { id: `${id}-title` }, title), svg("desc", { id: `${id}-words` }, words));
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
  const box = begin("levels", "Backlog under the best policy",
    `Most often ${most} pages are in the system, ${show(100 * peak, 3)} percent of the time; ` +
    `it is full ${show(100 * masses[masses.length - 1], 3)} percent of the time.`);
  const left = 56, right = 630, top = 12, bottom = 216, wide = (right - left) / masses.length;
  const robots = [...new Set(policy.t)].sort((a, b) => b - a);
  for (const t of ticks(0, peak)) {
    const y = bottom - (t / peak) * (bottom - top);
    box.append(svg("line", { class: "axis", x1: left, x2: right, y1: y, y2: y, opacity: 0.35 }));
    box.append(svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, String(t)));
  }
  masses.forEach((mass, level) => {
    const running = policy.t[Math.min(level, policy.t.length - 1)];
    const height = (mass / peak) * (bottom - top);
    box.append(svg("rect", { class: `bar${robots.indexOf(running) % 6}`, x: left + level * wide + 1, y: bottom - height,
      width: Math.max(1, wide - 2), height }));
    if (masses.length <= 25 || level % Math.ceil(masses.length / 12) === 0)
      box.append(svg("text", { x: left + (level + 0.5) * wide, y: bottom + 16, "text-anchor": "middle" }, String(level)));
  });
  robots.forEach((number, index) => {
    box.append(svg("rect", { class: `bar${index % 6}`, x: 300 + 110 * index, y: top, width: 12, height: 12 }));
    box.append(svg("text", { x: 318 + 110 * index, y: top + 11 }, `${number} robot${number > 1 ? "s" : ""}`));
  });
  box.append(svg("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle" }, "pages in the system"));
};

const drawFront = (all, best, items) => {
  const kx = byId("axis-x").value, ky = byId("axis-y").value;
  const words = Object.fromEntries(data.labels);
  const box = begin("front", `${words[ky]} over ${words[kx]}`,
    best ? `${items.length} policies on the front of ${all.length}; the best one now has ${words[kx]} ` +
      `${show(value(best, kx))} and ${words[ky]} ${show(value(best, ky))}.` : "No policy keeps the limits.");
  const shown = all.filter((p) => value(p, kx) !== null && value(p, ky) !== null);
  if (!shown.length) return;
  const range = (key) => {
    const own = shown.map((p) => value(p, key));
    const low = Math.min(...own), high = Math.max(...own), pad = (high - low || Math.abs(high) || 1) * 0.06;
    return [Math.max(0, low - pad), high + pad];
  };
  const [x0, x1] = range(kx), [y0, y1] = range(ky);
  const left = 70, right = 625, top = 14, bottom = 310;
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
  for (const p of shown) box.append(svg("circle", { class: "all", cx: px(value(p, kx)), cy: py(value(p, ky)), r: 2 }));
  for (const p of items) {
    const dot = svg("circle", { class: "front", cx: px(value(p, kx)), cy: py(value(p, ky)), r: 4 });
    dot.append(svg("title", {}, p.n));
    box.append(dot);
  }
  if (best) {
    const x = px(value(best, kx)), y = py(value(best, ky));
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
const recallState = () => {
  for (const [id, own] of new URLSearchParams(location.hash.slice(1))) {
    const field = fields().find((one) => one.id === id);
    if (field && !(field.tagName === "SELECT" && ![...field.options].some((one) => one.value === own))) field.value = own;
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
  byId("refused").hidden = wrong.length === 0;
  byId("refused").textContent = wrong.map((input) => `${input.labels[0].textContent} must be a number from 0 up.`).join(" ");
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
  if (!best) {
    say("No policy keeps these limits.", "policy");
    say("Loosen one of them.");
  } else {
    say(`${best[1].n}: ${best[1].w}`, "policy");
    const own = cost(plan, w);
    const same = best[1] === plan;
    say(`Cost ${show(best[0], 6)}; ${allowed.length.toLocaleString("en")} of ${policies.length.toLocaleString("en")} policies keep the limits. ` +
      (same ? "This is the plan's policy." : `The plan's policy ${plan.n} costs ${show(own, 6)}` +
        (within(plan, bounds) ? "." : " and does not keep the limits.")));
  }
  byId("measures").replaceChildren(...data.labels.map(([key, label]) =>
    cells(label, best ? show(value(best[1], key)) : "–", show(value(plan, key)))),
    cells("cost", best ? show(best[0], 6) : "–", show(cost(plan, w), 6)));
  const items = front(allowed);
  items.sort((a, b) => cost(a, w) - cost(b, w));
  byId("front-caption").textContent = `The front, cheapest first: ${items.length} policies` +
    (items.length > 15 ? ", 15 shown" : "");
  byId("front-rows").replaceChildren(...items.slice(0, 15).map((p) =>
    cells(p.n, show(cost(p, w), 6), ...data.criteria.map((key) => show(value(p, key))))));
  shown = { best: best && best[1], cost: best && best[0], rows: items.map((p) => [p.n, cost(p, w), ...data.keys.map((key) => value(p, key))]) };
  if (best) drawLevels(best[1]); else begin("levels", "Backlog", "No policy keeps the limits.");
  drawFront(allowed, best && best[1], items);
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
const heads = ["policy", "cost", ...data.keys];
byId("save-table").addEventListener("click", () => save("front.csv", "text/csv",
  [heads, ...shown.rows].map((row) => row.map((cell) => (String(cell ?? "").includes(",") ? `"${cell}"` : cell ?? "")).join(",")).join("\n") + "\n"));
byId("save-json").addEventListener("click", () => save("front.json", "application/json",
  JSON.stringify(shown.rows.map((row) => Object.fromEntries(row.map((cell, at) => [heads[at], cell]))), null, 1)));
addEventListener("hashchange", () => { recallState(); update(); });
for (const field of fields()) standard.set(field.id, field.value);
recallState();
update();
})();
