// Comfort on top of pages that work without it: dialogs, the focus, menus, copying, the theme.
"use strict";
(() => {
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
  document.addEventListener("click", (event) => {
    const open = event.target.closest("dialog[open]");
    if (open && (event.target === open || event.target.closest("[data-close]"))) {
      event.preventDefault();
      open.close();
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

  const toast = (tone, text) => document.dispatchEvent(new CustomEvent("toast", { detail: { tone, text } }));

  document.addEventListener("click", (event) => {
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
