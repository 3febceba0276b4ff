// Comfort on top of pages that work without it: dialogs, messages, menus, copying, the theme.
"use strict";
(() => {
  const TOAST_MS = 8000;
  const byId = (id) => document.getElementById(id);
  const dialog = byId("dialog");

  // A confirmation fetched by a link opens as a dialog; an answer that worked closes it.
  document.addEventListener("htmx:after:swap", (event) => {
    const { ctx } = event.detail;
    if (ctx.target === dialog && dialog.childElementCount) {
      if (!dialog.open) dialog.showModal();
      dialog.querySelector("[autofocus]")?.focus();
    } else if (dialog.open && ctx.response?.raw.ok && dialog.contains(ctx.sourceElement)) {
      dialog.close();
    }
  });
  dialog?.addEventListener("close", () => dialog.replaceChildren());
  dialog?.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) {
      event.preventDefault();
      dialog.close();
    }
  });

  // A row that leaves the page takes the focus along: it goes to the row that followed, else to the page itself.
  let focused = null;
  let following = "";
  document.addEventListener("focusin", (event) => {
    focused = event.target;
    following = focused.closest("tr[id]")?.nextElementSibling?.id ?? "";
  });
  document.addEventListener("htmx:after:swap", () => {
    if (!focused || focused.isConnected || document.activeElement !== document.body) return;
    const next = following && byId(following)?.querySelector("a[href], button");
    (next || byId("main"))?.focus({ preventScroll: !next });
  });

  // A request without an answer is told like any other failure. The live stream speaks for itself.
  document.addEventListener("htmx:error", (event) => {
    const { ctx } = event.detail;
    if (ctx && ctx.sourceElement?.id !== "live") toast("bad", "The server does not answer. Try again in a moment.");
  });

  function toast(tone, text) {
    const region = byId("toasts");
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
    setTimeout(leave, TOAST_MS);
  }
  const toasts = byId("toasts");
  if (toasts) {
    toasts.querySelectorAll(".toast").forEach(expire);
    new MutationObserver(() => toasts.querySelectorAll(".toast").forEach(expire)).observe(toasts, { childList: true });
  }

  document.addEventListener("click", (event) => {
    const dismiss = event.target.closest("[data-dismiss]");
    if (dismiss) dismiss.closest(".toast").remove();
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      navigator.clipboard.writeText(copy.dataset.copy).then(
        () => toast("good", "Copied."),
        () => toast("bad", "The browser did not allow copying."),
      );
    }
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  // On a narrow screen the open tab may be out of sight.
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // The theme changes at once; the form only has to be remembered.
  document.querySelector("[data-theme-form]")?.addEventListener("submit", (event) => {
    const chosen = event.submitter;
    if (!chosen) return;
    event.preventDefault();
    document.documentElement.dataset.theme = chosen.value;
    for (const button of chosen.parentElement.children) button.setAttribute("aria-pressed", String(button === chosen));
    const body = new URLSearchParams(new FormData(event.target, chosen));
    fetch(event.target.action, { method: "POST", body, redirect: "manual" }).catch(() =>
      toast("bad", "The theme could not be remembered."),
    );
  });
})();
