// Dark or light before the first paint: what was chosen here, else what the system says.
"use strict";
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("kafka-rack-theme");
  } catch {
    // storage may be switched off; the system's choice holds then
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
