// Ticking rows of a list: how many are ticked stands in the bar and on its buttons. A dialog that is closed without an
// answer drops the operation it asked about.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const boxes = () => [...document.querySelectorAll("[data-pick]")];
  let from = null;

  function show() {
    const bar = byId("pick");
    if (!bar) return;
    const all = byId("pick-all");
    const rows = boxes();
    if (all?.checked) rows.forEach((box) => (box.checked = true));
    const ticked = rows.filter((box) => box.checked).length;
    const page = byId("pick-page");
    page.checked = rows.length > 0 && ticked === rows.length;
    page.indeterminate = ticked > 0 && ticked < rows.length;
    const words = all?.checked ? "" : ticked ? `${ticked} ticked` : "Nothing ticked";
    tell(byId("picked"), words);
    bar.dataset.some = ticked ? "yes" : "no";
    for (const button of bar.querySelectorAll("[data-word]")) {
      button.disabled = !ticked;
      tell(button, all?.checked ? `${button.dataset.word} all…` : ticked ? `${button.dataset.word} ${ticked}…` : `${button.dataset.word}…`);
    }
  }

  // What is read out again is only what has changed.
  function tell(element, words) {
    if (element.textContent !== words) element.textContent = words;
  }

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.matches("[data-pick-page]")) boxes().forEach((each) => (each.checked = box.checked));
    if (!box.matches("[data-pick], [data-pick-page], [data-pick-all]")) return;
    if (byId("pick-all") && !box.checked) byId("pick-all").checked = false;
    if (box.matches("[data-pick-all]") && !box.checked) boxes().forEach((each) => (each.checked = false));
    show();
  });
  // With Shift, everything between this box and the one before.
  document.addEventListener("click", (event) => {
    const box = event.target;
    if (!(box instanceof HTMLElement) || !box.matches("[data-pick]")) return;
    const rows = boxes();
    const [start, end] = [rows.indexOf(from), rows.indexOf(box)];
    if (event.shiftKey && start >= 0) {
      rows.slice(Math.min(start, end), Math.max(start, end) + 1).forEach((each) => (each.checked = box.checked));
    }
    from = box;
    show();
  });
  document.addEventListener("htmx:after:swap", show);
  document.addEventListener("htmx:sse:after:message", show);
  window.addEventListener("pageshow", show);
  show();

  // The operation a dialog asks about is dropped when the dialog is closed; once it is answered the server knows better.
  let answered = false;
  const dialog = byId("dialog");
  document.addEventListener("submit", (event) => {
    if (dialog?.contains(event.target)) answered = true;
  });
  document.addEventListener("htmx:after:swap", () => (answered = false));
  document.addEventListener(
    "close",
    (event) => {
      const form = event.target === dialog && !answered && dialog.querySelector("[data-if-closed]");
      if (!form) return;
      const headers = { "HX-Request": "true", "HX-Current-URL": location.href };
      const body = new URLSearchParams(new FormData(form));
      fetch(form.action, { method: "POST", body, headers, redirect: "manual", keepalive: true }).catch(() => {});
    },
    true,
  );
})();
