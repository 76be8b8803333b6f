"use strict";
// Live updates, times that run, and keys. The page works without all of it.

// What came while a finger or a button was down: nothing moves under it.
const late = new Map();
const pressed = new Set();
addEventListener("pointerdown", event => pressed.add(event.pointerId));
for (const end of ["pointerup", "pointercancel"]) {
  addEventListener(end, event => {
    pressed.delete(event.pointerId);
    // After the click that ends the press, which a touch sends later.
    setTimeout(showLate, event.pointerType === "mouse" ? 0 : 350);
  });
}

function showLate() {
  if (pressed.size > 0) return;
  for (const [id, html] of late) {
    const part = document.getElementById(id);
    if (part === null) continue;
    if (html === null) remove(part);
    else if (withoutAges(part.innerHTML) !== withoutAges(html)) replace(part, html);
  }
  late.clear();
}

// What has left the list stays in its place, and is marked.
function remove(part) {
  if (!part.matches("tr")) return part.replaceChildren();
  part.classList.add("gone");
  hasChanged = true;
  announce("The list has changed.");
}

// Ages run by themselves.
function withoutAges(html) {
  return html.replace(/(<time [^>]*>)[^<]*/g, "$1");
}

// Replaces the contents of a part, and keeps what the person at the browser has opened, selected, typed and focused.
function replace(part, html) {
  const fields = "input:not([type])";
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const opened = [...part.querySelectorAll("details")].map(details => details.open);
  const boxes = ":is(input[type=checkbox], input[type=radio])";
  const key = box => `${box.name}=${box.value}`;
  const checked = [...part.querySelectorAll(`${boxes}:checked`)].map(key);
  const typed = new Map([...part.querySelectorAll(fields)].map(field => [field.name, field]));
  const scrolled = [...part.querySelectorAll(".wide")].map(wide => wide.scrollLeft);
  part.innerHTML = html;
  part.querySelectorAll(".wide").forEach((wide, index) => { wide.scrollLeft = scrolled[index] ?? 0; });
  part.querySelectorAll("details").forEach((details, index) => {
    if (index < opened.length) details.open = opened[index];
  });
  for (const box of part.querySelectorAll(boxes)) box.checked = checked.includes(key(box));
  // The field itself, as it knows the place of the cursor.
  for (const field of part.querySelectorAll(fields)) field.replaceWith(typed.get(field.name) ?? field);
  // Not by its place: Enter would press what has come before it.
  const same = [...part.querySelectorAll("a, button, input, summary")].find(place => place.isEqualNode(focused))
    ?? (focused?.matches(".wide") ? part.querySelector(".wide") : null);
  same?.focus({ preventScroll: true });
  run();
}

// Rows that have joined the list are announced, and not put between rows that somebody may be about to press.
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
let hasChanged = false;

function follow(address) {
  source = new EventSource(address);
  source.addEventListener("part", event => {
    const { id, html } = JSON.parse(event.data);
    const part = document.getElementById(id);
    if (part === null) {
      hasChanged = true;
      announce("The list has changed.");
    } else {
      part.classList.remove("gone");
      late.set(id, html);
      showLate();
    }
  });
  source.addEventListener("gone", event => {
    late.set(JSON.parse(event.data), null);
    showLate();
  });
  source.addEventListener("open", () => announce(hasChanged ? "The list has changed." : ""));
  source.addEventListener("error", () => {
    announce("Not up to date: the connection is lost, and is tried again.");
    // After an answer that is no stream a browser does not try again by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (!document.hidden) restart(); }, 3000);
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
