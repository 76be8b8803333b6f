"use strict";
// Live updates, times that run, and keys. The page works without all of it.

// Updates wait while a finger or a button is down.
const late = new Map();
const pressed = new Set();
// Where the pointer rests; null after a key, when the focus counts.
let pointer = null;
let lastSign = Date.now();

for (const name of ["pointermove", "pointerdown", "wheel"]) {
  addEventListener(name, event => { pointer = event; lastSign = Date.now(); }, { passive: true });
}
addEventListener("keydown", () => { pointer = null; lastSign = Date.now(); });
addEventListener("pointerdown", event => pressed.add(event.pointerId));
for (const end of ["pointerup", "pointercancel"]) {
  addEventListener(end, event => {
    pressed.delete(event.pointerId);
    // After the click that ends the press, which a touch sends later.
    setTimeout(showLate, event.pointerType === "mouse" ? 0 : 350);
  });
}
addEventListener("resize", () => {
  for (const part of document.querySelectorAll("[data-part]")) part.style.minHeight = "";
});

// Nobody's eye or hand is lost on a page that shows a wall what happens.
function isAlone() {
  return Date.now() - lastSign > 60_000;
}

// What must not move: what is under the pointer, or has the focus, or stands in the middle.
function anchor() {
  const focused = document.activeElement;
  if (pointer !== null) return document.elementFromPoint(pointer.clientX, pointer.clientY);
  return focused !== document.body ? focused : document.elementFromPoint(innerWidth / 2, innerHeight / 2);
}

function showLate() {
  if (pressed.size > 0 || late.size === 0) return;
  const place = anchor();
  const top = place?.getBoundingClientRect().top;
  for (const [id, html] of late) update(document.getElementById(id), html);
  late.clear();
  run();
  if (place?.isConnected) scrollBy({ top: place.getBoundingClientRect().top - top, behavior: "instant" });
}

function update(part, html) {
  if (part === null) return;
  // What is below would move up.
  part.style.minHeight = isAlone() ? "" : `${part.offsetHeight}px`;
  const template = document.createElement("template");
  template.innerHTML = html;
  const rows = part.querySelector("tbody");
  if (rows !== null && !isAlone()) return merge(rows, template.content.querySelector("tbody"));
  // As a browser writes it, to be compared.
  swap(part, template.innerHTML);
  if (rows !== null) announce("");
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
// all others join.
function merge(body, list) {
  const known = new Map([...body.rows].map(row => [row.dataset.key, row]));
  const fresh = [...list?.rows ?? []];
  const keys = new Set(fresh.map(row => row.dataset.key));
  for (const [key, row] of known) {
    row.classList.toggle("gone", !keys.has(key));
    row.title = keys.has(key) ? "" : "Has left this list";
    if (!keys.has(key)) announce("The list has changed.");
  }
  const last = fresh.findLastIndex(row => known.has(row.dataset.key));
  fresh.forEach((row, index) => {
    const old = known.get(row.dataset.key);
    if (old !== undefined) [...old.cells].forEach((cell, place) => swap(cell, row.cells[place].innerHTML));
    else if (index > last && body.rows.length < 300) body.append(row);
    else announce("The list has changed.");
  });
}

function announce(text) {
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
  source.addEventListener("open", () => {
    if (document.getElementById("stale").dataset.text?.startsWith("Not")) announce("The list may have changed.");
  });
  source.addEventListener("error", () => {
    const isRefused = source.readyState === EventSource.CLOSED;
    announce(isRefused ? "Not up to date: the server gives no updates; you may have to log in again."
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

function run() {
  const now = Date.now();
  for (const time of document.querySelectorAll("time")) {
    const seconds = (Date.parse(time.dateTime) - now) / 1000;
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
setInterval(run, 1000);

// On the document, since live updates replace the box itself.
addEventListener("change", event => {
  if (!event.target.matches("input[data-all]")) return;
  const boxes = event.target.closest("table").querySelectorAll("tbody input[type=checkbox]");
  for (const box of boxes) box.checked = event.target.checked;
});

// What is typed into a filter and not applied is not what "all that match" would act on.
addEventListener("input", event => {
  const matching = document.querySelector("[data-matching]");
  if (matching === null || !event.target.closest("form.filter")) return;
  if (matching.checked) document.querySelector("[name=scope][value=selected]").checked = true;
  matching.disabled = true;
});

addEventListener("keydown", event => {
  const search = document.querySelector("[data-search]");
  if (event.key !== "/" || search === null || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  search.focus();
});
