"use strict";
// Live updates, times that run, and keys. The page works without all of it.

// Updates wait while a finger or a button is down.
const late = new Map();
const pressed = new Set();
// Where the pointer rests; null after a key, when the focus counts.
let pointer = null;
let lastSign = Date.now();

for (const name of ["pointermove", "pointerdown", "wheel"]) {
  addEventListener(name, event => {
    pointer = event;
    lastSign = Date.now();
    // A scroll bar does not say that it has been let go.
    if (event.buttons === 0 && pressed.delete(event.pointerId)) setTimeout(showLate);
  }, { passive: true });
}
addEventListener("keydown", event => {
  pointer = null;
  lastSign = Date.now();
  // Those that press a button when they are let go.
  if (["Space", "Enter"].includes(event.code)) pressed.add(event.code);
});
addEventListener("keyup", event => { pressed.delete(event.code); setTimeout(showLate); });
addEventListener("blur", () => { pressed.clear(); setTimeout(showLate); });
addEventListener("pointerdown", event => pressed.add(event.pointerId));
for (const end of ["pointerup", "pointercancel"]) {
  addEventListener(end, event => {
    // After the click that ends the press, which a touch sends later.
    setTimeout(() => { pressed.delete(event.pointerId); showLate(); }, event.pointerType === "mouse" ? 0 : 350);
  });
}
addEventListener("resize", () => {
  for (const part of document.querySelectorAll("[data-part]")) part.style.minHeight = "";
});

// Nobody's eye or hand is lost on a page that shows a wall what happens.
function isAlone() {
  return Date.now() - lastSign > 60_000 && getSelection().type !== "Range" && pressed.size === 0
    && document.querySelector("tbody :checked") === null;
}

// What must not move: the row, the part or the block at the pointer's height, or that of the focus, or in the middle.
function anchor() {
  const focus = document.activeElement.getBoundingClientRect();
  const isSeen = document.activeElement !== document.body && focus.bottom > 0 && focus.top < innerHeight;
  const y = pointer?.clientY ?? (isSeen ? focus.top : innerHeight / 2);
  let best = null;
  let least = Infinity;
  for (const place of document.querySelectorAll("main > *, [data-part], tr[data-key]")) {
    const box = place.getBoundingClientRect();
    const distance = Math.max(box.top - y, y - box.bottom, 0);
    if (box.height > 0 && distance <= least) [best, least] = [place, distance];
  }
  return best;
}

// Where a page has no room to scroll, it gets some.
function hold(place, top) {
  const main = document.getElementById("main");
  for (let turn = 0; turn < 2; turn += 1) {
    scrollBy({ top: place.getBoundingClientRect().top - top, behavior: "instant" });
    const rest = place.getBoundingClientRect().top - top;
    if (rest < 1) return;
    main.style.paddingBottom = `${parseFloat(getComputedStyle(main).paddingBottom) + rest}px`;
  }
}

// Changes the page, and keeps what must not move; its row can be in a new list, or gone with its part.
function keeping(change) {
  const row = anchor();
  const part = row?.closest("[data-part]");
  const key = row?.dataset.key;
  const [rowTop, partTop] = [row, part].map(place => place?.getBoundingClientRect().top);
  change();
  if (row === null) return;
  const same = key === undefined || row.isConnected ? row
    : [...document.querySelectorAll("tr[data-key]")].find(place => place.dataset.key === key);
  if (same?.isConnected) hold(same, rowTop);
  else if (part?.isConnected) hold(part, partTop);
}

function showLate() {
  if (pressed.size > 0 || late.size === 0) return;
  const updates = [...late];
  late.clear();
  keeping(() => {
    for (const [id, html] of updates) update(document.getElementById(id), html);
    run();
  });
}

function update(part, html) {
  if (part === null) return;
  const isWhole = isAlone();
  // What is below would move up.
  part.style.minHeight = isWhole ? "" : `${part.offsetHeight}px`;
  const template = document.createElement("template");
  template.innerHTML = html;
  const [list, fresh] = [part, template.content].map(place => place.querySelector("table"));
  if (list !== null && !isWhole && isSameList(list, fresh) && merge(part, list, fresh)) return;
  // As a browser writes it, to be compared.
  swap(part, template.innerHTML);
  setChanged(part, false);
}

function isSameList(list, fresh) {
  return fresh === null || (list.tHead.innerHTML === fresh.tHead.innerHTML
    && list.parentElement.ariaLabel === fresh.parentElement.ariaLabel);
}

// Ages run by themselves.
function withoutAges(html) {
  return html.replace(/(<time [^>]*>)[^<]*/g, "$1");
}

// Replaces contents that differ, and keeps the focus.
function swap(part, html) {
  if (withoutAges(part.innerHTML) === withoutAges(html)) return;
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = part.querySelector(".wide")?.scrollLeft ?? 0;
  part.innerHTML = html;
  part.querySelector(".wide")?.scrollTo(scrolled, 0);
  if (focused === null) return;
  // Not by its place: Enter would press what has come before it.
  const same = [...part.querySelectorAll("a, button, .wide")].find(place => place.isEqualNode(focused));
  if (same === undefined) part.tabIndex = -1;
  (same ?? part).focus({ preventScroll: true });
}

