// What the page knows, and who is drawn anew when a part of it changes.

/** Everything that is shown. Parts are replaced or changed in place, then `changed(part)` is called. */
export const state = {
  connection: { status: "connecting", retryAtMs: null, skipped: 0 },
  cluster: null, // GET /cluster without its topics
  topics: [], // [{name, diskless, partitions: [...]}], in the order of the server
  traffic: null, // GET /traffic
  groups: [],
  faults: [],
  requests: [], // the last journal entries, the newest first
  names: { apis: [], errors: [], reasons: {} }, // of Kafka and of the locality table: dashboard/names.json
  actions: [], // what was done on this page
};

/** What drawing has cost so far; the tests look at it, and so may you. */
export const work = { frames: 0, draws: 0, longestFrameMs: 0 };
globalThis.kafkaRackWork = work;

const FRAME_BUDGET_MS = 8;
const views = [];
let asked = false;

/**
 * Have `draw` called in an animation frame once one of the parts has changed, however often it did until then.
 *
 * @param parts names of parts of the state
 * @param atMostEveryMs the least time between two drawings
 */
export function watch(parts, draw, atMostEveryMs = 0) {
  views.push({ parts, draw, atMostEveryMs, isStale: true, drawnAtMs: -Infinity });
  ask();
}

export function changed(part) {
  for (const view of views) if (view.parts.includes(part)) view.isStale = true;
  ask();
}

function ask() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(drawStale);
}

/** Draw what is stale, until the frame's time is used; the rest has the next frame. */
function drawStale(nowMs) {
  asked = false;
  const startedMs = performance.now();
  let waitMs = Infinity;
  for (const view of views) {
    if (!view.isStale) continue;
    const restMs = view.drawnAtMs + view.atMostEveryMs - nowMs;
    if (restMs > 0) {
      waitMs = Math.min(waitMs, restMs);
    } else if (performance.now() - startedMs > FRAME_BUDGET_MS) {
      waitMs = 0;
    } else {
      view.isStale = false;
      view.drawnAtMs = nowMs;
      view.draw();
      work.draws += 1;
    }
  }
  work.frames += 1;
  work.longestFrameMs = Math.max(work.longestFrameMs, performance.now() - startedMs);
  if (waitMs === 0) ask();
  else if (waitMs < Infinity) setTimeout(ask, waitMs);
}
