// The state of live updates: how old the data is, whether the server is still there, whether the user holds them.
"use strict";
(() => {
  const live = document.getElementById("live");
  if (!live) return;
  const LATE_MS = 6000;
  const LOST_MS = 12000;
  const word = document.getElementById("live-word");
  const aged = document.getElementById("live-age");
  const news = document.getElementById("live-news");
  const hold = document.getElementById("hold");
  const holdWord = hold.querySelector("span");
  let dataFrom = performance.now();
  let trouble = "";
  let cut = false;
  let held = false;
  const leave = () => document.dispatchEvent(new Event("leave"));

  const age = (ms) => {
    const seconds = Math.max(Math.round(ms / 1000), 0);
    return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
  };

  function show() {
    const old = performance.now() - dataFrom;
    let state = "live";
    let words = "Live · ";
    if (held) {
      state = "held";
      words = "Paused · ";
    } else if (trouble) {
      state = "lost";
      words = "No data · ";
    } else if (cut || old > LOST_MS) {
      state = old > LATE_MS ? "lost" : "late";
      if (state === "lost") words = "Offline · ";
    } else if (old > LATE_MS) {
      state = "late";
    }
    if (live.dataset.state !== state) announce(live.dataset.state, state);
    live.dataset.state = state;
    live.title = trouble || "";
    word.textContent = words;
    aged.textContent = age(old);
  }

  function announce(before, now) {
    if (now === "lost") news.textContent = trouble || "Connection to the server lost. Trying again.";
    else if (before === "lost" && now === "live") news.textContent = "Connected again.";
  }

  // While held, parts of the page are not replaced; how old they are is still told.
  live.addEventListener("htmx:sse:before:message", (event) => {
    if (held && !event.detail.message.event) event.detail.cancelled = true;
  });
  live.addEventListener("beat", (event) => {
    trouble = "";
    cut = false;
    if (!held) dataFrom = performance.now() - JSON.parse(event.detail.data).age_ms;
    show();
  });
  live.addEventListener("trouble", (event) => {
    trouble = JSON.parse(event.detail.data).text;
    show();
  });
  // What the page shows was deleted or trimmed: its address answers with what is known now.
  live.addEventListener("gone", () => {
    if (!document.querySelector("dialog[open]")) leave();
  });
  // The page was empty and is not any more: it looks quite different now.
  live.addEventListener("htmx:sse:after:message", () => {
    if (document.querySelector("[data-reload]")) leave();
  });
  for (const lost of ["htmx:sse:error", "htmx:sse:close", "unreachable"]) {
    live.addEventListener(lost, () => {
      cut = true;
      show();
    });
  }

  hold.addEventListener("click", () => {
    held = !held;
    holdWord.textContent = held ? "Resume updates" : "Pause updates";
    hold.setAttribute("aria-label", holdWord.textContent);
    show();
  });
  setInterval(show, 1000);
})();
