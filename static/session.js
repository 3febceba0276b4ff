// What an open tab does when its session has ended, or when its stream cannot be opened: to the login, or once more.
"use strict";
(() => {
  const stream = document.getElementById("live") ?? document.getElementById("still");
  if (!stream) return;
  const RETRY_MS = 3000;
  let leaving = false;

  // Once only, and with no new stream meanwhile: on a slow server a second reason would restart the loading for ever.
  function leave() {
    if (leaving) return;
    leaving = true;
    location.reload();
  }
  document.addEventListener("leave", leave);
  stream.addEventListener("htmx:sse:before:connection", (event) => {
    if (leaving) event.preventDefault();
  });
  // Refused: loaded again, the page itself leads to the login and back.
  stream.addEventListener("htmx:sse:error", (event) => {
    if (event.detail.status === 401 || event.detail.status === 403) leave();
  });
  // The very first connection is not repeated by the extension.
  document.addEventListener("htmx:finally:request", (event) => {
    const { ctx } = event.detail;
    if (leaving || ctx.sourceElement !== stream || stream._htmx?.sse || ctx.response?.status === 401) return;
    stream.dispatchEvent(new Event("unreachable"));
    setTimeout(() => htmx.trigger(stream, "reconnect"), RETRY_MS);
  });
})();
