
"use strict";
// Everything from the recording becomes text nodes; nothing here makes markup of it.
const { rows, findings, scale } = JSON.parse(document.getElementById("session").textContent);
const CHUNK = 50; // rows that are drawn at once, when they come near
const HEIGHT = 30; // of a row that is not open
const PAUSE = 1; // seconds that are worth a line of their own
const DEPTH = 40; // levels that are indented
const $ = (id) => document.getElementById(id);
const list = $("rows");
const form = $("filters");
const place = new Map(rows.map((row, index) => [row.line, index]));
const drawn = new Map(); // index of a row → its element
const open = new Set();
let shown = []; // indexes of the rows that the filters let through
let position = new Map(); // index of a row → where it is in `shown`
let chunks = [];
let chosen = -1;

// --- what a row is ------------------------------------------------------------------

for (const row of rows) {
  row.marks = findings[row.line] ?? [];
  row.pair ??= [];
  row.by = row.from === "client" ? "client" : "server";
  row.isAnswer = row.kind === "result" || row.kind === "error";
  row.isUnanswered = row.kind === "request" && !row.answered;
  row.isOutput = ["text", "stderr", "exit"].includes(row.kind);
  row.isStray = row.kind === "text" && !row.http; // HTTP may carry other things: lint knows
  row.isProblem = Boolean(
    row.failed || row.isUnanswered || row.kind === "invalid" || row.isStray ||
    row.code || row.http?.status >= 400 || row.marks.some((mark) => mark.severity !== "note"),
  );
}

const KINDS = {
  "": () => true,
  request: (row) => row.kind === "request" || row.kind === "batch",
  response: (row) => row.isAnswer || row.kind === "batch",
  notification: (row) => row.kind === "notification" || row.kind === "batch",
  output: (row) => row.isOutput || row.kind === "invalid",
  http: (row) => row.kind === "http",
};

function* texts(row) {
  yield [row.method, row.detail, row.id, row.http?.path, row.http?.method, row.http?.status].join(" ");
  for (const mark of row.marks) yield [mark.rule, mark.message, mark.fix].join(" ");
  for (const [name, value] of Object.entries(row.http?.headers ?? {})) yield `${name}: ${value}`;
  const text = row.text ?? "";
  yield text;
  // What was sent as \u00e9 is found as é, too.
  if (text.includes("\\u"))
    yield (row.unescaped ??= text.replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(parseInt(code, 16))));
}

// --- text ---------------------------------------------------------------------------

