// What the page shows, and which views to draw when a part of it changes.

/** Everything that is shown. A part is replaced or changed in place, then `changed(part)` is called. */
export const state = {
  connection: { status: "connecting", skipped: 0 },
  cluster: null, // GET /cluster without its topics
  topics: [], // [{name, diskless, partitions: [...]}], in the server's order
  traffic: null, // GET /traffic
  groups: [],
  faults: [],
  requests: [], // the last journal entries, the newest first
  names: { apis: [], errors: [], effects: {}, reasons: {} }, // dashboard/names.json
  actions: [], // the commands given on this page
};

/** How often the page was drawn, for tests. */
const work = { frames: 0, draws: 0 };
globalThis.kafkaRackWork = work;

const views = [];
let isRequested = false;

/** Call `draw` in an animation frame after one of the parts changed, at most once in `everyMs`. */
export function watch(parts, draw, everyMs = 0) {
  views.push({ parts, draw, everyMs, isStale: true, drawnAtMs: -Infinity });
  request();
}

export function changed(part) {
  for (const view of views) if (view.parts.includes(part)) view.isStale = true;
  request();
}

function request() {
  if (!isRequested) requestAnimationFrame(drawStale);
  isRequested = true;
}

function drawStale(nowMs) {
  isRequested = false;
  const focused = document.activeElement;
  let waitMs = Infinity;
  for (const view of views.filter(({ isStale }) => isStale)) {
    const restMs = view.drawnAtMs + view.everyMs - nowMs;
    waitMs = Math.min(waitMs, restMs > 0 ? restMs : Infinity);
    if (restMs > 0) continue;
    Object.assign(view, { isStale: false, drawnAtMs: nowMs });
    view.draw();
    work.draws += 1;
  }
  if (document.activeElement === document.body && focused?.isConnected) focused.focus({ preventScroll: true });
  work.frames += 1;
  if (waitMs < Infinity) setTimeout(request, waitMs);
}
