// Single keys: `g` and a letter for a page, j and k for rows, `?` for the list of them all. Never while somebody
// types, with a modifier, or in a dialog; and not at all where the user switched them off.
"use strict";
(() => {
  const SECOND_KEY_MS = 2000;
  const help = document.getElementById("keys");
  if (!help) return;
  const areOn = document.querySelector(".frame").dataset.keys === "on";
  const ROW = "[data-row]";
  let goingUntil = 0;

  const seen = (element) => element.checkVisibility();
  const label = (element) => (element.getAttribute("aria-label") || element.textContent).replace(/\s+/g, " ").trim();

  function isTyping(target) {
    if (target.isContentEditable || target.closest("select, textarea")) return true;
    return target.matches("input:not([type=checkbox], [type=radio], [type=button], [type=submit])");
  }

  // What the page at hand has no use for is left out of its list; what it has of its own is put in.
  function showHelp() {
    for (const part of help.querySelectorAll("[data-if]")) part.hidden = !document.querySelector(part.dataset.if);
    const own = help.querySelector("#own-keys");
    own.replaceChildren();
    for (const element of document.querySelectorAll("#main [data-key]")) {
      const line = document.createElement("div");
      const key = document.createElement("dt");
      const what = document.createElement("dd");
      key.append(document.createElement("kbd"));
      key.firstChild.textContent = element.dataset.key;
      what.textContent = label(element);
      line.append(key, what);
      own.append(line);
    }
    help.showModal();
  }

  const open = (row) => row.querySelector("[data-open]") ?? row.querySelector("a[href]");

  function move(step) {
    const rows = [...document.querySelectorAll(ROW)].filter((row) => seen(row) && open(row));
    const here = rows.indexOf(document.activeElement.closest(ROW));
    const next = here < 0 ? rows[step > 0 ? 0 : rows.length - 1] : rows[here + step];
    if (!next) return;
    open(next).focus({ focusVisible: true, preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function search() {
    const field = [...document.querySelectorAll("#search, #q")].find(seen);
    if (field) {
      field.focus();
      field.select();
    } else document.querySelector("[data-palette]")?.click();
  }

  const row = () => document.activeElement.closest(ROW);
  const KEYS = {
    "/": search,
    "?": showHelp,
    j: () => move(1),
    k: () => move(-1),
    x: () => row()?.querySelector("[data-pick]")?.click(),
    o: () => row() && open(row())?.click(),
    g: () => {
      goingUntil = performance.now() + SECOND_KEY_MS;
    },
  };

  document.addEventListener("keydown", (event) => {
    if (!areOn || event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") || isTyping(event.target)) return;
    const wasGoing = performance.now() < goingUntil;
    goingUntil = event.key === "Shift" ? goingUntil : 0;
    const quoted = CSS.escape(event.key);
    const page = wasGoing && document.querySelector(`[data-go="${quoted}"]`);
    const own = !wasGoing && document.querySelector(`#main [data-key="${quoted}"], [data-key="${quoted}"]`);
    const act = page || own ? () => (page || own).click() : !wasGoing && Object.hasOwn(KEYS, event.key) && KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  // Out of a field and back to the page: the keys work again.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyping(event.target) && !document.querySelector("dialog[open]")) event.target.blur();
  });
  for (const button of document.querySelectorAll("[data-keys-help]")) button.addEventListener("click", showHelp);
})();