// Rows stay where they are: known ones change their cells, ones that have left are marked, and only ones that come after
// all others join. False if the list is to begin anew: nobody looks at a row that is still in it.
function merge(part, list, fresh) {
  const body = list.tBodies[0];
  const known = new Map([...body.rows].map(row => [row.dataset.key, row]));
  const rows = [...fresh?.tBodies[0].rows ?? []];
  const keys = new Set(rows.map(row => row.dataset.key));
  const isLooked = list.matches(":hover") || list.contains(document.activeElement)
    || list.querySelector("tbody :checked") !== null;
  if (rows.length > 0 && !isLooked && ![...known.keys()].some(key => keys.has(key))) return false;
  // Of a list that is cut, a row that is not in it may still exist.
  const isCut = fresh?.matches("[data-cut]") ?? false;
  for (const [key, row] of known) mark(part, row, keys.has(key) ? "" : isCut ? "old" : "gone");
  const last = rows.findLastIndex(row => known.has(row.dataset.key));
  rows.forEach((row, index) => {
    const old = known.get(row.dataset.key);
    if (old !== undefined) [...old.cells].forEach((cell, place) => swap(cell, row.cells[place].innerHTML));
    else if (index > last && body.rows.length < 300) body.append(row);
    else setChanged(part, true);
  });
  return true;
}

function mark(part, row, kind) {
  if (kind !== "") setChanged(part, true);
  if (row.className === kind) return;
  row.className = kind;
  for (const box of row.querySelectorAll("input")) {
    box.checked &&= kind !== "gone";
    box.disabled = kind === "gone";
  }
}

const changed = new Set();
let problem = "";

function setChanged(part, value) {
  if (value) changed.add(part);
  else changed.delete(part);
  announce();
}

function setProblem(text) {
  problem = text;
  announce();
}

function announce() {
  const text = problem || (changed.size > 0 ? "The list has changed." : "");
  const stale = document.getElementById("stale");
  if (stale.dataset.text === text) return;
  stale.dataset.text = text;
  stale.textContent = text;
  if (text !== "") {
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "Show it as it is now";
    stale.append(" ", link);
  }
  stale.hidden = text === "";
}

let source = null;

function follow(address) {
  source = new EventSource(address);
  source.addEventListener("part", event => {
    const { id, html } = JSON.parse(event.data);
    late.set(id, html);
    showLate();
  });
  source.addEventListener("open", () => setProblem(""));
  source.addEventListener("error", () => {
    const isRefused = source.readyState === EventSource.CLOSED;
    setProblem(isRefused ? "Not up to date: the server gives no updates; you may have to log in again."
      : "Not up to date: the connection is lost, and is tried again.");
    // After an answer that is no stream a browser does not try again by itself.
    if (isRefused) setTimeout(() => { if (!document.hidden) restart(); }, 3000);
  });
}

function restart() {
  source?.close();
  follow(document.body.dataset.live);
}

function span(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole % 86400 / 3600)} h`;
}

// How far the browser's clock is behind: of two clocks, an age would be too long, or lie ahead.
const [loading] = performance.getEntriesByType("navigation");
const lag = Date.parse(document.body.dataset.now) - performance.timeOrigin - (loading?.responseStart ?? 0);

function run() {
  const now = Date.now() + lag;
  for (const time of document.querySelectorAll("time")) {
    const seconds = (Date.parse(time.dateTime) - now) / 1000;
    // Of a year with more than four digits, the text stays as it came.
    if (Number.isNaN(seconds)) continue;
    const text = seconds > 0 ? `in ${span(seconds)}` : `${span(-seconds)} ago`;
    if (time.textContent !== text) time.textContent = text;
  }
}

// A browser opens six connections to a server: windows in the background leave theirs.
if (document.body.dataset.live) {
  if (!document.hidden) restart();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source?.close(); else restart();
  });
}
run();
setInterval(() => keeping(run), 1000);

// On the document, since live updates replace the box itself.
addEventListener("change", event => {
  if (!event.target.matches("input[data-all]")) return;
  const boxes = event.target.closest("table").querySelectorAll("tbody input:enabled");
  for (const box of boxes) box.checked = event.target.checked;
});

// What is typed into a filter and not applied is not what "all that match" would act on.
addEventListener("input", event => {
  const matching = document.querySelector("[data-matching]");
  if (matching === null || !event.target.closest("form.filter")) return;
  if (matching.checked) document.querySelector("[name=scope][value=selected]").checked = true;
  matching.disabled = true;
});

// A link that looks like a button is pressed like one.
addEventListener("keydown", event => {
  if (event.key !== " " || !event.target.matches("a.button")) return;
  event.preventDefault();
  event.target.click();
});

addEventListener("submit", event => {
  const form = event.target;
  if (!form.matches(".list") || form.querySelector("[value=selected]:checked") === null) return;
  if (form.querySelector("tbody :checked") !== null) return;
  event.preventDefault();
  const place = form.querySelector("tbody input:enabled") ?? event.submitter;
  place.setCustomValidity("Select what to act on, or choose all.");
  place.reportValidity();
  place.setCustomValidity("");
});

addEventListener("keydown", event => {
  const search = document.querySelector("[data-search]");
  if (event.key !== "/" || search === null || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  search.focus();
});
