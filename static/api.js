// The page about the API. A token that is given to it is kept by this page alone, and sent to this server only.
"use strict";

const place = document.getElementById("api");
const root = document.documentElement;
const system = window.matchMedia("(prefers-color-scheme: dark)");
// What Swagger UI calls its dark mode follows the console's theme.
const followTheme = () =>
  root.classList.toggle("dark-mode", root.dataset.theme === "dark" || (root.dataset.theme !== "light" && system.matches));
followTheme();
system.addEventListener("change", followTheme);
new MutationObserver(followTheme).observe(root, { attributeFilter: ["data-theme"] });
window.SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  filter: true,
  persistAuthorization: false,
  // Would ask a server elsewhere.
  validatorUrl: null,
});
