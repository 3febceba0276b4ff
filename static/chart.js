// Values under the pointer, and under the arrow keys for those who use none.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  let chart = null;
  let at = -1;

  const slots = () => chart.querySelectorAll(".slot");

  function point(index) {
    const all = slots();
    if (!all.length) return;
    at = Math.max(0, Math.min(index, all.length - 1));
    all.forEach((slot, i) => slot.classList.toggle("here", i === at));
    const slot = all[at];
    // Taken out, the browser's own tip stays away; live updates bring it back with new values.
    const title = slot.querySelector("title");
    if (title) {
      slot.dataset.tip = title.textContent;
      title.remove();
    }
    tip.textContent = slot.dataset.tip;
    if (tip.parentElement !== chart) chart.append(tip);
    const box = chart.getBoundingClientRect();
    const mark = slot.querySelector("rect").getBoundingClientRect();
    const left = mark.left - box.left + mark.width / 2;
    const beyond = left + tip.offsetWidth + 12 > box.width;
    tip.style.left = `${Math.max(beyond ? left - tip.offsetWidth - 10 : left + 10, 0)}px`;
  }

  function leave() {
    if (!chart) return;
    slots().forEach((slot) => slot.classList.remove("here"));
    tip.remove();
    chart = null;
    at = -1;
  }

  document.addEventListener("pointerover", (event) => {
    const slot = event.target.closest?.(".chart .slot");
    if (!slot) {
      if (chart && !chart.contains(event.target) && document.activeElement !== chart) leave();
      return;
    }
    chart = slot.closest(".chart");
    point([...slots()].indexOf(slot));
  });
  document.addEventListener("keydown", (event) => {
    const focused = document.activeElement;
    if (!focused?.matches(".chart")) return;
    chart = focused;
    const last = slots().length - 1;
    const steps = { ArrowLeft: at < 0 ? last : at - 1, ArrowRight: at < 0 ? 0 : at + 1, Home: 0, End: last };
    if (event.key === "Escape") leave();
    else if (event.key in steps) {
      event.preventDefault();
      point(steps[event.key]);
    }
  });
  document.addEventListener("focusout", (event) => {
    if (event.target.matches?.(".chart")) leave();
  });
  // Live updates redraw the chart beneath the pointer: tell the values of the same place again.
  document.addEventListener("htmx:after:swap", () => {
    if (chart?.isConnected && at >= 0) point(at);
    else leave();
  });
})();
