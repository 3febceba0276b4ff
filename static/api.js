// The page about the API. A token that is given to it is kept by this page alone, and sent to this server only.
"use strict";

const place = document.getElementById("api");
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
