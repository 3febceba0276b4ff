// Messages: what an action did, what went wrong. Other scripts ask for one by the event `toast` on the document.
"use strict";
(() => {
  const SHOWN_MS = 8000;
  const region = document.getElementById("toasts");
  if (!region) return;
  const STREAMS = ["live", "still"];

  function toast(tone, text) {
    const box = document.createElement("div");
    box.className = tone === "bad" ? "toast bad" : "toast";
    box.dataset.tone = tone;
    const words = document.createElement("p");
    words.textContent = text;
    const dismiss = document.createElement("button");
    dismiss.type = "button";
    dismiss.className = "btn ghost s";
    dismiss.dataset.dismiss = "";
    dismiss.textContent = "Dismiss";
    box.append(words, dismiss);
    region.append(box);
  }

  // Good news leaves by itself unless somebody is reading it; bad news stays until dismissed.
  function expire(box) {
    if (box.dataset.tone === "bad" || box.dataset.expires) return;
    box.dataset.expires = "yes";
    const leave = () => (box.matches(":hover, :focus-within") ? setTimeout(leave, 1000) : box.remove());
    setTimeout(leave, SHOWN_MS);
  }

  // Behind an open dialog nothing can be read or reached: what went wrong is told inside it.
  function arrive() {
    const dialog = document.querySelector("dialog[open]");
    for (const box of region.querySelectorAll(".toast")) {
      if (dialog && box.dataset.tone === "bad" && !box.dataset.expires) {
        box.setAttribute("role", "alert");
        dialog.prepend(box);
      } else expire(box);
    }
  }
  arrive();
  new MutationObserver(arrive).observe(region, { childList: true });
  document.addEventListener(
    "close",
    (event) => {
      for (const box of event.target.querySelectorAll(":scope > .toast")) {
        box.dataset.expires = "no";
        region.append(box);
      }
    },
    true,
  );

  document.addEventListener("toast", (event) => toast(event.detail.tone, event.detail.text));
  document.addEventListener("click", (event) => {
    const dismiss = event.target.closest("[data-dismiss]");
    if (dismiss) dismiss.closest(".toast").remove();
  });

  // A request without an answer is told like any other failure. Streams speak for themselves.
  document.addEventListener("htmx:error", (event) => {
    const { ctx } = event.detail;
    if (!ctx || STREAMS.includes(ctx.sourceElement?.id)) return;
    const sent = ctx.request?.method && ctx.request.method !== "GET";
    toast(
      "bad",
      sent
        ? "The server does not answer. Whether the action was carried out is not known: look before you repeat it."
        : "The server does not answer. Try again in a moment.",
    );
  });

  // An answer that is not the console's own (a proxy's error or login page) must not replace a part of the page.
  document.addEventListener("htmx:after:request", (event) => {
    const { ctx } = event.detail;
    if (STREAMS.includes(ctx.sourceElement?.id) || ctx.hx?.redirect || ctx.hx?.refresh) return;
    const wanted = ctx.hx?.reselect ?? ctx.select;
    const fits = wanted?.startsWith("#")
      ? ctx.text.includes(`id="${wanted.slice(1)}"`)
      : ctx.response.status < 400 || ctx.hx?.retarget;
    if (fits) return;
    event.preventDefault();
    const id = ctx.response.headers.get("x-request-id");
    toast(
      "bad",
      `The answer (status ${ctx.response.status}) is not one of the console's. Load the page again to see how things are.` +
        (id ? ` Reference ${id}.` : ""),
    );
  });
})();