// Characters that are not seen, or that turn others around, are spelled out.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const visible = (text) =>
  String(text).replace(UNSEEN, (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0"));

function el(tag, classes, ...inside) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  for (const part of inside)
    if (part || part === 0) element.append(typeof part === "object" ? part : visible(part));
  return element;
}

function button(classes, text, act) {
  const element = el("button", classes, text);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}

function duration(ms) {
  if (ms < 1000) return `${ms.toFixed(ms >= 100 ? 0 : ms >= 10 ? 1 : 2)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const number = (value) => value.toLocaleString("en");
const bytes = (size) =>
  size < 1000 ? `${size} B` : size < 1e6 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;

function fraction(ms) {
  const low = Math.log10(scale.least);
  const part = (Math.log10(Math.max(ms, scale.least)) - low) / (Math.log10(scale.most) - low);
  return Math.max(Math.min(part, 1), 0.03);
}

// --- a row --------------------------------------------------------------------------

function classes(row) {
  const names = ["row"];
  if (row.isOutput) names.push("output", row.isStray ? "stray" : row.kind);
  else names.push(row.by);
  if (row.isAnswer) names.push("answer");
  if (row.kind === "http") names.push("http-only");
  if (row.failed || row.kind === "invalid") names.push("failed");
  return names.join(" ");
}

function draw(index) {
  const row = rows[index];
  const line = el("button", "line", el("span", "time", row.t.toFixed(3)), lane(row), took(row));
  line.type = "button";
  line.setAttribute("aria-expanded", "false");
  line.setAttribute("aria-label", spoken(row));
  const box = el("div", classes(row), line);
  box.setAttribute("role", "listitem");
  box.dataset.index = index;
  drawn.set(index, box);
  if (open.has(index)) unfold(index);
  return box;
}

function spoken(row) {
  const what = row.isOutput ? [row.kind, row.kind === "exit" ? ending(row) : row.text]
    : row.kind === "http" ? ["HTTP", bare(row), row.http?.status] : [row.kind, row.method, row.detail];
  const who = row.isOutput ? row.by : `${row.by} to ${row.by === "client" ? "server" : "client"}`;
  const time = row.isUnanswered ? unanswered(row) : row.ms === undefined ? "" : `after ${duration(row.ms)}`;
  const wrong = row.marks.length ? `${row.marks.length} findings` : "";
  return visible([`${row.t.toFixed(3)} s, ${who}:`, ...what, time, wrong].filter(Boolean).join(" ").slice(0, 300));
}

function lane(row) {
  if (row.isOutput) return el("span", "lane", ...badges(row), output(row), row.kind === "exit" && el("span", "cross", "✕"));
  const label = el("span", "label", ...words(row));
  const long = el("span", "wire");
  const short = el("span", "wire short");
  const tip = el("span", "tip");
  return row.by === "client"
    ? el("span", "lane", short, label, long, tip)
    : el("span", "lane", tip, long, label, short);
}

function* words(row) {
  if (row.kind === "http") {
    yield el("span", "name", el("code", "", bare(row)));
  } else {
    const name = row.method || { batch: "batch", invalid: "not a message", error: "error", result: "result" }[row.kind];
    yield el("span", "name", el("code", "", name));
  }
  yield* badges(row);
  if (row.cut) yield el("span", "detail", `cut, ${bytes(row.size ?? 0)}`);
  if (row.detail) yield el("span", "detail", row.detail);
  yield* snippet(row);
  if (row.id) yield el("span", "id", `#${row.id}`);
  if (row.http?.status) yield el("span", "http", row.http.status);
  else if (row.http?.method && row.kind !== "http") yield el("span", "http", row.http.method);
}

/** What HTTP said without a message. */
function bare({ http, by }) {
  if (!http) return "nothing";
  if (http.ended && !http.status) return by === "client" ? "hung up" : "end of the answer";
  return [http.method, http.path].filter(Boolean).join(" ") || "HTTP";
}

const unanswered = (row) => (row.given_up ? "given up" : "no answer");

const ending = ({ code }) =>
  "the server ended" + (code === undefined ? "" : code < 0 ? ` by signal ${-code}` : ` with status ${code}`);

/** Where a word of the search is, if the row would not show it. */
function* snippet(row) {
  const said = [row.method, row.detail, row.id].join(" ").toLowerCase();
  for (const term of terms().map((word) => word.toLowerCase())) {
    if (said.includes(term)) continue;
    const text = [...texts(row)].slice(1).find((part) => part.toLowerCase().includes(term)) ?? "";
    const at = text.toLowerCase().indexOf(term);
    if (at < 0) continue;
    const end = at + term.length;
    yield el("span", "snippet", "…" + text.slice(Math.max(at - 16, 0), at), el("mark", "", text.slice(at, end)), text.slice(end, end + 16) + "…");
    return;
  }
}

function* badges(row) {
  const rules = new Map();
  for (const { rule, severity } of row.marks) {
    const told = rules.get(rule) ?? { severity, times: 0 };
    rules.set(rule, { ...told, times: told.times + 1 });
  }
  for (const [rule, { severity, times }] of [...rules].slice(0, 2))
    yield el("span", `badge mark ${severity}`, times > 1 ? `${rule} ${times}×` : rule);
  if (rules.size > 2) yield el("span", "badge mark note", `and ${rules.size - 2} more`);
}

function output(row) {
  if (row.kind === "exit") return el("span", "said", ending(row));
  const name = row.kind === "stderr" ? "" : el("b", "", row.from === "client" ? "not JSON, by the client  " : "not JSON  ");
  return el("span", "said", name, (row.text ?? "").slice(0, 500));
}

function took(row) {
  if (row.isUnanswered) return el("span", "took none", unanswered(row));
  if (row.ms === undefined) return el("span", "took");
  const fill = el("span", "fill");
  fill.style.width = `${(fraction(row.ms) * 100).toFixed(1)}%`;
  return el("span", "took", el("span", "track", fill), duration(row.ms));
}

// --- what is inside of a row --------------------------------------------------------

function toggle(index) {
  if (open.delete(index)) {
    const box = drawn.get(index);
    box.classList.remove("open");
    box.firstChild.setAttribute("aria-expanded", "false");
    box.querySelector(".inside")?.remove();
  } else {
    open.add(index);
    unfold(index);
  }
}

function unfold(index) {
  const row = rows[index];
  const box = drawn.get(index);
  box.classList.add("open");
  box.firstChild.setAttribute("aria-expanded", "true");
  const inside = el("div", "inside", facts(row), ...row.marks.map(finding), row.http?.headers && headers(row.http.headers));
  if (row.text) inside.append(content(row));
  box.append(inside);
  highlight();
}

function facts(row) {
  const link = el("a", "", `line ${number(row.line)}`);
  link.href = `#${row.line}`; // to be copied
  const line = el("div", "facts", link, el("span", "", row.kind));
  if (row.id) line.append(el("span", "", `id ${row.id}`));
  if (row.text) line.append(el("span", "", bytes(new Blob([row.text]).size)));
  if (row.http) {
    const { exchange, method, path, status, event, ended } = row.http;
    const parts = [`exchange ${exchange}`, method, path, status, event === undefined ? "" : `event ${event || "without id"}`, ended ? (row.from === "client" ? "hung up" : "the end of the answer") : ""];
    line.append(el("span", "", "HTTP: " + parts.filter(Boolean).join(" ")));
  }
  for (const other of new Set(row.pair)) { // a batch may answer a batch
    const text = other < row.line ? "its request" : "its answer";
    line.append(place.has(other) ? button("", text, () => choose(place.get(other), true)) : el("span", "", `${text}: line ${other}, which is not on this page`));
  }
  if (row.ms !== undefined) line.append(el("span", "", `after ${duration(row.ms)}`));
  if (row.cut) line.append(el("span", "", "too large for the recorder: only its envelope was kept"));
  else if (row.size) line.append(el("span", "", `the first part of ${number(row.size)} characters; the recording has all of it`));
  return line;
}

function finding(mark) {
  return el(
    "div", `finding ${mark.severity}`,
    el("p", "", el("code", "rule", mark.rule), mark.path !== "$" && el("code", "path", mark.path)),
    el("p", "", mark.message),
    mark.fix && el("p", "fix", mark.fix),
  );
}

function headers(all) {
  return el("dl", "headers", ...Object.entries(all).flatMap(([name, value]) => [el("dt", "", `${name}:`), el("dd", "", value)]));
}

function content(row) {
  const copy = button("copy", "Copy", () => clipboard(row.text, copy));
  copy.title = "as it was sent";
  const text = row.isOutput ? visible(row.text) : pretty(row.text, row.marks.map((mark) => mark.path));
  return el("div", "json", el("pre", "", text), copy);
}

async function clipboard(text, copy) {
  try {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  } catch {
    copy.textContent = "Not allowed here";
  }
  setTimeout(() => (copy.textContent = "Copy"), 1500);
}

// --- JSON ---------------------------------------------------------------------------

const TOKEN = /"(?:[^"\\]|\\[^])*"?|[{}[\],:]|[^\s{}[\],:"]+/g;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** JSON text over many lines, as it was written: no number is rounded, no key is lost. */
function pretty(text, wrong) {
  const tokens = text.match(TOKEN) ?? [];
  const result = document.createDocumentFragment();
  const named = new Map(); // paths on the way to what is wrong → elements
  const leads = (path, other) => other.startsWith(path) && [undefined, ".", "["].includes(other[path.length]);
  const onTheWay = (path) => wrong.some((other) => leads(path, other));
  const levels = [{ path: "$", index: -1 }];
  let plain = "";
  let key = null;
  const flush = () => {
    if (plain) result.append(plain);
    plain = "";
  };
  const put = (kind, token) => {
    flush();
    const element = el("span", kind, token);
    result.append(element);
    return element;
  };
  const indent = () => (plain += "\n" + "  ".repeat(Math.min(levels.length - 1, DEPTH)));
  const at = () => {
    const level = levels.at(-1);
    if (level.path === null || level.index < 0) return level.path;
    return `${level.path}[${level.index}]`;
  };
  tokens.forEach((token, number) => {
    const level = levels.at(-1);
    if (token === "}" || token === "]") {
      if (levels.length > 1) levels.pop();
      if (!/[{[]/.test(tokens[number - 1] ?? "") || tokens[number - 1]?.length > 1) indent();
      plain += token;
      key = null;
    } else if (token === ",") {
      plain += token;
      indent();
      if (level.index >= 0) level.index += 1;
      key = null;
    } else if (token === ":") {
      plain += ": ";
    } else if (tokens[number + 1] === ":") {
      key = level.path === null ? null : child(level.path, token);
      const element = put("key", token);
      if (key !== null && onTheWay(key)) named.set(key, element);
      else key = null;
    } else {
      const path = level.isObject ? key : at();
      const isKnown = path !== null && onTheWay(path);
      if (token === "{" || token === "[") {
        const isEmpty = tokens[number + 1] === (token === "{" ? "}" : "]");
        if (isKnown && level.index >= 0) named.set(path, put("", token));
        else plain += token;
        levels.push({ path: isKnown ? path : null, index: token === "[" ? 0 : -1, isObject: token === "{" });
        if (!isEmpty) indent();
      } else {
        const isValue = NUMBER.test(token) || ["true", "false", "null"].includes(token);
        const element = put(token[0] === '"' ? "string" : isValue ? "value" : "odd", token);
        if (isKnown && level.index >= 0) named.set(path, element);
      }
      key = null;
    }
  });
  flush();
  for (const path of wrong) {
    // What is missing has no element: the object that should have it is marked.
    const nearest = [...named.keys()].filter((name) => leads(name, path)).sort((a, b) => b.length - a.length)[0];
    named.get(nearest)?.classList.add("wrong");
  }
  return result;
}

/** The path of what an object holds, as findings write it. */
function child(path, token) {
  let name = token.slice(1, -1);
  try {
    name = JSON.parse(token);
  } catch {
    // Not JSON: shown as it is.
  }
  if (/^[A-Za-z_]\w*$/.test(name) && name.length <= 60) return `${path}.${name}`;
  const clipped = name.length <= 60 ? name : name.slice(0, 59) + "…";
  const ascii = (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0");
  return `${path}[${JSON.stringify(clipped).replace(/[^\0-\x7f]/g, ascii)}]`;
}

// --- the list -----------------------------------------------------------------------

const near = new IntersectionObserver(
  (entries) => entries.forEach((entry) => entry.isIntersecting && fill(entry.target)),
  { rootMargin: "1200px" },
);

function lay() {
  near.disconnect();
  drawn.clear();
  chunks = [];
  for (let start = 0; start < shown.length; start += CHUNK) {
    const chunk = el("div", "chunk");
    const size = Math.min(CHUNK, shown.length - start);
    chunk.dataset.start = start;
    chunk.style.containIntrinsicHeight = `auto ${size * HEIGHT}px`;
    chunks.push(chunk);
  }
  list.replaceChildren(...chunks);
  if (!chunks.length) list.append(el("p", "nothing", rows.length ? "Nothing is like that." : "Nothing was said."));
  for (const chunk of chunks) near.observe(chunk);
}

function fill(chunk) {
  near.unobserve(chunk);
  if (chunk.firstChild) return;
  const start = Number(chunk.dataset.start);
  for (let at = start; at < Math.min(start + CHUNK, shown.length); at += 1)
    chunk.append(...pause(at), draw(shown[at]));
  paint();
}

/** What is between a row and the one before it: time, or rows that the page has not. */
function* pause(at) {
  const row = rows[shown[at]];
  const before = rows[shown[at - 1]];
  if (!before || shown.length < rows.length) return;
  const missing = row.line - before.line - 1;
  const seconds = row.t - before.t;
  if (missing > 0) yield gap(`${number(missing)} entries are not on this page`);
  else if (seconds >= PAUSE) yield gap(`${duration(seconds * 1000)} later`);
}

const gap = (text) => el("div", "line pause", el("span"), el("span", "lane", text), el("span"));

function choose(index, isOpened = false) {
  if (!position.has(index)) reset(); // it is filtered out
  fill(chunks[Math.floor(position.get(index) / CHUNK)]);
  const box = drawn.get(index);
  box.firstChild.focus({ preventScroll: true });
  if (isOpened && !open.has(index)) toggle(index);
  box.scrollIntoView({ block: "nearest" });
}

let painted = []; // so that no more is looked at than what changes

/** Marks the chosen row, its other half, and what was said between the two. */
function paint(hovered = -1) {
  for (const box of painted) box.classList.remove("chosen", "paired", "between", "by-client", "by-server");
  painted = [];
  const mark = (index, ...names) => {
    const box = drawn.get(index);
    if (!box) return;
    box.classList.add(...names);
    painted.push(box);
  };
  const others = (index) => (rows[index]?.pair ?? []).map((line) => place.get(line));
  mark(chosen, "chosen");
  for (const index of [...others(chosen), ...others(hovered)]) mark(index, "paired");
  const span = [chosen, ...others(chosen)].filter((index) => index !== undefined);
  const from = Math.min(...span);
  for (let index = from + 1; index < Math.max(...span); index += 1) mark(index, "between", `by-${rows[from].by}`);
}

// --- the overview -------------------------------------------------------------------

const BINS = 240; // the width of its view box; the height is 40

/** How much is said when: by the client above, by the server below, and what is wrong. */
function overview() {
  const box = $("overview");
  const [first, last] = [rows[shown[0]]?.t, rows[shown.at(-1)]?.t];
  box.hidden = !(last - first > 0);
  if (box.hidden) return;
  const bins = { client: new Map(), server: new Map(), bad: new Map() };
  for (const index of shown) {
    const row = rows[index];
    const at = Math.min(Math.floor(((row.t - first) / (last - first)) * BINS), BINS - 1);
    for (const name of row.isProblem ? [row.by, "bad"] : [row.by]) bins[name].set(at, (bins[name].get(at) ?? 0) + 1);
  }
  const most = Math.max(...bins.client.values(), ...bins.server.values());
  const bar = (at, from, height) => `M${at + 0.1} ${from}h.8v${height.toFixed(1)}h-.8z`;
  const high = (count) => 1 + 17 * Math.sqrt(count / most); // one of many is to be seen, too
  const draw = (name, path) => box.querySelector(`.${name}`).setAttribute("d", [...bins[name]].map(path).join(""));
  draw("client", ([at, count]) => bar(at, 19.5, -high(count)));
  draw("server", ([at, count]) => bar(at, 20.5, high(count)));
  draw("bad", ([at]) => bar(at, 19, 2));
  const [start, end] = box.querySelectorAll(".ends span");
  start.textContent = duration(first * 1000);
  end.textContent = duration(last * 1000);
}

function jump(event) {
  const { left, width } = event.currentTarget.getBoundingClientRect();
  const [first, last] = [rows[shown[0]].t, rows[shown.at(-1)].t];
  const t = first + ((event.clientX - left) / width) * (last - first);
  choose(shown.find((index) => rows[index].t >= t) ?? shown.at(-1));
  drawn.get(chosen).scrollIntoView({ block: "center" });
}

// --- filters ------------------------------------------------------------------------

const terms = () => $("words").value.split(/\s+/).filter(Boolean);

function filter() {
  const wanted = terms().map((term) => new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu"));
  const [from, kind, method, problems] = [$("from").value, KINDS[$("kind").value], $("method").value, $("problems").checked];
  shown = [];
  rows.forEach((row, index) => {
    if (from && row.by !== from) return;
    if (!kind(row)) return;
    if (method && row.method !== method) return;
    if (problems && !row.isProblem) return;
    if (wanted.length) {
      const all = [...texts(row)];
      if (!wanted.every((term) => all.some((text) => term.test(text)))) return;
    }
    shown.push(index);
  });
  position = new Map(shown.map((index, at) => [index, at]));
  $("shown").textContent = shown.length === rows.length ? number(rows.length) : `${number(shown.length)} of ${number(rows.length)}`;
  lay();
  overview();
  // What is in sight must not wait for the observer.
  if (chunks.length) fill(chunks[0]);
  highlight();
}

function reset() {
  for (const id of ["words", "from", "kind", "method"]) $(id).value = "";
  $("problems").checked = false;
  filter();
}

/** Marks the words of the search in what is open; a browser without such marks has none. */
function highlight() {
  if (!window.Highlight) return;
  const ranges = [];
  const wanted = terms().map((term) => term.toLowerCase());
  for (const pre of wanted.length ? list.querySelectorAll("pre") : []) {
    const walker = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      for (const term of wanted) {
        for (let at = text.indexOf(term); at >= 0 && ranges.length < 2000; at = text.indexOf(term, at + term.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + term.length);
          ranges.push(range);
        }
      }
    }
  }
  CSS.highlights.set("words", new Highlight(...ranges));
}

function pick(event) {
  const { method, rule } = event.currentTarget.dataset;
  reset();
  if (rule === undefined) $("method").value = method;
  else $("words").value = rule;
  filter();
  $("diagram").scrollIntoView();
}

// --- what the reader does -----------------------------------------------------------

function step(by) {
  if (!shown.length) return;
  const at = position.get(chosen);
  choose(shown[at === undefined ? 0 : Math.max(0, Math.min(shown.length - 1, at + by))]);
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  p: () => rows[chosen]?.pair.length && place.has(rows[chosen].pair[0]) && choose(place.get(rows[chosen].pair[0])),
  n: () => {
    const next = shown.find((index) => index > chosen && rows[index].isProblem);
    if (next !== undefined) choose(next);
  },
  "/": () => $("words").select(),
  Escape: () => {
    reset();
    if (chosen >= 0) choose(chosen); // among what is around it
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.matches("input, select");
  if (isTyping && event.key !== "Escape") return;
  if (!Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  if (isTyping) event.target.blur();
  KEYS[event.key]();
});

const indexOf = (target) => {
  const box = target.closest?.(".row");
  return box ? Number(box.dataset.index) : -1;
};
list.addEventListener("click", (event) => event.target.closest("button.line") && toggle(indexOf(event.target)));
list.addEventListener("focusin", (event) => paint((chosen = indexOf(event.target))));
list.addEventListener("mouseover", (event) => paint(indexOf(event.target)));
list.addEventListener("mouseleave", () => paint());
$("overview").addEventListener("click", jump);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", filter);
for (const element of document.querySelectorAll(".pick")) element.addEventListener("click", pick);
window.addEventListener("beforeprint", () => chunks.forEach(fill));

const methods = [...new Set(rows.map((row) => row.method).filter(Boolean))].sort();
$("method").append(...methods.map((name) => Object.assign(el("option", "", name), { value: name })));
form.hidden = false;
filter();

/** session.html#57 is line 57 of the recording. */
function follow() {
  const index = place.get(Number(location.hash.slice(1)));
  if (index === undefined) return;
  history.scrollRestoration = "manual"; // where the reader was before is not where the line is
  choose(index, true);
}
window.addEventListener("hashchange", follow);
follow();
