// Ctrl-K: one field that leads to every page, queue, worker and job. What is found comes ranked from the server.
"use strict";
(() => {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const field = document.getElementById("palette-q");
  const list = document.getElementById("palette-list");
  const news = document.getElementById("palette-news");
  let wantsFirst = false;

  const options = () => [...list.querySelectorAll("[role=option]")];
  const chosen = () => list.querySelector("[aria-selected=true]");

  function choose(option) {
    for (const other of options()) other.setAttribute("aria-selected", String(other === option));
    if (option) {
      field.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  }

  function show() {
    if (document.querySelector("dialog[open]")) return;
    dialog.showModal();
    field.select();
    htmx.trigger(field, "look");
  }

  // Whoever types and presses Enter at once means what will be found, not what was found for less.
  document.addEventListener("htmx:after:swap", (event) => {
    const { ctx } = event.detail;
    if (ctx.target !== list) return;
    const found = options();
    choose(found[0]);
    field.setAttribute("aria-expanded", String(found.length > 0));
    news.textContent = found.length === 0 ? "Nothing found" : found.length === 1 ? "1 found" : `${found.length} found`;
    const asked = new URL(ctx.request.action, location.href).searchParams.get("q") ?? "";
    if (asked !== field.value) return;
    list.dataset.asked = asked;
    if (wantsFirst) chosen()?.click();
    wantsFirst = false;
  });

  field.addEventListener("keydown", (event) => {
    const all = options();
    const at = all.indexOf(chosen());
    if (event.isComposing) return;
    if (event.key === "ArrowDown") choose(all[(at + 1) % all.length]);
    else if (event.key === "ArrowUp") choose(all.at(at <= 0 ? -1 : at - 1));
    else if (event.key === "Enter" && list.dataset.asked === field.value) chosen()?.click();
    else if (event.key === "Enter") wantsFirst = true;
    else return;
    event.preventDefault();
  });
  field.addEventListener("input", () => {
    wantsFirst = false;
  });
  // The focus stays in the field; a way within the page at hand closes the list.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    if (event.target.closest("[role=option]") && !event.ctrlKey && !event.metaKey) dialog.close();
  });

  for (const button of document.querySelectorAll("[data-palette]")) {
    button.addEventListener("click", (event) => {
      event.preventDefault();
      show();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else show();
  });
})();
