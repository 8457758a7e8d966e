// Recent requests with verdict and reason.

import { byId, reconcile, setAttribute, setText } from "./dom.js";
import { createHead, createRow, updateRow } from "./call_rows.js";
import { count } from "./format.js";
import { choose } from "./route.js";
import { state, watch } from "./store.js";

const RECENT_SHOWN = 30;
const RECORD_APIS = new Set(["Produce", "Fetch", "ShareFetch"]);

let paused = null; // the entries that were there when it was paused

export function start() {
  byId("requests-table").tHead.append(createHead());
  byId("pause").addEventListener("click", () => {
    paused = paused === null ? state.requests : null;
    setAttribute(byId("pause"), "aria-pressed", String(paused !== null));
    setText(byId("pause"), paused === null ? "Pause" : "Go on");
    drawRecent();
  });
  byId("requests-show").addEventListener("change", ({ target }) => choose("requests.show", target.value));
  watch(["requests", "route", "names"], drawRecent, 250);
}

const SHOWN = {
  "": () => true,
  records: (entry) => RECORD_APIS.has(entry.api),
  trouble: (entry) => entry.locality !== "local" || entry.errors.length > 0 || entry.faults.length > 0,
};

function drawRecent() {
  const kind = state.route.settings["requests.show"] ?? "";
  if (byId("requests-show").value !== kind) byId("requests-show").value = kind;
  const all = (paused ?? state.requests).filter(SHOWN[kind] ?? SHOWN[""]);
  reconcile(
    byId("requests-table").tBodies[0],
    all.slice(0, RECENT_SHOWN),
    (entry) => entry.sequence,
    createRow,
    updateRow,
  );
  const skipped = state.connection.skipped;
  const words = [];
  if (all.length === 0) words.push("None yet.");
  if (paused !== null) words.push("Paused; the journal goes on.");
  if (skipped > 0)
    words.push(`${count(skipped)} came too fast, or while this page was not connected; the journal has them.`);
  setText(byId("requests-note"), words.join(" "));
}
